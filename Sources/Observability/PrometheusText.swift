/// Prometheus' text format, version 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats), written family by family.
public struct PrometheusText {
  public enum Kind: String, Sendable { case counter, gauge, histogram }

  public private(set) var text = ""

  public init() {}

  /// Begins a family. Its samples follow before the next one begins.
  public mutating func family(_ name: String, _ kind: Kind, _ help: String) {
    let line = help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    text += "# HELP \(name) \(line)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  public mutating func sample(
    _ name: String, _ labels: [(name: String, value: String)], _ value: Int64
  ) {
    line(name, labels, String(value))
  }

  public mutating func sample(
    _ name: String, _ labels: [(name: String, value: String)], _ value: Double
  ) {
    line(name, labels, Self.text(value))
  }

  /// A family of one sample without labels.
  public mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int64) {
    family(name, kind, help)
    sample(name, [], value)
  }

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

  /// Backslash, quote and line end as the format wants them; what would show as something else on
  /// a terminal by number.
  static func escaped(_ value: String) -> String {
    VisibleText.of(value).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
  }

  /// Whole numbers without a fraction.
  static func text(_ value: Double) -> String {
    Int64(exactly: value).map(String.init) ?? String(value)
  }
}
