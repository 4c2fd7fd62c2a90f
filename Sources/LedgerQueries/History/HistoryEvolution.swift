import AppStore
import Entitlements
import JournalStore
import LedgerEngine
import StrictJSON

/// Folds a stream's events one by one, and finds what each of them changed in the row, and what
/// time alone changed between them.
///
/// Its cost is linear in the number of events: the state of the fold goes from event to event.
struct HistoryEvolution {
  private let key: StreamKey
  private let durations: [String: Int64]
  private var progress = StreamProgress()
  /// The events so far, each after what time changed before it was signed.
  private(set) var items: [History.Item] = []
  /// The latest signed date of the events so far, milliseconds since 1970.
  private var clock = Int64.min
  /// The row evaluated at `clock`; nil if there is none yet.
  private var entitlement: Entitlement?
  /// The members of that row.
  private var row = RowMembers(nil)

  /// Proves receipts in version 1 notifications; nil if they are not to be proven.
  private let receipts: ReceiptProof?
  private let replacements: [Replacement]

  init(
    _ key: StreamKey, _ durations: [String: Int64], _ receipts: ReceiptProof? = nil,
    _ replacements: [Replacement] = []
  ) {
    self.key = key
    self.durations = durations
    self.receipts = receipts
    self.replacements = replacements
  }

  /// Folds the next event.
  ///
  /// - Parameters:
  ///   - payload: of the same event; one that cannot be read changes nothing (promise 9).
  ///   - arrival: how it arrived, if that is known.
  ///   - isRaw: whether the entry has the decoded payload.
  mutating func add(
    _ event: StoredEvent, _ payload: JournaledPayload, _ arrival: EventArrival? = nil,
    _ redeliveries: Redeliveries? = nil, isRaw: Bool = false
  ) {
    // The time of a statement of the owner is ours: it says nothing of the order of Apple's.
    let isApples = !event.source.isOwners
    let lateBy =
      isApples && event.signedDate < clock ? clock.subtracting(boundBy: event.signedDate) : nil
    // What changed because time passed is not a change by this event.
    if isApples { advance(to: event.signedDate) }
    let before = row
    let step = try? JournaledNotification.foldEvent(payload)
    if let step {
      progress.evolve(step)
      show(progress.entitlement(at: clock, durations: durations))
    }
    let transaction = step?.transactions.max {
      ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId)
    }
    let entry = HistoryEntry(
      event: event.withoutBody, transaction: transaction,
      hasUnreadTransaction: step.map {
        JournaledNotification.hasUnreadTransaction(payload, $0)
      } ?? false,
      changes: row.changes(since: before), lateBy: lateBy, arrival: arrival,
      redeliveries: redeliveries, payload: isRaw ? DecodedPayload.json(payload) : nil,
      receipt: receipt(in: payload, receivedAt: event.receivedAt),
      replacement: Replacement.of(transaction?.revocationDate, among: replacements))
    items.append(.event(entry))
  }

  /// Evaluates the row at a later time, and adds what time alone changed until then. An earlier
  /// time does nothing.
  mutating func advance(to time: Int64) {
    guard time > clock else { return }
    clock = time
    let (answer, transitions) = progress.advance(to: time, durations: durations)
    for (previous, after) in transitions {
      show(previous)
      guard let entitlement else { continue }
      let before = row
      show(after)
      items.append(
        .transition(
          HistoryTransition(
            before: entitlement, after: after, changes: row.changes(since: before),
            isReplacement: Replacement.of(after.revokedAt, among: replacements) != nil)))
    }
    show(answer)
  }

  /// Tells what the rules made of each transaction, now that all events are known, at the first
  /// event that is about it.
  mutating func tellRules() {
    var rules = Dictionary(grouping: progress.state.appliedRules, by: \.transactionId)
    guard !rules.isEmpty else { return }
    for index in items.indices {
      guard case .event(var entry) = items[index], let id = entry.transactionId,
        let found = rules.removeValue(forKey: id)
      else { continue }
      entry.rules = found.map(\.words)
      items[index] = .event(entry)
    }
  }

  private func receipt(in payload: JournaledPayload, receivedAt: Int64) -> V1Receipt? {
    guard let receipts, case .json(let body, let id) = payload.content,
      let root = try? JSONDocument(parsing: body).root,
      let notification = try? V1Notification(root, of: id)
    else { return nil }
    return V1Receipt(in: root, notification, receipts, at: receivedAt)
  }

  private mutating func show(_ answer: Entitlement?) {
    entitlement = answer
    row = RowMembers(
      answer.map { entitlement in
        RowDocument(
          key: key, entitlement: entitlement, eventCount: 0, lastEvent: nil, succeededBy: nil,
          knownAt: nil
        ).json
      })
  }
}

extension Int64 {
  /// The difference, or the bound that it would exceed: dates come from outside.
  fileprivate func subtracting(boundBy other: Int64) -> Int64 {
    let (difference, hasOverflow) = subtractingReportingOverflow(other)
    return hasOverflow ? (other > 0 ? .min : .max) : difference
  }
}
