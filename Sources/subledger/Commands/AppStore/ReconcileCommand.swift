import AppStore
import Clients
import Ledger
import Platform
import Queries
import Recovery
import Store
import StrictJSON

/// `reconcile`: compares customers with what Apple says of them now, and journals what is new.
enum ReconcileCommand {
  static let flags: [Command.Flag] = [
    .init("--due", "those whose rows may be wrong, and who ended a week or a month ago"),
    .init("--all", "every customer with a row"),
    .init("--app", "ID", "only of the app with this bundle id"),
    .init("--environment", "E", "only in Production or Sandbox; both by default"), .json,
  ]

  /// A customer, and where Apple is asked about it.
  private typealias Customer = (stream: StreamKey, account: AppStoreAccount)

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let isList = arguments.has("--due") || arguments.has("--all")
    if isList {
      try arguments.requireNoOperand()
    } else if arguments.operands.isEmpty {
      throw .usage("missing argument: an original transaction id, --due or --all")
    }
    let configuration = try arguments.configuration()
    let accounts = try AppStoreAccounts(
      configuration, app: arguments["--app"], environment: try arguments.environment()
    ).all
    let folder = try arguments.journalFolder()
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let ledger = try LocalLedger(folder, configuration)
    defer { ledger.stop() }
    ledger.waitForProjection(cancellation)
    let reader = try LedgerReader(folder, durations: configuration.durations)
    var report = Report()
    let customers =
      isList
      ? try listed(accounts, reader, isDue: arguments.has("--due"), configuration)
      : try named(arguments.operands, accounts, reader, &report)
    let reconciler = Reconciler(
      reader, version: Subledger.version, .interactive, cancellation)
    let printsAll = !isList || customers.count == 1 || arguments.has("--json")
    let reporter = ProgressReporter("reconcile", counting: "customers")
    for (index, customer) in customers.enumerated() {
      if cancellation.isRequested { break }
      let found = try compare(customer, reconciler, ledger)
      report.count(found, customer.stream)
      if let found, printsAll || found.remains || found.isChanged {
        Terminal.print(found.json, or: ReconciliationText.of(found), arguments)
      }
      reporter.show(Int64(index + 1), of: Int64(customers.count))
    }
    if cancellation.isRequested {
      Terminal.error("subledger reconcile: stopped; run it again")
      return .interrupted
    }
    if isList { report.note(in: ledger, of: accounts) }
    if !arguments.has("--json"), isList || customers.count > 1 { Terminal.print(report.text) }
    return report.hasFindings ? .findings : .good
  }

  /// - Returns: nil if Apple does not know the customer.
  private static func compare(
    _ customer: Customer, _ reconciler: Reconciler, _ ledger: LocalLedger
  ) throws(LedgerError) -> Reconciliation? {
    try reconciler.compare(customer.stream, customer.account, at: Clock.now()) {
      (lines) throws(LedgerError) in try ledger.journal(lines)
    }
  }

  // MARK: Who is compared

  private static func listed(
    _ accounts: [AppStoreAccount], _ reader: LedgerReader, isDue: Bool,
    _ configuration: Configuration
  ) throws(LedgerError) -> [Customer] {
    var customers: [Customer] = []
    let now = Clock.now()
    for account in accounts {
      // Each account is of an app with this access.
      let wait = configuration.apps[account.bundleId]?.appStore?.reconcileAfter ?? 0
      var pages = CustomerPages(
        account.environment, bundleId: account.bundleId, endedBefore: isDue ? now - wait : nil)
      while let page = try pages.next(reader, at: now) {
        customers += page.map { ($0, account) }
      }
    }
    return customers
  }

  /// The customers with these original transaction ids. Those that cannot be compared are printed.
  private static func named(
    _ ids: [String], _ accounts: [AppStoreAccount], _ reader: LedgerReader, _ report: inout Report
  ) throws(LedgerError) -> [Customer] {
    var customers: [Customer] = []
    for id in ids {
      let streams = try reader.journal.streams(withOriginalTransactionId: id)
      let found = streams.compactMap { stream -> Customer? in
        accounts.first {
          $0.bundleId == stream.bundleId && $0.environment == stream.environment
        }.map { (stream, $0) }
      }
      if streams.isEmpty {
        report.refuse("the journal does not have \(id); fill it with: subledger import")
      } else if found.isEmpty {
        let apps = streams.map { "\($0.bundleId) in \($0.environment)" }.joined(separator: ", ")
        report.refuse("\(id) is of \(apps), about which Apple is not asked")
      }
      customers += found
    }
    return customers
  }

  /// What is said at the end.
  private struct Report {
    private var (agreed, differing, changed, unknown, refused) = (0, 0, 0, 0, 0)
    /// The same by app.
    private var apps: [RecoveryStatus.App: RecoveryStatus.Reconciliation] = [:]

    var hasFindings: Bool { differing + unknown + refused > 0 }

    /// Tells the daemon what was found in each app that was asked about.
    func note(in ledger: LocalLedger, of accounts: [AppStoreAccount]) {
      for account in accounts {
        let app = RecoveryStatus.App(account.environment, account.bundleId)
        var last = RecoveryStatus.Last()
        last.reconciliation = apps[app] ?? RecoveryStatus.Reconciliation()
        last.reconciliation?.at = Clock.now()
        last.reconciliation?.isByHand = true
        ledger.note(last, of: app)
      }
    }

    mutating func count(_ found: Reconciliation?, _ stream: StreamKey) {
      apps[.init(stream.environment, stream.bundleId), default: .init()].count(found)
      guard let found else {
        unknown += 1
        return Terminal.error(
          "subledger reconcile: Apple does not know \(stream.originalTransactionId) in "
            + "\(stream.environment)")
      }
      if found.remains { differing += 1 } else { agreed += 1 }
      if found.isChanged { changed += 1 }
    }

    /// An id that cannot be compared.
    mutating func refuse(_ reason: String) {
      refused += 1
      Terminal.error("subledger reconcile: \(reason)")
    }

    var text: String {
      CountText.of(agreed + differing + unknown, "customers")
        + ": \(agreed) agree with Apple, \(differing) differ"
        + (unknown > 0 ? ", \(unknown) Apple does not know; " : "; ")
        + "\(CountText.of(changed, "rows")) changed"
    }
  }
}

/// A comparison as text: a line for the customer, and a table of the fields.
private enum ReconciliationText {
  static func of(_ found: Reconciliation) -> String {
    let stream = found.stream
    let apple = found.appleStatus.map { "Apple says \($0)" } ?? "Apple has no subscription"
    var lines = [
      "\(stream.originalTransactionId)  \(stream.environment)  "
        + "\(found.remains ? "differs" : "agrees"): \(apple)"
    ]
    let rows = found.fields.map { field in
      [
        "  " + field.name, FieldText.of(field.name, field.before),
        field.apple.map { FieldText.of(field.name, $0) } ?? "",
        FieldText.of(field.name, field.after) + (field.remains ? "  differs" : ""),
      ]
    }
    if !rows.isEmpty { lines += table([["  field", "before", "Apple", "now"]] + rows) }
    for code in Set(found.refused).sorted() { lines.append("  not taken: \(code)") }
    return lines.joined(separator: "\n")
  }

  private static func table(_ rows: [[String]]) -> [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = zip(row, widths).map { $0.padded(to: $1 + 1) }.joined(separator: " ")
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
