import AppStore
import AppStoreSimulator
import Entitlements
import Platform
import Store
import StrictJSON
import Support
import Testing

@testable import Ledger
@testable import Queries

/// Readers keep rows that no commit has written since. They must answer like one that has just been
/// opened and keeps none, whatever is written, switched and asked in between (promise 1).
@Suite struct KeptRowsTests {
  private static let start = DamagedRowTests.start
  private static let month: Int64 = 2_592_000_000

  /// A life of a few streams in two environments, with tokens that move between them.
  private struct Life {
    let testLedger: TestLedger
    var generator: SeededGenerator
    private var count: Int64 = 0

    init(seed: UInt64) throws {
      testLedger = try TestLedger()
      generator = SeededGenerator(seed: seed)
    }

    mutating func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    func token(_ number: Int) -> String { "AAAAAAAA-0000-4000-8000-00000000000\(number)" }

    mutating func send() throws {
      count += 1
      let signed = KeptRowsTests.start + Int64(pick(0..<90)) * 86_400_000
      let environment = pick(0..<4) == 0 ? "Sandbox" : "Production"
      let shared: [(String, JSONValue)] = [
        ("originalTransactionId", .string("70\(pick(0..<6))")),
        ("environment", .string(environment)), ("productId", .string("pro.monthly")),
        ("signedDate", .integer(signed)), ("appTransactionId", .string("80\(pick(0..<3))")),
        ("appAccountToken", .string(token(pick(0..<3)))),
      ]
      let transaction: [(String, JSONValue)] =
        shared + [
          ("transactionId", .string("9\(count)")), ("bundleId", .string(TestLedger.bundleId)),
          ("purchaseDate", .integer(signed)),
          ("expiresDate", .integer(signed + KeptRowsTests.month)),
          ("type", .string("Auto-Renewable Subscription")),
        ]
      if pick(0..<2) == 0 { return try submit(transaction, environment, at: signed) }
      let data: [(String, JSONValue)] = [
        ("bundleId", .string(TestLedger.bundleId)), ("environment", .string(environment)),
        ("appAppleId", .integer(TestLedger.appAppleId)), ("status", .integer(1)),
        ("transaction", .object(transaction)), ("renewalInfo", .object(shared)),
      ]
      let body = JSONValue.object([
        ("notificationType", .string("DID_RENEW")),
        ("notificationUUID", .string("5e5e0000-0000-4000-8000-\(100_000_000_000 + count)")),
        ("version", .string("2.0")), ("signedDate", .integer(signed)), ("data", .object(data)),
      ])
      let answer = try testLedger.ingest(try SharedAuthority.sign(body), at: signed)
      guard case .accepted = answer else { throw LedgerError.sql("not accepted: \(answer)") }
    }

    /// Hands a transaction over as an app does.
    private func submit(
      _ transaction: [(String, JSONValue)], _ environment: String, at now: Int64
    ) throws {
      let jws = try SharedAuthority.sign(payload: .object(transaction))
      let line = JSONValue.object([
        ("signedTransaction", .string(String(decoding: jws, as: UTF8.self))),
        ("environment", .string(environment)),
      ])
      let answers = testLedger.ingest(lines: [line.bytes], at: now)
      guard case .accepted = answers.first else {
        throw LedgerError.sql("not accepted: \(answers)")
      }
    }

    /// Folds one customer again.
    mutating func refold() {
      let done = BoundedQueue<ProjectionOrder.Outcome>(capacity: 1)
      testLedger.ledger.perform(.refold(only: "70\(pick(0..<6))")) { _ = done.enqueue($0) }
      _ = done.dequeue()
    }

