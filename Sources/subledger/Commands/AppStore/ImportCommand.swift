import AppStore
import Ledger
import Platform
import Recovery
import Store

/// `import`: fills the journal from ids, by asking Apple about each customer.
enum ImportCommand {
  static let flags: [Command.Flag] = [
    .init(
      "--column", "C", "the file is CSV, with the ids in this column: a number, or its heading"),
    .init(
      "--account-column", "C", "your own id of the user, in this column: the purchase becomes his"),
    .init("--app", "ID", "ask only about the app with this bundle id"),
    .init("--environment", "E", "ask only in Production or Sandbox; both by default"), .json,
  ]

  /// Bytes of a file of ids.
  private static let mostBytes = 1 << 30

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let path = try arguments.operand("a file of transaction ids")
    let file = try read(path, arguments)
    let configuration = try arguments.configuration()
    let accounts = try AppStoreAccounts(
      configuration, app: arguments["--app"], environment: try arguments.environment()
    ).all
    let folder = arguments.folder(configuration)
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let ledger = try LocalLedger(folder, configuration)
    defer { ledger.stop() }
    let progress = try mapError(
      { (error: LedgerError) in LedgerError.unavailable(error.detail) },
      try ImportProgress(folder, file))
    if !progress.done.isEmpty {
      Terminal.error("subledger import: \(CountText.of(progress.done.count, "ids")) done already")
    }
    let reporter = ProgressReporter("import", counting: "ids")
    var report = try EvidenceImport(accounts, version: Subledger.version, cancellation).run(
      file.ids, of: file.accounts, progress,
      submit: { (lines) throws(LedgerError) in try ledger.journal(lines) },
      claim: { (purchase, account) throws(LedgerError) in
        try ledger.say(
          NewStatement(
            .claim(originalTransactionId: purchase.originalTransactionId),
            of: CustomerName(.account, account), environment: purchase.environment,
            bundleId: purchase.bundleId, token: "import", receivedAt: Clock.now()))
      }
    ) { reporter.show(Int64($0), of: Int64(file.ids.count)) }
    ledger.waitForProjection(cancellation)
    report.invalid = file.invalid
    report.customers = try JournalReader.open(folder).streamCount(through: .max)
    Terminal.print(report.json, or: text(report), arguments)
    return try code(of: report)
  }

  private static func read(
    _ path: String, _ arguments: Arguments
  ) throws(LedgerError) -> IdentifierFile {
    let bytes = try mapError(
      { (error: LedgerError) in LedgerError.unavailable(error.detail) },
      try DurableFile.read(path, limit: mostBytes))
    func column(_ flag: String) -> IdentifierFile.Column? {
      arguments[flag].map { Int($0).flatMap { $0 > 0 ? .number($0) : nil } ?? .name($0) }
    }
    guard arguments["--account-column"] == nil || arguments["--column"] != nil else {
      throw .usage("--account-column goes with --column, which says where the ids are")
    }
    let names = ["--column", "--account-column"].compactMap { arguments[$0] }
      .map { "'\($0)'" }.joined(separator: " and ")
    let file = try mapError(
      { (_: IdentifierFile.Fault) in
        LedgerError.usage("the first line has no column \(names); columns are separated by commas")
      },
      try IdentifierFile(
        String(decoding: bytes, as: UTF8.self), column("--column") ?? .line,
        accountColumn: column("--account-column")))
    guard !file.ids.isEmpty else {
      throw .usage(
        "the file has no transaction ids"
          + (arguments["--column"] == nil ? "; of a CSV file, name the column with --column" : ""))
    }
    return file
  }

  private static func code(of report: ImportReport) throws(LedgerError) -> ExitCode {
    if let failure = report.failure { throw .unavailable("\(failure); run it again to go on") }
    if report.isCancelled {
      Terminal.error("subledger import: stopped; run it again to go on")
      return .interrupted
    }
    guard report.failed.isEmpty else {
      throw .unavailable(
        "\(CountText.of(report.failed.count, "ids")) could not be asked for; run it again to go on")
    }
    return report.hasFindings ? .findings : .good
  }

  private static func text(_ report: ImportReport) -> String {
    let found = report.found.sorted { $0.key < $1.key }.map { "\($0.value) in \($0.key)" }
    let customers = found.isEmpty ? "none" : found.joined(separator: ", ")
    var lines = [
      "ids                 \(report.ids)"
        + (report.doneBefore > 0 ? ", \(report.doneBefore) done before" : ""),
      "customers found     \(customers)",
      "nothing new         \(CountText.of(report.complete, "customers"))",
      "journaled           \(CountText.of(report.journaled, "events")), "
        + "\(report.confirmed) confirmed what is known",
    ]
    if report.claims > 0 {
      lines.append("now of accounts     \(CountText.of(report.claims, "purchases"))")
    }
    lines += [
      "the journal answers for \(CountText.of(report.customers, "customers"))"
    ]
    func add(_ name: String, _ values: [String]) {
      guard !values.isEmpty else { return }
      let more = values.count > 10 ? " … (--json lists them)" : ""
      lines.append("\(name) \(values.count): \(values.prefix(10).joined(separator: " "))\(more)")
    }
    add("unknown to Apple   ", report.unknown)
    add("could not be asked ", report.failed)
    add("lines without an id", report.invalid.map(String.init))
    for (code, count) in report.refused.sorted(by: { $0.key < $1.key }) {
      lines.append("not taken           \(count): \(code)")
    }
    if !report.isCancelled, report.failure == nil {
      lines.append("next: subledger recover, for the notifications that Apple has of 180 days")
    }
    return lines.joined(separator: "\n")
  }
}
