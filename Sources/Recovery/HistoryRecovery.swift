import AppStore
public import Clients
import Ledger
public import Platform
public import Store
import StrictJSON

/// Recovers what one app missed in one environment: asks for Apple's notification history, slice by
/// slice, and hands every page on to the ingest path as it comes.
///
/// It may be ended at any point. What is journaled stays, and a slice that is asked for again only
/// brings duplicates (promise 4). One thread.
public final class HistoryRecovery {
  /// How far it is.
  public struct Step: Sendable {
    public var slices = 0
    public var slicesDone = 0
    var requests: Int64 = 0
    public var listed: Int64 = 0
    public var recovered: Int64 = 0
  }

  private let account: AppStoreAccount
  private let client: AppStoreClient
  private let plan: RecoveryPlan
  private let journal: JournalReader
  private let sink: any RecoverySink
  private let cancellation: Cancellation
  private let observer: (Step) -> Void
  private var step = Step()

  /// How often a slice begins again because a page is no longer to be had.
  private static let mostRestarts = 10
  /// How often a page is handed over again to a writer that takes nothing, a second apart.
  private static let mostAttempts = 60

  /// - Parameters:
  ///   - client: of the account.
  ///   - journal: a reader of the journal that the sink writes.
  ///   - observer: called after each page and each slice.
  public init(
    _ client: AppStoreClient, _ plan: RecoveryPlan, _ journal: JournalReader,
    _ sink: any RecoverySink, _ cancellation: Cancellation,
    observer: @escaping (Step) -> Void = { _ in }
  ) {
    (account, self.client, self.plan, self.journal) = (client.account, client, plan, journal)
    (self.sink, self.cancellation, self.observer) = (sink, cancellation, observer)
  }

  /// Asks for all slices, except those that are done already.
  ///
  /// - Parameter progress: what is done, and where it is stored; nil for a run that is not resumed.
  /// - Returns: the report, also if it ended early: its `error` then says why.
  public func run(_ progress: RecoveryProgress? = nil) -> GapReport.Account {
    var found = SliceResult()
    var seqs = SeqSet(through: plan.startSeq)
    var failure: LedgerError?
    let slices = plan.slices(account.environment)
    step.slices = slices.count
    do throws(LedgerError) {
      for slice in slices {
        let key = RecoveryProgress.Key(account, slice)
        let result: SliceResult
        if let done = progress?.done[key] {
          result = done
        } else {
          result = try ask(slice)
          progress?.add(result, key)
        }
        found.merge(result)
        for range in result.seqs { seqs.insert(range) }
        step.slicesDone += 1
        (step.listed, step.recovered) = (found.listed, found.recovered)
        observer(step)
      }
    } catch {
      failure = error
    }
    var report = GapReport.Account(account, plan, found)
    report.requests = step.requests
    do throws(LedgerError) {
      if let unjournaled = sink.takeUnjournaled() {
        report.recovered = unjournaled
      } else {
        report.recovered = try journal.recovered(
          after: plan.startSeq, environment: account.environment, bundleId: account.bundleId)
      }
      if failure == nil, !plan.onlyFailures { try findUnlisted(seqs, &report) }
    } catch {
      failure = failure ?? error
    }
    report.error = failure
    return report
  }

  // MARK: A slice

  private func ask(_ slice: RecoveryPlan.Slice) throws(LedgerError) -> SliceResult {
    var from = slice.from
    var restarts = 0
    while from < slice.to {
      do throws(LedgerError) {
        var result = try pages(from..<slice.to)
        result.goneBefore = from > slice.from ? from : nil
        return result
      } catch {
        let refused = ErrorCode(rawValue: Int64(error.number))
        guard error.code == .appStore else { throw error }
        if refused == .startDateTooFarInPast {
          // The reach is not exactly the number of days for every app.
          from += CivilTime.hour
        } else if refused.action == .restart, restarts < Self.mostRestarts {
          restarts += 1
        } else {
          throw error
        }
      }
    }
    var result = SliceResult()
    result.goneBefore = slice.to
    return result
  }

