public import AppStore

/// Selects the events to list. A property that is nil selects all; ranges are times in milliseconds
/// since 1970 UTC and include both ends.
public struct EventFilter: Sendable {
  /// Any of these types; empty for all.
  public var notificationTypes: [String] = []
  public var subtype: String?
  /// Any of these sources; empty for all.
  public var sources: [EventSource] = []
  /// Any of these ways; empty for all. For a journal with migration 4.
  public var arrivals: [EventArrival] = []
  public var environment: Environment?
  public var bundleId: String?
  public var originalTransactionId: String?
  public var received: ClosedRange<Int64>?
  public var signed: ClosedRange<Int64>?

  public init() {}
}

extension EventFilter {
  enum Value {
    case text(String)
    case number(Int64)
  }

  /// The conditions as constant SQL; every value is a parameter.
  var terms: [(sql: String, values: [Value])] {
    var terms: [(sql: String, values: [Value])] = []
    func add(_ sql: String, _ text: String?) {
      if let text { terms.append((sql, [.text(text)])) }
    }
    func add(_ sql: String, _ range: ClosedRange<Int64>?) {
      if let range {
        terms.append((sql, [.number(range.lowerBound), .number(range.upperBound)]))
      }
    }
    /// A list of names, in which no comma occurs, as one parameter.
    func add(_ column: String, anyOf names: [String]) {
      guard !names.isEmpty else { return }
      terms.append(
        ("instr(?, ',' || \(column) || ',') > 0", [.text(",\(names.joined(separator: ",")),")]))
    }
    add("k.notification_type", anyOf: notificationTypes)
    add("k.subtype = ?", subtype)
    add("e.source", anyOf: sources.map(\.rawValue))
    add(
      "coalesce((SELECT t.how FROM arrival t WHERE t.seq = e.seq), 'posted')",
      anyOf: arrivals.map(\.rawValue))
    add("a.environment = ?", environment?.rawValue)
    add("a.bundle_id = ?", bundleId)
    add(
      "e.stream_id IN (SELECT id FROM stream WHERE original_transaction_id = ?)",
      originalTransactionId)
    add("e.received_at_ms BETWEEN ? AND ?", received)
    add("e.signed_date_ms BETWEEN ? AND ?", signed)
    return terms
  }
}
