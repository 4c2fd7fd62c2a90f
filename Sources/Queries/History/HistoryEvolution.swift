import AppStore
import Entitlements
import Ledger
import Platform
import Store
import StrictJSON

/// Folds a stream's events one by one, and finds what each of them changed in the row, and what
/// time alone changed between them.
///
/// Its cost is linear in the number of events: the state of the fold goes from event to event.
struct HistoryEvolution {
  private let key: StreamKey
  private let durations: Durations
  private var progress: StreamProgress
  /// The events so far, each after what time changed before it was signed; without those that are
  /// on another page.
  private(set) var items: [History.Item] = []
  /// The page that is wanted; nil for all.
  private let page: History.Page?
  /// Transactions of events on earlier pages.
  private var toldBefore: Set<String> = []
  /// Events among `items`, and about how many bytes these take.
  private var (count, bytes) = (0, 0)
  /// The last event among them, and whether there are later ones.
  private(set) var lastEvent: StoredEvent?
  private(set) var hasMore = false
  /// Whether `row` is of before events that were left out.
  private var isStale = false
  /// About the bytes of an entry without a payload.
  private static let usualBytes = 1000
  /// The latest signed date of the events so far, milliseconds since 1970.
  private var clock = Int64.min
  /// The row evaluated at `clock`; nil if there is none yet.
  private var entitlement: Entitlement?
  /// The members of that row.
  private var row = RowMembers(nil)

  /// The products of the stream, of all its events so far.
  var products: Set<String> {
    Set(progress.state.transactions.values.compactMap(\.transaction.productId))
  }
  /// What all events so far say of requests for refunds.
  private var refunds: [RefundEvent] = []
  /// The seq of the stream's first event; `.max` without any.
  private(set) var firstSeq = Int64.max

  /// Proves receipts in version 1 notifications; nil if they are not to be proven.
  private let receipts: ReceiptProof?
  private let replacements: [Replacement]

  init(
    _ key: StreamKey, by fold: Fold, _ durations: Durations, _ receipts: ReceiptProof? = nil,
    _ replacements: [Replacement] = [], page: History.Page? = nil
  ) {
    self.key = key
    progress = StreamProgress(by: fold)
    self.page = page
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
    firstSeq = min(firstSeq, event.seq)
    guard isShown(event) else { return omit(event, payload) }
    // The time of a statement of the owner is ours: it says nothing of the order of Apple's.
    let isApples = !event.source.isOwners
    let lateBy =
      isApples && event.signedDate < clock ? clock.subtracting(boundBy: event.signedDate) : nil
    // What changed because time passed is not a change by this event.
    refresh()
    if isApples { advance(to: event.signedDate) }
    let before = row
    let step = try? JournaledNotification.foldEvent(payload)
    refunds += RefundEvent.all(in: event, payload, step)
    if let step {
      progress.evolve(step)
      show(progress.entitlement(at: clock, durations: durations))
    }
    let transaction = step?.newestTransaction
    let entry = HistoryEntry(
      event: event.withoutBody, transaction: transaction,
      hasUnreadTransaction: step.map {
        JournaledNotification.hasUnreadTransaction(payload, $0)
      } ?? false,
      changes: row.changes(since: before), lateBy: lateBy, arrival: arrival,
      redeliveries: redeliveries, payload: isRaw ? shown(payload) : nil,
      others: AppleMembers(payload).others,
      receipt: receipt(in: payload, receivedAt: event.receivedAt),
      replacement: Replacement.of(transaction?.revocationDate, among: replacements),
      givenBack: transaction.flatMap(givenBack))
    append(entry)
  }

  /// What was given back of a revoked transaction, by its line as of the last event.
  private func givenBack(_ transaction: Transaction) -> Int64? {
    guard transaction.revocationDate != nil else { return nil }
    let line = progress.line(about: transaction.transactionId, of: key)
    return line?.told(among: replacements).integer("refunded_milliunits")
  }

  /// The decoded payload; encoded if there may be many pages of them.
  private func shown(_ payload: JournaledPayload) -> JSONValue {
    let value = DecodedPayload.json(payload)
    return page == nil ? value : .encoded(value.bytes)
  }

  private func isShown(_ event: StoredEvent) -> Bool {
    page.map { event.seq > $0.after && !hasMore && !isFull($0) } ?? true
  }

  private func isFull(_ page: History.Page) -> Bool {
    count >= page.limit || bytes >= EncodedItems.pageBytes
  }

  private mutating func append(_ entry: HistoryEntry) {
    items.append(.event(entry))
    lastEvent = entry.event
    count += 1
    bytes += Self.usualBytes
    if case .encoded(let text)? = entry.payload { bytes += text.count }
  }

  /// Folds an event that is on another page, and evaluates nothing. What time changed before an
  /// event is on the same page.
  private mutating func omit(_ event: StoredEvent, _ payload: JournaledPayload) {
    if let page, event.seq > page.after { hasMore = true }
    if !event.source.isOwners { clock = max(clock, event.signedDate) }
    isStale = true
    let step = try? JournaledNotification.foldEvent(payload)
    refunds += RefundEvent.all(in: event, payload, step)
    guard let step else { return }
    progress.evolve(step)
    if let id = step.newestTransaction?.transactionId, !hasMore { toldBefore.insert(id) }
  }

  /// Evaluates the row after events that were left out.
  private mutating func refresh() {
    guard isStale else { return }
    isStale = false
    show(progress.entitlement(at: clock, durations: durations))
  }

  /// Evaluates the row at a later time, and adds what time alone changed until then. An earlier
  /// time does nothing.
  mutating func advance(to time: Int64) {
    guard time > clock, !hasMore else { return }
    refresh()
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

  /// Tells what the rules made of each transaction, and what became of each request for a refund,
  /// now that all events are known, at the first event that is about it.
  mutating func tellRules() {
    let requests = Dictionary(grouping: RefundRequest.all(of: refunds), by: \.uuid)
    var rules = Dictionary(grouping: progress.state.appliedRules, by: \.transactionId)
      .filter { !toldBefore.contains($0.key) }
    guard !rules.isEmpty || !requests.isEmpty else { return }
    for index in items.indices {
      guard case .event(var entry) = items[index] else { continue }
      entry.rules = requests[entry.event.notificationUUID]?.map { $0.words(at: clock) } ?? []
      if let id = entry.transactionId, let found = rules.removeValue(forKey: id) {
        entry.rules += found.map(\.words)
      }
      items[index] = .event(entry)
    }
  }

  private func receipt(in payload: JournaledPayload, receivedAt: Int64) -> V1Receipt? {
    guard let receipts, case .json(let body, let id) = payload.content else { return nil }
    return V1Receipt(in: body, of: id, receipts, at: receivedAt)
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

extension FoldEvent {
  fileprivate var newestTransaction: Transaction? {
    transactions.max {
      $0.purchaseDate == $1.purchaseDate
        ? ByteSearch.precedes($0.transactionId, $1.transactionId)
        : $0.purchaseDate < $1.purchaseDate
    }
  }
}