  /// All pages of a time, each handed on before the next is asked for.
  private func pages(_ time: Range<Int64>) throws(LedgerError) -> SliceResult {
    let query = NotificationHistoryQuery(
      startDate: time.lowerBound, endDate: time.upperBound, onlyFailures: plan.onlyFailures)
    var result = SliceResult()
    var seqs: Set<Int64> = []
    var token: String?
    while true {
      step.requests += 1
      let page = try mapError(
        { (error: AppStoreError) in LedgerError(error) },
        try client.notificationHistory(query, paginationToken: token))
      let outcomes = try submit(page.notifications.map(\.signedPayload))
      for (item, outcome) in zip(page.notifications, outcomes) {
        // Apple may list one twice.
        guard isFirst(outcome, &seqs) else { continue }
        let isNew = try isNew(outcome)
        result.count(
          item, outcome, isNew: isNew, importedAt: isNew ? try importedAt(item) : nil)
      }
      var now = step
      now.listed += result.listed
      now.recovered += result.recovered
      observer(now)
      guard page.hasMore else { break }
      token = page.paginationToken
    }
    result.seqs = SeqSet.ranges(seqs)
    return result
  }

  private func isFirst(_ outcome: Outcome, _ seqs: inout Set<Int64>) -> Bool {
    switch outcome {
    case .accepted(let seq), .duplicate(let seq): seq == 0 || seqs.insert(seq).inserted
    case .conflict(let seq):
      // Known, though with other content: it is not missing in the history.
      seqs.insert(seq).inserted
    case .skipped: !sink.isDry
    default: true
    }
  }

  /// Whether the journal did not have it when the recovery began. An interrupted run may have
  /// journaled it already.
  private func isNew(_ outcome: Outcome) throws(LedgerError) -> Bool {
    switch outcome {
    case .accepted: true
    case .duplicate(let seq) where seq > plan.startSeq:
      try journal.arrivals(in: seq...seq)[seq] == .history
    default: false
    }
  }

  /// When the import came that the journal knew the customer of a notification from, before the
  /// recovery; nil if it did not, or if Apple never delivered the notification.
  private func importedAt(_ item: SentNotification) throws(LedgerError) -> Int64? {
    guard item.deliveredAt != nil, let key = Self.stream(of: item, account) else { return nil }
    return try journal.importedAt(key)
  }

  /// The customer that a notification is about, which the sink has proven.
  private static func stream(of item: SentNotification, _ account: AppStoreAccount) -> StreamKey? {
    guard let payload = payload(Array(item.signedPayload.utf8)[...]),
      case .data(let transaction?, _, _)? = try? NotificationPayload(payload).content,
      let id = Self.payload(transaction)?["originalTransactionId"]?.string
    else { return nil }
    return StreamKey(
      environment: account.environment, bundleId: account.bundleId, originalTransactionId: id)
  }

  private static func payload(_ jws: ArraySlice<UInt8>) -> JSONElement? {
    let segments = jws.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard segments.count == 3, let bytes = Base64URL.decode(segments[1]) else { return nil }
    return try? JSONDocument(parsing: bytes).root
  }

  /// Hands notifications over, again and again while the writer takes nothing.
  private func submit(_ payloads: [String]) throws(LedgerError) -> [Outcome] {
    guard !payloads.isEmpty else { return [] }
    var attempt = 1
    while true {
      guard !cancellation.isRequested else { throw .stopped }
      let outcomes = try sink.submit(payloads)
      guard outcomes.count == payloads.count else {
        throw .unavailable("the journal's daemon has another version; restart it")
      }
      var reason: String?
      for case .refused(.unavailable(let code)) in outcomes { reason = code }
      guard let reason else { return outcomes }
      guard attempt < Self.mostAttempts else {
        throw .unavailable("nothing can be journaled (\(reason)); run this again later")
      }
      attempt += 1
      cancellation.wait(milliseconds: 1000)
    }
  }

  // MARK: What Apple does not list

  /// Finds the events of the time that was asked for, without the days at its ends, that the
  /// journal had before and that Apple did not list.
  private func findUnlisted(
    _ seqs: SeqSet, _ report: inout GapReport.Account
  ) throws(LedgerError) {
    let window = plan.window(account.environment)
    let from = max(window.lowerBound + CivilTime.day, report.goneBefore ?? .min)
    // What was sent a moment ago may not be listed yet.
    let to = min(plan.until ?? .max, plan.startedAt - CivilTime.hour)
    guard plan.startSeq > 0, from < to else { return }
    let first = try journal.firstSeq(receivedFrom: from - CivilTime.day)
    guard first <= plan.startSeq else { return }
    var found: [Int64] = []
    var count: Int64 = 0
    try journal.forEachSeq(
      of: account.environment, account.bundleId, in: first...plan.startSeq, signed: from..<to
    ) { seq in
      guard !seqs.contains(seq) else { return }
      count += 1
      if found.count < SliceResult.mostSeqs { found.append(seq) }
    }
    (report.unlisted, report.unlistedSeqs) = (count, found)
  }
}