    /// Builds the rows again and makes them live.
    func rebuild() throws {
      _ = try Rebuild.build(testLedger.folder) { _, _ in true }
      let done = BoundedQueue<ProjectionOrder.Outcome>(capacity: 1)
      testLedger.ledger.perform(.adoptCurrent) { _ = done.enqueue($0) }
      guard case .done = done.dequeue() else { throw LedgerError.sql("the rows were not adopted") }
    }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `readers that keep rows answer as one that keeps none`(seed: UInt64) throws {
    var life = try Life(seed: seed)
    let readers = try (0..<2).map { _ in
      try LedgerReader(life.testLedger.ledger, reusesSnapshot: true)
    }
    for _ in 0..<150 {
      switch life.pick(0..<40) {
      case 0: try life.rebuild()
      case 39: life.refold()
      case 1..<14: try life.send()
      default: break
      }
      let kept = readers[life.pick(0..<2)]
      let new = try LedgerReader(life.testLedger.folder, durations: [:])
      // A row that was kept as it was written answers later questions alone.
      let begin = life.pick(0..<2) == 0 ? Self.start : Clock.now()
      let now = begin + Int64(life.pick(0..<5)) * Self.month
      for environment in [Environment.production, .sandbox] {
        let id = "70\(life.pick(0..<6))"
        let bundleId = life.pick(0..<2) == 0 ? nil : TestLedger.bundleId
        #expect(
          try Self.row(kept, id, environment, bundleId, now)
            == Self.row(new, id, environment, bundleId, now), "seed \(seed)")
        for (kind, id) in [
          (.appAccountToken, life.token(life.pick(0..<3))),
          (.appTransactionId, "80\(life.pick(0..<3))"), (.originalTransactionId, id),
        ] as [(LedgerReader.CustomerQuestion.IdKind, String)] {
          #expect(
            try Self.customer(kept, id, kind, environment, now)
              == Self.customer(new, id, kind, environment, now), "seed \(seed)")
        }
      }
    }
    #expect(life.testLedger.ledger.liveProjection.damages == 0)
  }

  /// Far more than are kept.
  @Test func `rows are only found by the query that they were kept for`() {
    let (kept, changes) = (KeptRows(), RowChanges())
    func query(_ number: Int) -> KeptRows.Query {
      KeptRows.Query(.appTransactionId, "\(number / 2)", .production, number % 2 == 0 ? nil : "a")
    }
    func rows(_ number: Int) -> [ProjectedRow] {
      let key = StreamKey(
        environment: .production, bundleId: "a", originalTransactionId: "\(number)")
      return [ProjectedRow(key: key, row: EntitlementRow())]
    }
    func found(_ number: Int, since time: Int64 = 5, generation: Int = 1) -> [ProjectedRow]? {
      kept.rows(query(number), since: time, generation: generation, changes)
    }
    let (count, version) = (120_000, KeptRows.Version(generation: 1, commit: 3))
    for number in 0..<count { kept.keep(rows(number), query(number), since: 5, version) }
    var keptCount = 0
    for number in 0..<count {
      guard let rows = found(number) else { continue }
      keptCount += 1
      #expect(rows.first?.key.originalTransactionId == "\(number)")
      #expect(found(number, since: 4) == nil)
      #expect(found(number, generation: 2) == nil)
    }
    #expect((8_000...16_384).contains(keptCount))
    for number in 0..<count / 2 { changes.record(["\(number)"], at: 4) }
    #expect((0..<count).allSatisfy { found($0) == nil })
    var long = EntitlementRow()
    long.spans = (0..<8).map {
      EntitlementRow.Span(
        from: $0, status: .active, givesAccess: true, purchase: nil, productId: nil,
        expiresAt: nil, hasGap: false)
    }
    let later = KeptRows.Version(generation: 1, commit: 4)
    kept.keep([ProjectedRow(key: rows(0)[0].key, row: long)], query(0), since: 5, later)
    #expect(found(0) == nil)
    kept.keep(rows(0), query(0), since: 5, later)
    #expect(found(0) != nil)
  }

  private static func row(
    _ reader: LedgerReader, _ id: String, _ environment: Environment, _ bundleId: String?,
    _ now: Int64
  ) throws -> String? {
    try reader.entitlement(
      id, environment: environment, bundleId: bundleId, LedgerReader.Question(now: now))?.json.text
  }

  private static func customer(
    _ reader: LedgerReader, _ id: String, _ kind: LedgerReader.CustomerQuestion.IdKind,
    _ environment: Environment, _ now: Int64
  ) throws -> String {
    var catalog = EntitlementCatalog()
    catalog.add("pro", NamedEntitlement(products: ["pro.*"], accessLeeway: 3_600_000), for: nil)
    return try reader.customer(
      LedgerReader.CustomerQuestion(
        id, kind, environment, bundleId: nil, catalog, apps: []),
      LedgerReader.Question(now: now)
    ).json.text
  }
}
