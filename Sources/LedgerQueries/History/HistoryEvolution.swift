import AppStore
import Entitlements
import JournalStore
import LedgerEngine
import StrictJSON

/// Folds a stream's events one by one, and finds what each of them changed in the row.
///
/// Its cost is linear in the number of events: the state of the fold goes from event to event.
struct HistoryEvolution {
  private let key: StreamKey
  private let durations: [String: Int64]
  private var progress = StreamProgress()
  /// The latest signed date of the events so far, milliseconds since 1970.
  private var clock = Int64.min
  /// The members of the row evaluated at `clock`, and the text of each value.
  private var row: [(String, JSONValue)] = []
  private var rowTexts: [String] = []

  /// Proves receipts in version 1 notifications; nil if they are not to be proven.
  private let receipts: ReceiptProof?

  init(_ key: StreamKey, _ durations: [String: Int64], _ receipts: ReceiptProof? = nil) {
    self.key = key
    self.durations = durations
    self.receipts = receipts
  }

  /// Members that name the last event or the times of the question: no event changes them in the
  /// sense of a timeline.
  private static let bookkeeping: Set<String> = [
    "object", "as_of", "known_at", "event_count", "last_event", "succeeded_by",
  ]

  /// Folds the next event.
  ///
  /// - Parameters:
  ///   - payload: of the same event; one that cannot be read changes nothing (promise 9).
  ///   - arrival: how it arrived, if that is known.
  ///   - isRaw: whether the entry has the decoded payload.
  mutating func add(
    _ event: StoredEvent, _ payload: JournaledPayload, _ arrival: EventArrival? = nil,
    _ redeliveries: Redeliveries? = nil, isRaw: Bool = false
  ) -> HistoryEntry {
    // The time of a statement of the owner is ours: it says nothing of the order of Apple's.
    let isApples = !event.source.isOwners
    let lateBy =
      isApples && event.signedDate < clock ? clock.subtracting(boundBy: event.signedDate) : nil
    if isApples, event.signedDate > clock {
      clock = event.signedDate
      // What changed because time passed is not a change by this event.
      evaluate()
    }
    let (before, beforeTexts) = (row, rowTexts)
    let step = try? JournaledNotification.foldEvent(payload)
    if let step {
      progress.evolve(step)
      evaluate()
    }
    return HistoryEntry(
      event: event.withoutBody,
      transaction: step?.transactions.max {
        ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId)
      },
      changes: changes(since: before, beforeTexts), lateBy: lateBy, arrival: arrival,
      redeliveries: redeliveries, payload: isRaw ? DecodedPayload.json(payload) : nil,
      receipt: receipt(in: payload, receivedAt: event.receivedAt))
  }

  private func receipt(in payload: JournaledPayload, receivedAt: Int64) -> V1Receipt? {
    guard let receipts, case .json(let body) = payload.content,
      let root = try? JSONDocument(parsing: body).root,
      let notification = try? V1Notification(root)
    else { return nil }
    return V1Receipt(in: root, notification, receipts, at: receivedAt)
  }

  /// Evaluates the row at the clock.
  private mutating func evaluate() {
    guard let entitlement = progress.entitlement(at: clock, durations: durations) else {
      (row, rowTexts) = ([], [])
      return
    }
    let document = RowDocument(
      key: key, entitlement: entitlement, eventCount: 0, lastEvent: nil, succeededBy: nil,
      knownAt: nil)
    guard case .object(let members) = document.json else { return }
    row = members.filter { !Self.bookkeeping.contains($0.0) }
    rowTexts = row.map(\.1.text)
  }

  /// The members that differ. Every row has the same members in the same order; `before` is empty
  /// if there was no row yet.
  private func changes(
    since before: [(String, JSONValue)], _ beforeTexts: [String]
  ) -> [HistoryEntry.Change] {
    row.indices.compactMap { index in
      let (field, after) = row[index]
      let previous = index < before.count ? before[index].1 : .null
      let previousText = index < before.count ? beforeTexts[index] : "null"
      guard previousText != rowTexts[index] else { return nil }
      return (field, previous, after)
    }
  }
}

extension Int64 {
  /// The difference, or the bound that it would exceed: dates come from outside.
  fileprivate func subtracting(boundBy other: Int64) -> Int64 {
    let (difference, hasOverflow) = subtractingReportingOverflow(other)
    return hasOverflow ? (other > 0 ? .min : .max) : difference
  }
}
