/// Writes metrics in Prometheus' text format, version 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats), one family after the other.
public struct PrometheusText {
  /// The type of a family.
  public enum Kind: String, Sendable { case counter, gauge, histogram }

  /// What was written so far.
  public private(set) var text = ""

  public init() {}

  /// Begins a family. All of its samples must be written before the next family begins.
  public mutating func family(_ name: String, _ kind: Kind, _ help: String) {
    let line = help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    text += "# HELP \(name) \(line)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// Writes a sample of the current family.
  public mutating func sample(
    _ name: String, _ labels: [(name: String, value: String)], _ value: Int64
  ) {
    line(name, labels, String(value))
  }

  /// Writes a sample of the current family.
  public mutating func sample(
    _ name: String, _ labels: [(name: String, value: String)], _ value: Double
  ) {
    line(name, labels, Self.text(value))
  }

  /// Writes a family that has one sample and no labels.
  public mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int64) {
    family(name, kind, help)
    sample(name, [], value)
  }

  /// Writes a family of one histogram: its buckets, sum and count.
  public mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram) {
    family(name, .histogram, help)
    let reading = histogram.reading
    let bounds = histogram.bounds.map(Self.text) + ["+Inf"]
    for (bound, count) in zip(bounds, reading.cumulative) {
      sample(name + "_bucket", [(name: "le", value: bound)], count)
    }
    sample(name + "_sum", [], reading.sum)
    sample(name + "_count", [], reading.cumulative.last ?? 0)
  }

  private mutating func line(
    _ name: String, _ labels: [(name: String, value: String)], _ value: String
  ) {
    let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    text += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
  }

  /// A label value: backslash, quote and line feed escaped as the format requires, and characters
  /// that are unsafe on a terminal replaced by their number.
  static func escaped(_ value: String) -> String {
    VisibleText.of(value).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
  }

  /// A number; without a fraction if it is whole.
  static func text(_ value: Double) -> String {
    Int64(exactly: value).map(String.init) ?? String(value)
  }
}
