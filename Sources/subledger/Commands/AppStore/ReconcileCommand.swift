import AppStore
import AppStoreClient
import Configuration
import Entitlements
import HTTPClient
import JournalStore
import LedgerEngine
import LedgerQueries
import Platform
import Reconciliation
import StrictJSON

/// `reconcile`: compares customers with what Apple says of them now, and journals what is new.
enum ReconcileCommand {
  static let flags: [Command.Flag] = [
    .init("--due", "those whose paid period ended without a word although they renew"),
    .init("--all", "every customer with a row"),
    .init("--app", "ID", "only of the app with this bundle id"),
    .init("--environment", "E", "only in Production or Sandbox; both by default"), .json,
  ]

  static func run(_ arguments: Arguments) throws(CommandError) -> ExitCode {
    let configuration = try arguments.configuration()
    let accounts = try AppStoreAccounts(
      configuration, app: arguments["--app"], environment: try arguments.environment()
    ).all
    let folder = arguments.folder(configuration)
    let cancellation = Cancellation()
    Interruption().start(cancellation)
    let journal = try LineJournal(folder, configuration)
    defer { journal.ledger?.stop() }
    journal.ledger?.waitForProjection { cancellation.isRequested }
    let streams = try streams(accounts, folder, configuration, arguments)
    var questions: [ObjectIdentifier: CustomerQuestion] = [:]
    var (differing, agreed, changed) = (0, 0, 0)
    let reporter = ProgressReporter("reconcile", counting: "customers")
    for (index, (stream, account)) in streams.enumerated() {
      if cancellation.isRequested { break }
      let asking: CustomerQuestion
      if let known = questions[ObjectIdentifier(account)] {
        asking = known
      } else {
        asking = try question(account, cancellation)
        questions[ObjectIdentifier(account)] = asking
      }
      let found = try compare(stream, asking, journal, folder, configuration)
      guard let found else { continue }
      if found.remains { differing += 1 } else { agreed += 1 }
      if !found.changes.isEmpty { changed += 1 }
      if streams.count == 1 || found.remains || !found.changes.isEmpty || arguments.has("--json") {
        Terminal.print(found.json, or: text(found), arguments)
      }
      reporter.show(Int64(index + 1), of: Int64(streams.count))
    }
    if cancellation.isRequested {
      Terminal.error("subledger reconcile: stopped; run it again")
      return .interrupted
    }
    if !arguments.has("--json"), streams.count != 1 {
      Terminal.print(
        "\(streams.count) customers: \(agreed) agree with Apple, \(differing) differ; "
          + "\(changed) rows changed")
    }
    return differing == 0 && agreed + differing == streams.count ? .good : .findings
  }

  /// - Returns: nil if Apple does not know the customer; that is printed.
  private static func compare(
    _ stream: StreamKey, _ question: CustomerQuestion, _ journal: LineJournal,
    _ folder: DataFolder, _ configuration: Configuration
  ) throws(CommandError) -> Reconciliation? {
    let answer = try mapError(
      { (error: AppStoreError) in
        error.reason == .cancelled ? CommandError.interrupted : .unavailable("\(error)")
      }, try question.ask(stream.originalTransactionId))
    guard let answer else {
      Terminal.error(
        "subledger reconcile: Apple does not know \(stream.originalTransactionId) in "
          + "\(stream.environment)")
      return nil
    }
    let before = try row(stream, folder, configuration)
    let dispositions = try journal.submit(answer.lines(.asked))
    let after = try row(stream, folder, configuration)
    return Reconciliation(stream, answer, before: before, after: after, dispositions)
  }

  private static func row(
    _ stream: StreamKey, _ folder: DataFolder, _ configuration: Configuration
  ) throws(CommandError) -> RowDocument? {
    let reader = try mapError(
      CommandError.store,
      try LedgerReader(folder, durations: configuration.nonRenewingDurations))
    return try mapError(
      CommandError.read,
      try reader.entitlement(
        stream.originalTransactionId, environment: stream.environment, bundleId: stream.bundleId,
        LedgerReader.Question(now: Clock.now())))
  }

  private static func question(
    _ account: AppStoreAccount, _ cancellation: Cancellation
  ) throws(CommandError) -> CustomerQuestion {
    try mapError(
      { (error: ClientError) in CommandError.unavailable("\(error)") },
      try CustomerQuestion([account], version: Subledger.version, .interactive, cancellation))
  }

  // MARK: Who is compared

  private static func streams(
    _ accounts: [AppStoreAccount], _ folder: DataFolder, _ configuration: Configuration,
    _ arguments: Arguments
  ) throws(CommandError) -> [(StreamKey, AppStoreAccount)] {
    let reader = try mapError(
      CommandError.store,
      try LedgerReader(folder, durations: configuration.nonRenewingDurations))
    var keys: [StreamKey] = []
    if arguments.has("--due") || arguments.has("--all") {
      try arguments.requireNoOperand()
      let isDue = arguments.has("--due")
      for account in accounts {
        keys += try listed(reader, account, isDue ? due(configuration, account) : nil)
      }
    } else {
      let id = try arguments.operand("an original transaction id, --due or --all")
      keys = try mapError(
        CommandError.store, try reader.journal.streams(withOriginalTransactionId: id))
      guard !keys.isEmpty else {
        throw .findings("the journal does not have \(id); fill it with: subledger import")
      }
    }
    return keys.compactMap { key in
      accounts.first { $0.bundleId == key.bundleId && $0.environment == key.environment }
        .map { (key, $0) }
    }
  }

  /// Before this time a paid period must have ended for its customer to be due.
  private static func due(_ configuration: Configuration, _ account: AppStoreAccount) -> Int64 {
    let wait = configuration.apps[account.bundleId]?.appStore?.reconcileAfter ?? 86_400_000
    return Clock.now() - wait
  }

  /// - Parameter ended: only those whose paid period ended before this time, who renew, and of whom
  ///   Apple has said nothing since.
  private static func listed(
    _ reader: LedgerReader, _ account: AppStoreAccount, _ ended: Int64?
  ) throws(CommandError) -> [StreamKey] {
    var filter = LedgerReader.Filter()
    (filter.environment, filter.bundleId) = (account.environment, account.bundleId)
    if ended != nil { filter.status = .expired }
    var keys: [StreamKey] = []
    var after: StreamKey?
    repeat {
      let page = try mapError(
        CommandError.read,
        try reader.list(
          filter, after: after, limit: 1_000, LedgerReader.Question(now: Clock.now())))
      keys += page.rows.filter { isDue($0, ended) }.map(\.key)
      after = page.next
    } while after != nil
    return keys
  }

  private static func isDue(_ row: RowDocument, _ ended: Int64?) -> Bool {
    guard let ended else { return true }
    guard let end = row.entitlement.expiresAt, end < ended, row.entitlement.autoRenew == true
    else { return false }
    return max(row.lastEvent?.signedDate ?? 0, row.confirmedAt ?? 0) <= end
  }

  private static func text(_ found: Reconciliation) -> String {
    let name = "\(found.stream.originalTransactionId)  \(found.stream.environment)"
    let apple = found.appleStatus ?? "no subscription"
    var lines = ["\(name)  \(found.remains ? "differs" : "agrees"): Apple says \(apple)"]
    lines += found.changes.map { change in
      "  \(change.field): \(change.before.text) → \(change.after.text)"
    }
    if found.remains { lines.append("  the row says \(found.status ?? "nothing")") }
    for code in Set(found.refused).sorted() { lines.append("  not taken: \(code)") }
    return lines.joined(separator: "\n")
  }
}
