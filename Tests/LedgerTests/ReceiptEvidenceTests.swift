import AppStore
import AppStoreSimulator
import Audit
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// Receipts beside notifications of both versions and signed transactions.
@Suite struct ReceiptEvidenceTests {
  private static let secret = "a-secret-of-these-tests"

  /// What Apple said, and the day of it since 2026-01-01.
  enum Fact: Sendable {
    /// A receipt with these months, each as days from its purchase to its end, and the day on which
    /// the last one was cancelled.
    case receipt([Range<Int>], cancelledOn: Int? = nil, on: Int)
    case v1([Range<Int>], on: Int)
    case v2(EvidenceFact)

    func tell(_ ledger: TestLedger) throws {
      switch self {
      case .receipt(let months, let cancelled, let day):
        try ledger.ingest(
          receipt: SharedAuthority.receipt(Self.content(months, cancelled, day)), at: Self.time(day)
        )
      case .v1(let months, let day): try ledger.ingest(Self.body(months, day), at: Self.time(day))
      case .v2(let fact): try fact.tell(ledger)
      }
    }

    static func time(_ day: Int) -> Int64 { Sample.start + Int64(day) * Sample.day }

    static func content(_ months: [Range<Int>], _ cancelled: Int?, _ day: Int) -> ReceiptContent {
      var records = months.enumerated().map { index, days in
        ReceiptContent.Record(
          transactionId: EvidenceFact.original + ["A", "B", "C"][index],
          originalTransactionId: EvidenceFact.original,
          productId: "basic", purchaseDate: time(days.lowerBound),
          expiresDate: time(days.upperBound))
      }
      if let cancelled { records[records.count - 1].cancellationDate = time(cancelled) }
      return ReceiptContent(creationDate: time(day), records: records)
    }

    private static func body(_ months: [Range<Int>], _ day: Int) -> [UInt8] {
      let entries = months.enumerated().map { index, days in
        JSONValue.object([
          ("transaction_id", .string(EvidenceFact.original + ["A", "B", "C"][index])),
          ("original_transaction_id", .string(EvidenceFact.original)),
          ("product_id", .string("basic")),
          ("purchase_date_ms", .string("\(time(days.lowerBound))")),
          ("expires_date_ms", .string("\(time(days.upperBound))")),
        ])
      }
      return JSONValue.object([
        ("notification_type", .string("DID_RENEW")), ("password", .string(secret)),
        ("environment", .string("PROD")), ("bid", .string(TestLedger.bundleId)),
        (
          "unified_receipt",
          .object([
            ("environment", .string("Production")), ("latest_receipt_info", .array(entries)),
          ])
        ),
      ]).bytes
    }
  }

  private static func text(_ row: RowDocument?) -> String {
    guard let row, let end = row.entitlement.expiresAt else { return "no row" }
    let day = (end - Sample.start) / Sample.day
    return "\(row.entitlement.status.rawValue) \(row.entitlement.productId ?? "-") \(day)"
  }

  /// The row that every order of the facts gives, which the journal alone gives too.
  private func expect(
    _ facts: [Fact], _ row: String, on day: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for order in permutations(of: facts.count) {
      let ledger = try TestLedger(secrets: [Self.secret])
      for index in order { try facts[index].tell(ledger) }
      let told = Self.text(try ledger.row(EvidenceFact.original, now: Fact.time(day)))
      #expect(told == row, "in the order \(order)", sourceLocation: sourceLocation)
      #expect(try ledger.verify().findings.map(\.what) == [], sourceLocation: sourceLocation)
    }
  }

  @Test func `a newer receipt tells renewals, an older one takes none away`() throws {
    try expect(
      [
        .receipt([0..<30], on: 1), .receipt([0..<30, 30..<60], on: 31),
        .receipt([0..<30, 30..<60, 60..<90], on: 61),
      ], "active basic 90", on: 61)
  }

  @Test func `what Apple signed outweighs a receipt, but for an end in a newer one`() throws {
    try expect(
      [
        .v2(.notification("SUBSCRIBED", on: 0)), .receipt([0..<45], on: 9),
        .v2(.transaction(on: 10)),
      ], "active basic 30", on: 21)
    try expect(
      [
        .v2(.notification("SUBSCRIBED", on: 0)), .receipt([0..<45], on: 20),
        .v2(.transaction(on: 10)),
      ], "active basic 45", on: 21)
  }

  @Test func `a receipt adds the periods that no notification told`() throws {
    try expect(
      [.v2(.notification("SUBSCRIBED", on: 0)), .receipt([0..<30, 30..<60], on: 31)],
      "active basic 60", on: 31)
  }

  @Test func `of receipts and version 1 the newest says when a period ends`() throws {
    try expect(
      [
        .receipt([0..<30], on: 1), .v1([0..<30, 30..<60], on: 30),
        .receipt([0..<30, 30..<75], on: 40),
      ],
      "active basic 75", on: 41)
    try expect(
      [.receipt([0..<33], on: 1), .v1([5..<40], on: 30), .receipt([0..<30], on: 3)],
      "active basic 40", on: 31)
  }

