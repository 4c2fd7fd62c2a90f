import AppStore
import Clients
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// Tells Apple what was decided about requests of customers for refunds, on the thread of
/// `RecoveryWorker`.
///
/// What is about to be sent is journaled and synced before the call, and Apple's answer after it.
/// After a crash between the two the call is made again, which replaces what was sent.
final class RefundDesk {
  private let service: RecoveryService
  private let reader: LedgerReader
  /// The journal's head when the open requests were last looked at, and when.
  private var last: (seq: Int64, at: Int64)?

  /// What was journaled of times that came.
  private var reached: Set<String> = []

  /// Milliseconds until they are looked at again, if something was journaled, and if not.
  private static let (busy, idle): (Int64, Int64) = (2_000, 30_000)
  private static let mostAtOnce = 500
  /// Milliseconds after its deadline for which a missed request is told of, by a daemon that was
  /// away.
  private static let told: Int64 = 7 * 24 * 3_600_000

  init(_ service: RecoveryService) throws(LedgerError) {
    (self.service, reader) = (service, try LedgerReader(service.ledger))
  }

  /// Does what is due about requests that are open.
  ///
  /// - Parameters:
  ///   - accounts: of the apps that Apple may be asked about.
  ///   - now: milliseconds since 1970.
  func work(_ accounts: [AppStoreAccount], at now: Int64) throws(LedgerError) {
    guard let policies = service.configuration().refundPolicies, service.ledger.hasProjection
    else { return }
    let seq = service.ledger.foldedHead.seq
    if let last, last.at <= now, now - last.at < (last.seq == seq ? Self.idle : Self.busy) {
      return
    }
    last = (seq, now)
    for line in try lines(.waiting, from: now, until: .max, at: now)
    where !service.cancellation.isRequested {
      let isDone = try act(on: line, accounts, policies, at: now)
      if !isDone, line.dueAt <= now { try reach(.due, line) }
    }
    for line in try lines(.missed, from: now - Self.told, until: now + 1, at: now)
    where !service.cancellation.isRequested {
      try reach(.missed, line)
    }
  }

  /// Does what was decided about a request, if its time has come. Returns whether anything was.
  private func act(
    on line: RefundLine, _ accounts: [AppStoreAccount], _ policies: [RefundPolicy], at now: Int64
  ) throws(LedgerError) -> Bool {
    let account = accounts.first {
      $0.environment == line.key.environment && $0.bundleId == line.key.bundleId
    }
    guard let account, let (request, facts) = try reader.refundFacts(of: line) else { return false }
    switch RefundDecision(on: request, facts, policies, at: now) {
    case .wait, .open: return false
    case .withhold(let reason): _ = try say(.withheld(reason), line)
    case .send(let information, let policy, _):
      guard let next = request.nextTry(at: now), next <= now else { return false }
      try send(information, policy, line, account)
    }
    return true
  }

  /// Journals that a time came, once: a repetition is the same event, whichever daemon says it.
  private func reach(
    _ milestone: RefundStatement.Milestone, _ line: RefundLine
  ) throws(LedgerError) {
    // What is forgotten here is asked of the journal again.
    if reached.count > Self.mostAtOnce * 20 { reached = [] }
    guard reached.insert("\(milestone.rawValue) \(line.uuid)").inserted else { return }
    _ = try say(.reached(milestone), line)
  }

  private func lines(
    _ state: RefundRequest.State, from time: Int64, until end: Int64, at now: Int64
  ) throws(LedgerError) -> [RefundLine] {
    var filter = LedgerReader.RefundFilter()
    (filter.states, filter.deadlineBefore) = ([state], end)
    var (lines, place): ([RefundLine], ProjectionReader.RefundPlace?) = ([], (time, ""))
    repeat {
      let page = try reader.refundRequests(
        filter, after: place, limit: Self.mostAtOnce, LedgerReader.Question(now: now))
      lines += page.requests
      place = page.next
    } while place != nil
    return lines
  }

  private func send(
    _ information: ConsumptionInformation, _ policy: String?, _ line: RefundLine,
    _ account: AppStoreAccount
  ) throws(LedgerError) {
    let client: AppStoreClient
    do {
      client = try AppStoreClient(
        account, version: service.version, policy: .once, cancellation: service.cancellation)
    } catch {
      throw .unavailable("\(error)")
    }
    let sending = try say(.sending(information, policy: policy), line)
    let answer: RefundStatement.Answer
    do throws(AppStoreError) {
      try client.sendConsumption(information, of: line.transactionId)
      answer = .accepted
    } catch {
      // Whether Apple took it is not known.
      if error.reason == .cancelled { return }
      answer = error.isRefusal ? .refused(code: error.code?.rawValue) : .failed
      Log.write(
        .warning, "refund_not_taken",
        [
          ("transaction_id", .string(line.transactionId)), ("answer", .string(answer.name)),
          ("error", .string(error.description)),
        ])
    }
    _ = try say(.answered(sending, answer), line)
  }

  /// Journals a statement, and waits until it is synced.
  ///
  /// - Returns: the UUID of its event.
  /// - Throws: `LedgerError.unavailable` if it cannot be journaled.
  private func say(
    _ content: RefundStatement.Content, _ line: RefundLine
  ) throws(LedgerError) -> NotificationUUID {
    let done = BoundedQueue<Outcome>(capacity: 1)
    let statement = NewStatement(content, about: line, token: "daemon")
    service.ledger.submit(Receiver.Received(statement)) { _ = done.enqueue($0) }
    guard let seq = done.dequeue()?.seq, let event = try reader.journal.event(seq: seq) else {
      throw .unavailable("nothing can be journaled: requests for refunds wait")
    }
    return event.notificationUUID
  }
}
