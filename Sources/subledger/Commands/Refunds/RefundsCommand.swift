import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `refunds`: requests of customers for refunds, and how they ended.
enum RefundsCommand {
  private typealias IdKind = LedgerReader.CustomerQuestion.IdKind

  static let flags: [Command.Flag] = [
    .init(
      "--state", "STATES",
      "only requests in one of these states, separated by commas: "
        + RefundRequest.State.allCases.map(\.rawValue).joined(separator: ", ")),
    .init("--before", "T", "only requests with a deadline before this time"),
    .init("--customer", "ID", "only requests of this customer"),
    .init("--by", "KIND", "what the ID is: \(kinds); app_account_token by default"),
    .init("--environment", "E", "only Production or Sandbox"),
    .init("--limit", "N", "list at most N (100)"),
    .init("--dry-run", "list: what the daemon would tell Apple now of those that wait"),
    .init("--consented", "yes|no", "answer: whether the customer consents that Apple is told"),
    .init(
      "--delivery", "STATUS",
      "answer: "
        + ConsumptionInformation.Delivery.allCases.map(\.rawValue).joined(separator: ", ")),
    .init("--sample", "yes|no", "answer: Apple's sampleContentProvided"),
    .init(
      "--consumed", "N",
      "answer: how much was used, in thousandths of a percent, 0...\(whole)"),
    .init(
      "--prefer", "WORD",
      "answer: "
        + RefundPreference.allCases.map(\.rawValue).joined(separator: ", ")), .json,
  ]

