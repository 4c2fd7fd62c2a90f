import Entitlements
import JournalStore
import LedgerAudit
import LedgerEngine
import LedgerQueries
import Platform
import Simulator
import StrictJSON
import Support
import Testing

/// Rows are files that anything may have happened to: reading, comparing and verifying them must
/// neither trap nor allocate without bound, and an answer is the journal's where they are damaged.
@Suite struct DamagedRowTests {
  private static let rounds = 5
  private static let rowsEach = 400
  static let start: Int64 = 1_767_225_600_000

  /// What fits into a byte string that says how long its parts are: huge counts, turned bits, cuts.
  private static func damage(_ state: [UInt8], _ dice: inout SeededGenerator) -> [UInt8] {
    var bytes = state
    for _ in 0..<Int.random(in: 1...3, using: &dice) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &dice)
      switch Int.random(in: 0..<5, using: &dice) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
      case 1: bytes[place] = .random(in: 0...255, using: &dice)
      case 2: bytes.insert(contentsOf: [UInt8](repeating: 0xFE, count: 9) + [1], at: place)
      case 3: bytes.removeSubrange(place...)
      default: bytes.remove(at: place)
      }
    }
    return bytes
  }

  @Test func damagedRowsDoNoHarm() throws {
    let trial = try TestLedger()
    for number in 0..<40 {
      let body = try AppStoreStandIn.sign(Self.notification(number))
      #expect(try trial.take(body, at: Self.start) == .accepted(Int64(number + 1)))
    }
    try trial.atRest {
      let path = trial.folder.projection(
        named: try #require(try ProjectionList.read(trial.folder).live))
      var rows: [ProjectedRow] = []
      try ProjectionReader.open(trial.folder, path: path).forEach { row in
        rows.append(row)
        return true
      }
      #expect(rows.count == 20)
      var dice = SeededGenerator(seed: 20_260_101)
      for _ in 0..<Self.rounds {
        for _ in 0..<Self.rowsEach / rows.count {
          let projection = try Projection.open(path)
          for row in rows {
            var row = row
            row.state = Self.damage(row.state, &dice)
            try projection.replace(row)
          }
          try projection.close()
          try Self.use(trial, rows)
        }
        try Self.compare(trial)
        #expect(try trial.verify().findingCount > 0)
      }
      let projection = try Projection.open(path)
      for row in rows { try projection.replace(row) }
      try projection.close()
      #expect(try trial.verify().findings == [])
    }
  }

  private static func use(_ trial: TestLedger, _ rows: [ProjectedRow]) throws {
    let reader = try LedgerReader(trial.folder, durations: ["pro.monthly": .max])
    for row in rows {
      for time in [Int64.min, start, .max] {
        _ = try reader.entitlement(
          row.key.originalTransactionId, environment: row.key.environment, bundleId: nil,
          LedgerReader.Question(now: time))?.json.text
      }
    }
  }

  private static func compare(_ trial: TestLedger) throws {
    do throws(StoreError) {
      _ = try ProjectionDiff.run(
        trial.folder, Rebuild.Plan(), at: start, durations: [:], progress: { _, _ in true },
        each: { _ in })
    } catch .foreign {
      // Rows that cannot be read cannot be compared.
    }
  }

  static func notification(_ number: Int) -> JSONValue {
    let signed = start + Int64(number) * 60_000
    let shared: [(String, JSONValue)] = [
      ("originalTransactionId", .string("70\(number % 20)")),
      ("environment", .string("Production")),
      ("productId", .string("pro.monthly")), ("signedDate", .integer(signed)),
    ]
    let transaction: [(String, JSONValue)] =
      shared + [
        ("transactionId", .string("9\(number)")), ("bundleId", .string(TestLedger.bundleId)),
        ("purchaseDate", .integer(signed)), ("expiresDate", .integer(signed + 2_592_000_000)),
        ("type", .string("Auto-Renewable Subscription")), ("currency", .string("USD")),
      ]
    let data: [(String, JSONValue)] = [
      ("bundleId", .string(TestLedger.bundleId)), ("environment", .string("Production")),
      ("appAppleId", .integer(TestLedger.appAppleId)), ("status", .integer(1)),
      ("transaction", .object(transaction)), ("renewalInfo", .object(shared)),
    ]
    let digits = String(100_000_000_000 + number)
    return .object([
      ("notificationType", .string("DID_RENEW")),
      ("notificationUUID", .string("5e5e0000-0000-4000-8000-\(digits)")),
      ("version", .string("2.0")), ("signedDate", .integer(signed)), ("data", .object(data)),
    ])
  }
}
