import Synchronization

/// What happened, counted: names with labels as Prometheus has them.
public final class Counters: Sendable {
  private let counts = Mutex<[String: Int64]>([:])
  /// Labels come from a closed set of codes; past this many something else got in, and is left out.
  private static let maximumNames = 1000

  public init() {}

  /// - Parameter name: `subledger_refusals_total{reason="signature"}`, say.
  public func add(_ name: String, _ amount: Int64 = 1) {
    counts.withLock { counts in
      if counts[name] != nil || counts.count < Self.maximumNames {
        counts[name, default: 0] += amount
      }
    }
  }

  /// Prometheus text exposition (prometheus.io/docs/instrumenting/exposition_formats), sorted.
  public var text: String {
    let sorted = counts.withLock { $0 }
      .map { (family: $0.key.prefix { $0 != "{" }, name: $0.key, value: $0.value) }
      .sorted { ($0.family, $0.name) < ($1.family, $1.name) }
    var text = ""
    var family: Substring = ""
    for (base, name, value) in sorted {
      if base != family {
        text += "# TYPE \(base) \(base.hasSuffix("_total") ? "counter" : "gauge")\n"
      }
      family = base
      text += "\(name) \(value)\n"
    }
    return text
  }
}
