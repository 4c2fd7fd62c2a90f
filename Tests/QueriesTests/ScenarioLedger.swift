import AppStore
import Queries
import Store
import StrictJSON
import Support

/// A ledger that receives V2 notifications written in scenario notation, for tests of times and
/// lists.
struct ScenarioLedger {
  let ledger: TestLedger
  private var count = 0

  init(apps: [String] = [], durations: [String: String] = [:]) throws {
    ledger = try TestLedger(apps: apps, durations: durations)
  }

  /// Sends one notification; transaction and renewal are in scenario notation.
  ///
  /// - Throws: `ScenarioSyntax.Unknown` if it is not accepted.
  mutating func send(
    _ type: String, signed: String, received: String, _ transaction: String, renewal: String? = nil,
    status: Int64 = 1, bundleId: String = TestLedger.bundleId, more: [String: JSONValue] = [:]
  ) throws {
    count += 1
    let transaction = try ScenarioSyntax.Transaction(transaction)
    let event = Scenario.Event(
      version: "V2", date: try ScenarioSyntax.date(signed), type: type, subtype: nil,
      status: status,
      transactions: [transaction],
      renewal: try renewal.map { try ScenarioSyntax.Renewal($0, transaction) },
      row: "", line: 0)
    let digits = String(count)
    let uuid =
      "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    let payload = Self.changed(event.payload(uuid: uuid), bundleId, more)
    guard
      case .accepted = try ledger.ingest(
        try SharedAuthority.sign(payload), at: try ScenarioSyntax.date(received))
    else { throw ScenarioSyntax.Unknown("not accepted: \(type) \(signed)") }
  }

  /// The payload with another bundle id everywhere, and with more members in the transaction.
  private static func changed(
    _ value: JSONValue, _ bundleId: String, _ more: [String: JSONValue], in name: String = ""
  ) -> JSONValue {
    guard case .object(let members) = value else { return value }
    let extra = name == "transaction" ? more.sorted { $0.key < $1.key } : []
    return .object(
      members.map { member, value in
        (
          member,
          member == "bundleId" ? .string(bundleId) : changed(value, bundleId, more, in: member)
        )
      } + extra.map { ($0.key, $0.value) })
  }

  func row(
    _ id: String, asOf: String? = nil, knownAt: String? = nil, now: String = "30-01-01"
  ) throws -> String {
    RowText.of(
      try ledger.row(
        id, asOf: try asOf.map(ScenarioSyntax.date), knownAt: try knownAt.map(ScenarioSyntax.date),
        now: try ScenarioSyntax.date(now)))
  }

  /// The ids of all rows that match, read page by page.
  func ids(
    limit: Int = 2, now: String = "25-01-20", _ set: (inout LedgerReader.Filter) -> Void = { _ in }
  ) throws -> [String] {
    var filter = LedgerReader.Filter()
    set(&filter)
    let question = LedgerReader.Question(now: try ScenarioSyntax.date(now))
    var found: [String] = []
    var page = try ledger.reader().list(filter, after: nil, limit: limit, question)
    while true {
      found += page.rows.map(\.key.originalTransactionId)
      guard let next = page.next else { return found }
      page = try ledger.reader().list(filter, after: next, limit: limit, question)
    }
  }
}
