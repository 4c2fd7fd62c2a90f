import AppStore
import Entitlements
public import JournalStore
import LedgerEngine
public import StrictJSON

/// One customer's timeline: every event of a stream, and what it changed in the row; between them
/// what is in quarantine about the same customer.
public struct History: Sendable {
  public typealias Entry = HistoryEntry

  /// What stands at one place of the timeline.
  public enum Item: Sendable {
    case event(HistoryEntry)
    case quarantined(QuarantinedEntry)

    public var json: JSONValue {
      switch self {
      case .event(let entry): entry.json
      case .quarantined(let relative): relative.json
      }
    }
  }

  public let key: StreamKey
  /// In the order in which we received them; events in the order of the journal.
  public let items: [Item]
  /// More is in quarantine about this customer than is shown.
  public let hasMoreQuarantined: Bool

  public var entries: [HistoryEntry] {
    items.compactMap { item in
      if case .event(let entry) = item { entry } else { nil }
    }
  }

  public var json: JSONValue {
    .object([
      ("object", .string("list")), ("items", .array(items.map(\.json))), ("next_page", .null),
      ("more_quarantined", .boolean(hasMoreQuarantined)),
    ])
  }

  init(
    _ key: StreamKey, _ entries: [HistoryEntry], _ relatives: [QuarantinedEntry] = [],
    hasMoreQuarantined: Bool = false
  ) {
    self.key = key
    self.hasMoreQuarantined = hasMoreQuarantined
    var items: [Item] = []
    items.reserveCapacity(entries.count + relatives.count)
    var rest = relatives.sorted { ($0.receivedAt, $0.id) < ($1.receivedAt, $1.id) }[...]
    for entry in entries {
      while let first = rest.first, first.receivedAt < entry.event.receivedAt {
        items.append(.quarantined(first))
        rest.removeFirst()
      }
      items.append(.event(entry))
    }
    self.items = items + rest.map(Item.quarantined)
  }

  /// Of events at hand.
  package init(_ key: StreamKey, _ events: [StoredEvent], durations: [String: Int64]) {
    var evolution = HistoryEvolution(key, durations)
    self.init(key, events.map { evolution.take($0, JournaledPayload($0)) })
  }
}

/// Takes a stream's events one by one, and says of each what it changed. Costs as much as there are
/// events, and no square of it.
struct HistoryEvolution {
  private let key: StreamKey
  private let durations: [String: Int64]
  private var progress = StreamProgress()
  /// The newest date Apple had signed so far.
  private var clock = Int64.min
  /// The row at that date.
  private var row: [(String, JSONValue)] = []
  private var rowText: [String] = []

  init(_ key: StreamKey, _ durations: [String: Int64]) {
    self.key = key
    self.durations = durations
  }

  /// Fields that say which event was last, or when one asked: not what an event changed.
  private static let bookkeeping: Set<String> = [
    "object", "as_of", "known_at", "event_count", "last_event", "succeeded_by",
  ]

  /// - Parameter payload: of the same event; one that cannot be read changes nothing (promise 9).
  mutating func take(
    _ event: StoredEvent, _ payload: JournaledPayload, _ redeliveries: Redeliveries? = nil,
    isRaw: Bool = false
  ) -> HistoryEntry {
    let lateBy = event.signedDate < clock ? clock.subtracting(boundBy: event.signedDate) : nil
    if event.signedDate > clock {
      clock = event.signedDate
      // What passed by itself is not this event's doing.
      show()
    }
    let (before, beforeText) = (row, rowText)
    let step = try? JournaledNotification.foldEvent(payload)
    if let step {
      progress.evolve(step)
      show()
    }
    return HistoryEntry(
      event: event.withoutBody,
      transaction: step?.transactions.max {
        ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId)
      },
      changes: difference(before, beforeText), lateBy: lateBy, redeliveries: redeliveries,
      payload: isRaw ? DecodedPayload.json(payload) : nil)
  }

  /// Evaluates the row at the clock.
  private mutating func show() {
    guard let entitlement = progress.entitlement(at: clock, durations: durations) else {
      (row, rowText) = ([], [])
      return
    }
    let document = RowDocument(
      key: key, entitlement: entitlement, eventCount: 0, lastEvent: nil, succeededBy: nil,
      knownAt: nil)
    guard case .object(let members) = document.json else { return }
    row = members.filter { !Self.bookkeeping.contains($0.0) }
    rowText = row.map(\.1.text)
  }

  /// Rows have the same members in the same order; there is none before the first transaction.
  private func difference(
    _ before: [(String, JSONValue)], _ beforeText: [String]
  ) -> [HistoryEntry.Change] {
    row.indices.compactMap { place in
      let (field, after) = row[place]
      let previous = place < before.count ? before[place].1 : .null
      let previousText = place < before.count ? beforeText[place] : "null"
      guard previousText != rowText[place] else { return nil }
      return (field, previous, after)
    }
  }
}