  @Test func `the newest receipt says whether a purchase is cancelled`() throws {
    try expect(
      [.receipt([0..<30], on: 1), .receipt([0..<30], cancelledOn: 8, on: 9)],
      "revoked basic 30", on: 21)
    try expect(
      [
        .receipt([0..<30], on: 1), .receipt([0..<30], cancelledOn: 8, on: 9),
        .receipt([0..<30], on: 20),
      ], "active basic 30", on: 21)
  }

  @Test func `two spellings of an id in a receipt are two customers`() throws {
    let ledger = try TestLedger()
    let ids = ["caf\u{E9}", "cafe\u{301}"]
    let content = ReceiptContent(
      creationDate: Fact.time(3),
      records: [Sample.record(1, of: ids[0]), Sample.record(1, of: ids[1])])
    let der = try SharedAuthority.receipt(content)
    #expect(ledger.ingest(receipt: der, at: Fact.time(3)) == .accepted(1))
    #expect(try ledger.events().count == 2)
    for id in ids { #expect(try ledger.row(id, now: Fact.time(4))?.eventCount == 1) }
    #expect(try ledger.verify().findings.isEmpty)
  }

  @Test func `a held receipt is journaled when an older one contradicts it`() throws {
    let ledger = try TestLedger()
    let facts: [Fact] = [
      .receipt([0..<30], on: 1), .receipt([0..<30], on: 10), .receipt([0..<45], on: 5),
    ]
    for fact in facts { try fact.tell(ledger) }
    #expect(try ledger.events().count == 3)
    #expect(
      Self.text(try ledger.row(EvidenceFact.original, now: Fact.time(11))) == "active basic 30")
    #expect(
      Self.text(try ledger.row(EvidenceFact.original, asOf: Fact.time(6))) == "active basic 45")
    #expect(try ledger.verify().findings.isEmpty)
  }

  /// A version 1 body that carries a receipt.
  private static func body(_ receipt: [UInt8], product: String = "basic") -> [UInt8] {
    let entry = JSONValue.object([
      ("transaction_id", .string(EvidenceFact.original + "A")),
      ("original_transaction_id", .string(EvidenceFact.original)),
      ("product_id", .string(product)), ("purchase_date_ms", .string("\(Fact.time(0))")),
      ("expires_date_ms", .string("\(Fact.time(30))")),
    ])
    let text = String(decoding: Base64.encode(receipt), as: UTF8.self)
    return JSONValue.object([
      ("notification_type", .string("DID_RENEW")), ("password", .string(secret)),
      ("environment", .string("PROD")), ("bid", .string(TestLedger.bundleId)),
      (
        "unified_receipt",
        .object([
          ("environment", .string("Production")), ("latest_receipt", .string(text)),
          ("latest_receipt_info", .array([entry])),
        ])
      ),
    ]).bytes
  }

  private func told(
    _ body: [UInt8]
  ) throws -> (findings: [String], receipt: V1Receipt?) {
    let ledger = try TestLedger(secrets: [Self.secret])
    #expect(try ledger.ingest(body, at: Fact.time(2)) == .accepted(1))
    let reader = try ledger.reader()
    reader.receipts = try ReceiptProof(ledger.configuration.trustRoots)
    return (
      try ledger.verify().findings.map(\.what),
      try ledger.history(EvidenceFact.original)?.entries.first?.receipt
    )
  }

  @Test func `the receipt in a version 1 notification proves its transactions`() throws {
    let receipt = try SharedAuthority.receipt(Fact.content([0..<30], nil, 1))
    let same = try told(Self.body(receipt))
    #expect(same.findings == [])
    #expect(same.receipt?.reason == nil)
    #expect(same.receipt?.transactions.map(\.word) == [.proven])
    let other = try told(Self.body(receipt, product: "pro"))
    #expect(other.findings == ["1 of its transactions differ from the receipt in it"])
    #expect(other.receipt?.transactions.map(\.word) == [.differs])
    let empty = try told(Self.body(try SharedAuthority.receipt(Fact.content([], nil, 1))))
    #expect(empty.findings == [])
    #expect(empty.receipt?.transactions.map(\.word) == [.absent])
  }

  @Test func `a receipt of another root in a version 1 notification is a finding`() throws {
    let foreign = try SimulatedAuthority.make().makeReceiptSigner()
      .sign(Fact.content([0..<30], nil, 1).encoded)
    #expect(
      try told(Self.body(foreign)).findings == ["the receipt in it is not proven: chain_path"])
    // Receipts of before iOS 7, and what tests write in their place, are no PKCS#7.
    #expect(try told(Self.body([1, 2, 3])).receipt == nil)
  }

  @Test func `a version 1 notification with a receipt of another app is quarantined`() throws {
    var (app, environment) = (Fact.content([0..<30], nil, 1), Fact.content([0..<30], nil, 1))
    app.bundleId = "com.example.other"
    environment.receiptType = "ProductionSandbox"
    let ledger = try TestLedger(secrets: [Self.secret])
    for content in [app, environment] {
      let receipt = try SharedAuthority.receipt(content)
      let body = Self.body(receipt, product: content.bundleId + content.receiptType)
      let words = TestLedger.Answer.quarantined("receipt_of_another_app")
      #expect(try ledger.ingest(body, at: Fact.time(2)) == words)
      // The secret says for which app a body is that names none.
      let bid = "\"bid\":\"\(TestLedger.bundleId)\","
      let unnamed = String(decoding: body, as: UTF8.self).replacing(bid, with: "")
      #expect(try ledger.ingest(unnamed, at: Fact.time(2)) == words)
    }
    #expect(try ledger.events().isEmpty)
    let kept = try ledger.quarantine()
    #expect(kept.map(\.reason) == Array(repeating: "receipt_of_another_app", count: 4))
    // The configuration cannot make it one of this app.
    #expect(ledger.admit(kept[0].id, at: Fact.time(3)) == .quarantined("receipt_of_another_app"))
    #expect(try ledger.verify().findings.isEmpty)
    // What a former build journaled is a finding.
    let former = try Self.body(SharedAuthority.receipt(app))
    let stream = try V1Notification(JSONDocument(parsing: former).root).originalTransactionId
    let receipt = V1Receipt(
      in: former, of: stream, try ReceiptProof(ledger.configuration.trustRoots), at: 0)
    #expect(
      receipt?.findings == ["the receipt in it is not proven: receipt_of_another_app"])
  }

  @Test func `doctor names a product of a kind that is none of Apple's`() throws {
    var record = ReceiptContent.Record(
      transactionId: "1", originalTransactionId: "1", productId: "news", purchaseDate: 0)
    (record.kind, record.quantity) = (4, 0)
    let ledger = try TestLedger()
    let receipt = ReceiptContent(creationDate: Fact.time(1), records: [record])
    #expect(try ledger.ingest(receipt: SharedAuthority.receipt(receipt), at: 1) == .accepted(1))
    let found = Doctor.examine(ledger.configuration, file: nil, at: Fact.time(2)).map(\.what)
    #expect(found.contains { $0.hasSuffix("where they have no end: news (Free Subscription)") })
  }

  /// The simulator's root in place of Apple's.
  private static let dates = ReceiptDates(
    TrustRoots(pinned: [], receiptPins: [SHA256.hash(SharedAuthority.root)]))

  @Test func `the creation date of a proven receipt is a key of the fold`() throws {
    let created = Fact.content([0..<30], nil, 1).creationDate
    let receipt = try SharedAuthority.receipt(Fact.content([0..<30], nil, 1))
    let ledger = try TestLedger(secrets: [Self.secret])
    #expect(try ledger.ingest(Self.body(receipt), at: Fact.time(2)) == .accepted(1))
    #expect(ledger.ingest(receipt: receipt, at: Fact.time(2)) == .accepted(2))
    let events = try ledger.events().map { JournaledPayload($0) }
    let proven = try events.map { try JournaledNotification.foldEvent($0, Self.dates) }
    #expect(proven.map(\.receiptDate) == [created, created])
    // A configured root proves no date of a V1 body: another daemon need not have it.
    let folded = try events.map { try JournaledNotification.foldEvent($0) }
    #expect(folded.map(\.receiptDate) == [0, created])
    var changed = receipt
    changed[receipt.count - 1] ^= 1
    let foreign = try SimulatedAuthority.make().makeReceiptSigner()
      .sign(Fact.content([0..<30], nil, 1).encoded)
    for (der, date) in [(receipt, created), (changed, 0), (foreign, 0), ([], 0), ([1, 2], 0)] {
      let root = try JSONDocument(parsing: Self.body(der)).root
      #expect(Self.dates.date(in: root) == date)
    }
    let text = String(decoding: Base64.encode(receipt), as: UTF8.self)
    let top = JSONValue.object([
      ("latest_receipt", .string(text)),
      ("unified_receipt", .object([("latest_receipt", .string(""))])),
    ])
    #expect(Self.dates.date(in: try JSONDocument(parsing: top.bytes).root) == created)
  }

  @Test func `other wrappings of one receipt are not held`() throws {
    let ledger = try TestLedger()
    let content = Fact.content([0..<30], nil, 1)
    #expect(try ledger.ingest(receipt: SharedAuthority.receipt(content), at: 1) == .accepted(1))
    for digest in [SigningKey.Digest.sha1, .sha256] {
      let der = try SharedAuthority.receipt(content, digest: digest, attributed: true)
      ledger.ingest(receipt: der, at: 1)
    }
    #expect(try ledger.events().count == 1)
    #expect(try JournalReader.open(ledger.folder).heldEvidenceCount() == 0)
  }
}
