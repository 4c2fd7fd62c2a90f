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
    .init("--limit", "N", "list at most N (100)"), .json,
  ]

  private static let kinds = IdKind.allCases.map(\.rawValue).joined(separator: ", ")

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    switch (arguments.operands.first, arguments.operands.count) {
    case ("list", 1): return try list(arguments)
    case ("show", 2): return try show(arguments.operands[1], arguments)
    default: throw .usage("missing argument: list, or show with a transaction id")
    }
  }

  private static func list(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let limit = Int(try arguments.number("--limit", 1...10_000) ?? 100)
    let reader = try QueryOptions.reader(try arguments.readable([.data]).configuration)
    let question = LedgerReader.Question(now: Clock.now())
    let page = try reader.refundRequests(
      try filter(arguments), after: nil, limit: limit, question)
    guard !arguments.has("--json") else {
      for line in page.requests { Terminal.print(RefundLine.object.json(line)) }
      return .good
    }
    var table = QueryTable([
      "deadline", "state", "transaction", "product", "reason", "outcome", "environment",
    ])
    for line in page.requests { table.addOrPrint(cells(line)) }
    if !page.requests.isEmpty { table.print() }
    Terminal.print(
      page.next == nil
        ? CountText.of(page.requests.count, "requests") : "there are more: see --limit")
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
      .text(line["reason"].text ?? "–"), .text(line["outcome"].text ?? "–"),
      .text(line.key.environment.rawValue),
    ]
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
      throw .findings("Apple asked nothing about this transaction; see: subledger refunds list")
    }
    for (number, line) in found.enumerated() {
      let json = RefundLine.object.json(line)
      Terminal.print(
        json, or: (number == 0 ? "" : "\n") + QueryOptions.table(json), arguments)
    }
    return .good
  }
}