extension Int64 {
  /// The difference, or the bound it would pass: dates come from outside.
  fileprivate func subtracting(boundBy other: Int64) -> Int64 {
    let (difference, hasOverflow) = subtractingReportingOverflow(other)
    return hasOverflow ? (other > 0 ? .min : .max) : difference
  }
}

extension LedgerReader {
  /// What of quarantine is shown at most: any developer's genuine notification may name this
  /// customer.
  private static let maximumRelatives = 100

  /// The timeline of an original transaction id; nil where there is none that may be shown.
  ///
  /// - Parameter isRaw: adds what each notification says, decoded.
  public func history(
    _ originalTransactionId: String, environment: String?, bundleId: String?,
    _ question: Question, isRaw: Bool = false
  ) throws(Failure) -> History? {
    // One state of the file for all that is shown: what is admitted meanwhile is not shown twice.
    try store { () throws(StoreError) in try journal.beginSnapshot() }
    defer { journal.endSnapshot() }
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    let known = try Self.only(keys)
    let (relatives, hasMore) = try relatives(
      originalTransactionId, environment, bundleId, question, isRaw: isRaw)
    guard let key = known ?? relatives.first?.key(originalTransactionId) else { return nil }
    return History(
      key, known == nil ? [] : try entries(of: key, question, isRaw: isRaw), relatives,
      hasMoreQuarantined: hasMore)
  }

  private func entries(
    of key: StreamKey, _ question: Question, isRaw: Bool
  ) throws(Failure) -> [HistoryEntry] {
    try store { () throws(StoreError) in
      var evolution = HistoryEvolution(key, durations)
      var entries: [HistoryEntry] = []
      let known = question.knownAt ?? .max
      let redeliveries = try journal.redeliveries(of: key).filter { $0.value.firstAt <= known }
      try journal.forEachEvent(
        of: key, signedThrough: question.asOf ?? .max, receivedThrough: known
      ) { event, payload in
        entries.append(evolution.take(event, payload, redeliveries[event.seq], isRaw: isRaw))
      }
      return entries
    }
  }

  /// What is in quarantine about the customer, of whichever app, and may be shown.
  private func relatives(
    _ originalTransactionId: String, _ environment: String?, _ bundleId: String?,
    _ question: Question, isRaw: Bool
  ) throws(Failure) -> ([QuarantinedEntry], hasMore: Bool) {
    let limit = Self.maximumRelatives
    let found = try store { () throws(StoreError) in
      try journal.quarantined(
        about: originalTransactionId, environment: environment, bodies: isRaw, limit: limit + 1)
    }
    let shown = found.map { QuarantinedEntry($0, isRaw: isRaw) }.filter { relative in
      (bundleId.map { $0 == relative.bundleId ?? $0 } ?? true)
        && relative.receivedAt <= question.knownAt ?? .max
        && relative.signedDate ?? relative.receivedAt <= question.asOf ?? .max
        && question.covers(relative.key(originalTransactionId))
    }
    // That there is more is said only where all of it may be seen.
    return (Array(shown.prefix(limit)), shown.count > limit)
  }
}