  private static let whole = ConsumptionInformation.wholePercentage
  private static let kinds = IdKind.allCases.map(\.rawValue).joined(separator: ", ")

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    switch (arguments.operands.first, arguments.operands.count) {
    case ("list", 1): return try list(arguments)
    case ("show", 2): return try show(arguments.operands[1], arguments)
    case ("answer", 2): return try answer(arguments.operands[1], arguments)
    case ("try", 2): return try RefundTrial.run(arguments.operands[1], arguments)
    default:
      throw .usage("missing argument: list, show or answer with a transaction id, or try FILE")
    }
  }

  private static func list(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let limit = Int(try arguments.number("--limit", 1...10_000) ?? 100)
    let reader = try QueryOptions.reader(try arguments.readable([.data]).configuration)
    let question = LedgerReader.Question(now: Clock.now())
    let page = try reader.refundRequests(
      try filter(arguments), after: nil, limit: limit, question)
    if arguments.has("--dry-run") { return try dryRun(page.requests, reader, arguments) }
    guard !arguments.has("--json") else {
      for line in page.requests { Terminal.print(RefundDocument(line).json) }
      return .good
    }
    var table = QueryTable([
      "deadline", "state", "transaction", "product", "reason", "told", "outcome", "environment",
    ])
    for line in page.requests { table.addOrPrint(cells(line)) }
    if !page.requests.isEmpty { table.print() }
    Terminal.print(
      page.next == nil
        ? CountText.of(page.requests.count, "requests") : "there are more: see --limit")
    return .good
  }

  /// What the daemon would do now about each request that waits.
  private static func dryRun(
    _ requests: [RefundLine], _ reader: LedgerReader, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let policies = try arguments.configuration().refundPolicies ?? []
    for line in requests where line.state == .waiting {
      guard let outlook = try reader.outlook(of: line, policies, at: Clock.now()) else { continue }
      Terminal.print(
        RefundDocument(line, outlook).json,
        or: line.transactionId.padded(to: 26) + outlook.decision.title, arguments)
    }
    return .good
  }

  private static func filter(
    _ arguments: Arguments
  ) throws(LedgerError) -> LedgerReader.RefundFilter {
    var filter = LedgerReader.RefundFilter()
    for name in (arguments["--state"] ?? "").split(separator: ",") {
      guard let state = RefundRequest.State(rawValue: String(name)) else {
        throw .usage("--state takes words that 'subledger refunds --help' lists")
      }
      filter.states.insert(state)
    }
    filter.deadlineBefore = try arguments.time("--before")
    guard let kind = IdKind(rawValue: arguments["--by"] ?? IdKind.appAccountToken.rawValue) else {
      throw .usage("--by takes one of \(kinds)")
    }
    filter.customer = arguments["--customer"].map { ($0, kind) }
    filter.environment = try arguments.environment()
    return filter
  }

  private static func cells(_ line: RefundLine) -> [QueryValue] {
    let state = line["exclusion"].text.map { "\(line.state?.rawValue ?? "–") (\($0))" }
    return [
      .text(Timestamp.text(line.deadline)), .text(state ?? line.state?.rawValue ?? "–"),
      .text(line.transactionId), .text(line["product_id"].text ?? "–"),
      .text(line["reason"].text ?? "–"), .text(told(line)), .text(line["outcome"].text ?? "–"),
      .text(line.key.environment.rawValue),
    ]
  }

  /// What Apple was told last, and its code if it refused that.
  private static func told(_ line: RefundLine) -> String {
    guard line["sent_at"] != .none else { return "–" }
    let sent = [line["sent_delivery_status"].text, line["sent_preference"].text]
    let code = line["answer_code"].integer.map { "code \($0)" }
    return (sent + [line["sent_consumption_percentage"].integer.map { "\($0)" }, code])
      .compactMap(\.self).joined(separator: " ")
  }

  /// Every request about a transaction, the newest last.
  private static func show(
    _ id: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let reader = try QueryOptions.reader(try arguments.readable([.data]).configuration)
    var filter = LedgerReader.RefundFilter()
    filter.transactionId = id
    let found = try reader.refundRequests(
      filter, after: nil, limit: 500, LedgerReader.Question(now: Clock.now())
    ).requests
    guard !found.isEmpty else {
      throw absent
    }
    for (number, line) in found.enumerated() {
      let json = RefundDocument(line).json
      Terminal.print(
        json, or: (number == 0 ? "" : "\n") + QueryOptions.table(json), arguments)
    }
    return .good
  }

  // MARK: An operator's word

  /// Which member of the statement a flag says.
  private static let members = [
    ("--consented", "customerConsented"), ("--delivery", "deliveryStatus"),
    ("--sample", "sampleContentProvided"), ("--consumed", "consumptionPercentage"),
    ("--prefer", "refundPreference"),
  ]

  private static func answer(
    _ id: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    _ = try arguments.number("--consumed", 0...whole)
    let configuration = try arguments.configuration()
    let line = try QueryOptions.reader(configuration).newestRefundRequest(
      about: id, LedgerReader.Question(now: Clock.now()))
    guard let line else { throw absent }
    var said: [(String, JSONValue)] = [
      ("type", .string("REFUND_WORD")), ("request", .string(line.uuid)),
    ]
    for (flag, member) in members {
      guard let text = arguments[flag] else { continue }
      let word: JSONValue? = text == "yes" ? .boolean(true) : text == "no" ? .boolean(false) : nil
      said.append((member, word ?? Int64(text).map(JSONValue.integer) ?? .string(text)))
    }
    // What is not read was no word that the flag takes.
    guard let root = try? JSONDocument(parsing: JSONValue.object(said).bytes).root,
      let word = RefundStatement(root), word.members.count == said.count - 1
    else { throw .usage("--consented is needed, and each flag takes the words that are listed") }
    let ledger = try LocalLedger(try arguments.journalFolder(), configuration)
    defer { ledger.stop() }
    let isNew = try ledger.say(NewStatement(word.content, about: line, token: "command"))
    Terminal.print(
      .object([("outcome", .string(isNew ? "accepted" : "duplicate"))]),
      or: isNew ? "journaled" : "the same was said before", arguments)
    return .good
  }

  private static let absent = LedgerError.findings(
    "Apple asked nothing about this transaction; see: subledger refunds list")
}
