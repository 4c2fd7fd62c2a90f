import JournalStore
import LedgerQueries
import StrictJSON
import Support

/// Small notifications of version 2, for tests of times and lists.
struct Library {
  let ledger: TestLedger
  private var count = 0

  init(apps: [String] = []) throws { ledger = try TestLedger(apps: apps) }

  /// Sends one; the rest is as `Words` says. The answer must be that it is taken.
  mutating func send(
    _ type: String, signed: String, came: String, _ transaction: String, renewal: String? = nil,
    status: Int64 = 1, bundleId: String = TestLedger.bundleId, more: [String: JSONValue] = [:]
  ) throws {
    count += 1
    let transaction = try Words.Transaction(transaction)
    let event = Scenario.Event(
      version: "V2", date: try Words.date(signed), type: type, subtype: nil, status: status,
      transactions: [transaction], renewal: try renewal.map { try Words.Renewal($0, transaction) },
      row: "", line: 0)
    let digits = String(count)
    let uuid =
      "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    let payload = Self.changed(event.payload(uuid: uuid), bundleId, more)
    guard
      case .accepted = try ledger.take(
        try AppStoreStandIn.sign(payload), at: try Words.date(came))
    else { throw Words.Unknown("not accepted: \(type) \(signed)") }
  }

  /// The same with another bundle id throughout, and more members in the transaction.
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
        id, asOf: try asOf.map(Words.date), knownAt: try knownAt.map(Words.date),
        now: try Words.date(now)))
  }

  /// The ids of all rows that match, page by page.
  func ids(
    limit: Int = 2, now: String = "25-01-20", _ set: (inout LedgerReader.Filter) -> Void = { _ in }
  ) throws -> [String] {
    var filter = LedgerReader.Filter()
    set(&filter)
    let question = LedgerReader.Question(now: try Words.date(now))
    var found: [String] = []
    var page = try ledger.reader().list(filter, after: nil, limit: limit, question)
    while true {
      found += page.rows.map(\.key.originalTransactionId)
      guard let next = page.next else { return found }
      page = try ledger.reader().list(filter, after: next, limit: limit, question)
    }
  }
}
