import Platform
import Queries
import Store

/// `--since` and `--limit` of `history` and `explain`: the newest entries, by the date that is
/// printed in the first line of each.
struct TimelineFilter {
  private let since: Int64?
  private let limit: Int
  /// Whether entries come in the order of their dates, not in that of their arrival.
  let isByDate: Bool

  static func flags(_ what: String) -> [Command.Flag] {
    [
      .init("--since", "T", "only \(what) dated T or later, by the first date that is printed"),
      .init("--limit", "N", "at most the newest N \(what)"),
    ]
  }

  /// - Throws: `LedgerError.usage` if a flag has no time or no number.
  init(_ arguments: Arguments) throws(LedgerError) {
    since = try arguments.time("--since")
    isByDate = arguments["--by"] == "signed"
    guard isByDate || arguments["--by"] == nil else { throw .usage("--by takes signed") }
    limit = Int(try arguments.number("--limit", 1...1_000_000_000) ?? 1_000_000_000)
  }

  /// The newest entries of a timeline, in its order or by their dates.
  func selected(from items: [History.Item]) -> ArraySlice<History.Item> {
    let found = items.filter { $0.date >= since ?? .min }
    guard isByDate else { return found.suffix(limit) }
    let sorted = found.enumerated().sorted {
      ($0.element.date, $0.offset) < ($1.element.date, $1.offset)
    }
    return sorted.map { $0.element }.suffix(limit)
  }

  /// The fields that were decided last, in their order.
  func selected(from fields: [Explanation.Field]) -> [Explanation.Field] {
    let dates = fields.map { $0.decidedAt ?? .min }
    let newest = Set(
      fields.indices.filter { dates[$0] >= since ?? .min }
        .sorted { (dates[$0], $1) > (dates[$1], $0) }.prefix(limit))
    return fields.indices.filter(newest.contains).map { fields[$0] }
  }
}

extension History.Item {
  /// When Apple signed the event, or when time changed something; of a quarantined notification
  /// without a signed date, when it was received. Milliseconds since 1970.
  var date: Int64 {
    switch self {
    case .event(let entry): entry.event.signedDate
    case .transition(let transition): transition.at
    case .quarantined(let entry): entry.signedDate ?? entry.receivedAt
    case .mapping(let mapping): mapping.at
    }
  }
}

extension Explanation.Field {
  /// When time alone decided it, or when Apple signed the event that did; nil if nothing did.
  var decidedAt: Int64? { since ?? event?.signedDate }
}
