import AppStore
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `lookup`: which original transaction ids belong to an id that a customer has, by asking Apple.
enum LookupCommand {
  static let flags: [Command.Flag] = [
    .init("--environment", "E", "ask only in Production or Sandbox; both by default"),
    .init("--app", "ID", "ask only about the app with this bundle id"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    // As people copy it: with spaces, and an order id in lower case.
    let id = try arguments.operand("an order id, a transaction id or an app transaction id")
      .filter { !$0.isWhitespace }.uppercased()
    let environment = try arguments.environment()
    let configuration = try arguments.configuration()
    let reader = try JournalReader.open(arguments.folder(configuration))
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let search = try AppStoreSearch(id, configuration, cancellation)
    let app = arguments["--app"]
    let keys = search.kind == .transaction ? try journaled(id, configuration, arguments) : []
    let known = keys.filter {
      app ?? $0.bundleId == $0.bundleId && environment ?? $0.environment == $0.environment
    }
    let found =
      known.isEmpty
      ? try search.run(app: app, environment: environment)
      : known.map { AppStoreSearch.Found(key: $0) }
    guard !found.isEmpty else {
      let asked = try search.asked(app: app, environment: environment)
      throw .findings(
        "Apple does not know this \(search.kind.rawValue) id; asked about \(asked). Compare it "
          + "with the customer's mail: one character may differ, or it is of another app")
    }
    var isComplete = true
    for entry in found {
      let streams = try reader.streams(
        withOriginalTransactionId: entry.key.originalTransactionId)
      let isJournaled = !known.isEmpty || streams.contains(entry.key)
      isComplete = isComplete && isJournaled
      let command = isJournaled ? history(of: entry.key, among: streams, arguments) : nil
      Terminal.print(
        json(entry, search, command), or: text(entry, command), arguments)
    }
    return isComplete ? .good : .findings
  }

  /// The purchases of this journal that an id belongs to: Apple need not be asked.
  private static func journaled(
    _ id: String, _ configuration: Configuration, _ arguments: Arguments
  ) throws(LedgerError) -> [StreamKey] {
    let reader = try LedgerReader(
      arguments.folder(configuration), durations: configuration.durations)
    return try reader.purchases(withId: id, LedgerReader.Question(now: Clock.now())).map(\.key)
  }

  /// The command that shows the history of a stream.
  private static func history(
    of key: StreamKey, among streams: [StreamKey], _ arguments: Arguments
  ) -> String {
    var parts = ["subledger history", VisibleText.word(key.originalTransactionId)]
    if key.environment != .production { parts += ["--environment", key.environment.rawValue] }
    if streams.count(where: { $0.environment == key.environment }) > 1 {
      parts += ["--bundle-id", VisibleText.word(key.bundleId)]
    }
    for flag in ["--config", "--data"] {
      if let value = arguments[flag] { parts += [flag, VisibleText.word(value)] }
    }
    return parts.joined(separator: " ")
  }

  private static func text(_ entry: AppStoreSearch.Found, _ command: String?) -> String {
    let products = entry.productIds.sorted().joined(separator: ", ")
    let known =
      entry.transactions == 0
      ? "in this journal; Apple was not asked"
      : "Apple has \(CountText.of(entry.transactions, "transactions")) of \(products)"
    return """
      \(entry.key.originalTransactionId)  \(entry.key.environment)  \(entry.key.bundleId)
        \(known)
        \(command ?? "not in this journal: Apple sent no notification that arrived")
      """
  }

  private static func json(
    _ entry: AppStoreSearch.Found, _ search: AppStoreSearch, _ command: String?
  ) -> JSONValue {
    .object([
      ("object", .string("lookup")), ("id", .string(search.id)),
      ("kind", .string(search.kind.rawValue)),
      ("environment", .string(entry.key.environment.rawValue)),
      ("bundle_id", .string(entry.key.bundleId)),
      ("original_transaction_id", .string(entry.key.originalTransactionId)),
      ("product_ids", .array(entry.productIds.sorted().map(JSONValue.string))),
      (
        "transactions", .optional(entry.transactions == 0 ? nil : Int64(entry.transactions))
      ),
      ("journaled", .boolean(command != nil)), ("history", .optional(command)),
    ])
  }
}
