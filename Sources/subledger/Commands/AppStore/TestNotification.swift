import AppStore
import Audit
import Clients
import Ledger
import Platform
import Store

/// Asks Apple for a test notification, and follows it until it is journaled or a leg has failed.
struct TestNotification {
  private let account: AppStoreAccount
  private let client: AppStoreClient
  private let journal: JournalReader
  private let folder: DataFolder
  private let proof: NotificationProof
  private let cancellation: Cancellation
  /// Receives each step as soon as it is known.
  private let show: (DoctorCheck) -> Void
  /// Milliseconds until Apple must have recorded an attempt.
  private let timeout: Int64
  private let began = Clock.monotonicNanoseconds()

  /// - Throws: `LedgerError.configuration` if a trust root is unusable, `.store` if there is no
  ///   journal, `.unavailable` when curl cannot be initialised.
  init(
    _ account: AppStoreAccount, _ folder: DataFolder, _ proof: NotificationProof,
    timeout: Int64, _ cancellation: Cancellation, show: @escaping (DoctorCheck) -> Void
  ) throws(LedgerError) {
    var settings = ClientSettings()
    settings.totalMilliseconds = Int(min(timeout, 10_000))
    client = try AppStoreAccounts.client(account, .once, cancellation, settings)
    try folder.requireJournal()
    journal = try JournalReader.open(folder)
    (self.account, self.folder, self.proof) = (account, folder, proof)
    (self.timeout, self.cancellation, self.show) = (timeout, cancellation, show)
  }

  /// - Throws: `LedgerError.unavailable` if Apple could not be asked or did not tell in time,
  ///   `.stopped`, `.store`.
  func follow() throws(LedgerError) -> TestReport {
    var report = TestReport(
      bundleId: account.bundleId, environment: account.environment, askedAt: Clock.now())
    let sent: SentNotification?
    do throws(AppStoreError) {
      let token = try client.requestTestNotification()
      show(
        DoctorCheck(
          "asked", "Apple sends a TEST of \(account.bundleId) in \(account.environment)"))
      sent = try status(token)
    } catch {
      report.failure = try Self.failure(error)
      return report
    }
    guard let sent else { throw try timeIsOver(report) }
    report.attempts = sent.sendAttempts.sorted { $0.date < $1.date }
    for attempt in report.attempts {
      show(DoctorCheck("attempt", "\(Timestamp.text(attempt.date))  \(attempt.result)"))
    }
    try find(sent, &report)
    return report
  }

  // MARK: Asking

  /// Asks for the status until Apple has recorded an attempt; nil if the time is over.
  private func status(_ token: String) throws(AppStoreError) -> SentNotification? {
    // The Sandbox has one request in twenty seconds: the first must not come too early.
    var wait: Int64 = account.environment == .production ? 1_000 : 3_000
    while elapsed < timeout {
      progress()
      cancellation.wait(milliseconds: min(wait, timeout - elapsed))
      do throws(AppStoreError) {
        let sent = try client.testNotificationStatus(token)
        if !sent.sendAttempts.isEmpty { return sent }
        wait = min(wait * 2, Self.longestWait)
      } catch {
        if case .limited(let milliseconds) = error.reason {
          wait = milliseconds
        } else if error.isRetryable || error.code?.action == .later {
          wait = min(wait * 2, Self.longestWait)
        } else {
          throw error
        }
      }
    }
    return nil
  }

  /// Milliseconds between two questions, where the budget allows more.
  private static let longestWait: Int64 = 16_000

  private var elapsed: Int64 { (Clock.monotonicNanoseconds() - began) / 1_000_000 }

  private func progress() {
    guard ProcessLimits.isTerminal(2) else { return }
    Terminal.progress("waiting for Apple's first attempt, \(elapsed / 1000) s")
  }

  /// The failure that an error of Apple's names.
  ///
  /// - Throws: `LedgerError` for an error that may pass.
  private static func failure(_ error: AppStoreError) throws(LedgerError) -> TestReport.Failure {
    var leg = TestReport.Leg.request
    switch error.reason {
    case .cancelled: throw .stopped("stopped")
    case .unauthorized, .signing: break
    case .code(.serverNotificationURLNotFound): leg = .url
    case .code(let code) where code.action == .report: break
    case .status(let status) where status < 500: break
    default: throw .unavailable("\(error)")
    }
    return TestReport.Failure(leg: leg, what: error.what, next: error.next)
  }

  private func timeIsOver(_ report: TestReport) throws(LedgerError) -> LedgerError {
    var filter = EventFilter()
    filter.notificationTypes = ["TEST"]
    (filter.environment, filter.bundleId) = (report.environment, report.bundleId)
    filter.received = report.askedAt...Int64.max
    let seen = try journal.events(matching: filter, after: 0, limit: 1)
    let arrived =
      seen.first.map { "a TEST of this app was journaled meanwhile, seq \($0.seq)" }
      ?? "no TEST of this app was journaled meanwhile"
    return .unavailable(
      "Apple told of no attempt within \(timeout / 1000) s; \(arrived); try again with a longer "
        + "--timeout")
  }

  // MARK: Finding

  /// Proves what Apple says it sent, finds it here, and names the leg that failed.
  private func find(
    _ sent: SentNotification, _ report: inout TestReport
  ) throws(LedgerError) {
    do throws(Refusal) {
      report.notificationUUID = try proven(sent)
    } catch {
      report.failure = TestReport.Failure(
        leg: .proof,
        what: "what Apple sent is not proven to be a TEST of this app, signed by Apple "
          + "(\(error.code))",
        next: "check trustRoots and the addresses of appStore in the configuration")
      return
    }
    guard let uuid = report.notificationUUID else { return }
    report.journaled = try journal.event(notificationUUID: uuid)
      .map { ($0.seq, $0.receivedAt) }
    if report.journaled == nil {
      report.quarantined = try quarantined(uuid, since: report.askedAt)
    }
    report.failure = report.judged(isServed: (try? folder.isLocked()) ?? false)
  }

  private func proven(_ sent: SentNotification) throws(Refusal) -> NotificationUUID {
    let now = Clock.now()
    let jws = try proof.prove(Array(sent.signedPayload.utf8)[...], at: now)
    let decoded = try proof.notification(in: jws, at: now).decoded
    guard decoded.notificationType == "TEST", decoded.bundleId == account.bundleId,
      decoded.environment == account.environment
    else { throw .notAdmitted("other_notification") }
    return decoded.notificationUUID
  }

  /// Among the newest of the quarantine.
  private func quarantined(
    _ uuid: NotificationUUID, since time: Int64
  ) throws(LedgerError) -> (id: Int64, reason: String)? {
    try journal.quarantined(through: Int64.max, limit: 1_000, bodies: false)
      .prefix { $0.receivedAt >= time }
      .first { $0.notificationUUID.flatMap { NotificationUUID($0) } == uuid }
      .map { ($0.id, $0.reason) }
  }
}
