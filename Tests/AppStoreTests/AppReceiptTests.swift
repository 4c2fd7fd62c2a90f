import AppStore
import AppStoreSimulator
import Testing

@Suite struct AppReceiptTests {
  private static let createdAt: Int64 = 1_767_225_600_000
  private static let month: Int64 = 2_592_000_000

  private static func record(_ id: String, of original: String = "1000") -> ReceiptContent.Record {
    ReceiptContent.Record(
      transactionId: id, originalTransactionId: original, productId: "pro.monthly",
      purchaseDate: createdAt - month, expiresDate: createdAt)
  }

  private static func fault(_ content: [UInt8]) -> PayloadFault? {
    do throws(PayloadFault) {
      _ = try AppReceipt(content[...])
      return nil
    } catch {
      return error
    }
  }

  /// A content with these attributes in place of the usual ones.
  private static func set(_ attributes: [(Int64, [UInt8])]) -> [UInt8] {
    DERWriter.set(attributes.flatMap { attribute($0, $1) })
  }

  private static func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
    DERWriter.sequence(
      DERWriter.integer([UInt8(type >> 8 & 0xFF), UInt8(type & 0xFF)]), DERWriter.integer([1]),
      DERWriter.octets(value))
  }

  private static let usual: [(Int64, [UInt8])] = [
    (0, DERWriter.text("Production")), (2, DERWriter.text("com.example.app")),
    (12, DERWriter.ia5("2026-01-01T00:00:00Z")),
  ]

  @Test func `all documented attributes are read, and others are kept`() throws {
    var record = Self.record("1001")
    record.cancellationDate = Self.createdAt + 1000
    record.webOrderLineItemId = 9_000_000_001
    record.isInIntroOffer = true
    (record.kind, record.isTrial, record.promotionalOfferId) = (3, true, "spring")
    var content = ReceiptContent(
      receiptType: "ProductionSandbox", creationDate: Self.createdAt, records: [record])
    content.others = [(21, DERWriter.ia5("2027-01-01T00:00:00Z")), (9999, [1, 2, 3])]
    let receipt = try AppReceipt(content.encoded[...])
    #expect(receipt.receiptType == "ProductionSandbox")
    #expect(receipt.environment == .sandbox)
    #expect(receipt.bundleId == "com.example.app")
    #expect(receipt.applicationVersion == "42")
    #expect(receipt.originalApplicationVersion == "1.0")
    #expect(receipt.creationDate == Self.createdAt)
    #expect(receipt.expirationDate == 1_798_761_600_000)
    #expect(receipt.otherAttributes.map(\.type) == [4, 5, 9999])
    #expect(receipt.otherAttributes.last.map { Array($0.value) } == [1, 2, 3])
    let read = try #require(receipt.records.first)
    let values = ReceiptField.all.map { field in
      read.value(of: field).map { "\(field.name) \($0)" } ?? "no \(field.name)"
    }
    #expect(
      values == [
        "quantity number(1)", "product_id text(\"pro.monthly\")", "transaction_id text(\"1001\")",
        "original_transaction_id text(\"1000\")",
        "purchase_date_ms number(\(Self.createdAt - Self.month))",
        "original_purchase_date_ms number(\(Self.createdAt - Self.month))",
        "expires_date_ms number(\(Self.createdAt))",
        "cancellation_date_ms number(\(Self.createdAt + 1000))",
        "web_order_line_item_id number(9000000001)", "product_kind number(3)",
        "is_trial_period flag(true)", "is_in_intro_offer_period flag(true)",
        "promotional_offer_id text(\"spring\")",
      ])
    #expect(read.otherAttributes.isEmpty)
  }

  /// The transaction that a record becomes.
  private static func transaction(
    _ change: (inout ReceiptContent.Record) -> Void
  ) throws -> Transaction {
    var changed = record("1")
    change(&changed)
    let receipt = try AppReceipt(
      ReceiptContent(creationDate: createdAt, records: [changed]).encoded[...])
    return try #require(receipt.transactions(of: "1000").first)
  }

  @Test(
    arguments: [
      (0, "Non-Consumable"), (1, "Consumable"), (2, "Non-Renewing Subscription"),
      (3, "Auto-Renewable Subscription"), (4, "Free Subscription"), (7, "Product Kind 7"),
      (nil, nil),
    ] as [(Int64?, String?)])
  func `a record says the kind of its product`(_ kind: Int64?, _ type: String?) throws {
    let read = try Self.transaction {
      $0.kind = kind
      $0.expiresDate = nil
    }
    #expect(read.type == type)
  }

  @Test func `a kind that is not known is that of a subscription where there is an end`() throws {
    for kind in [nil, 7, -1] as [Int64?] {
      #expect(try Self.transaction { $0.kind = kind }.type == ProductType.autoRenewable)
    }
    #expect(try Self.transaction { $0.kind = 2 }.type == ProductType.nonRenewing)
    #expect(try Self.transaction { $0.kind = 4 }.type == "Free Subscription")
  }

  @Test func `of a record's offers a promotion counts first, then a trial`() throws {
    func offer(_ promotion: String?, _ isTrial: Bool, _ isInIntroOffer: Bool?) throws -> [String?] {
      let read = try Self.transaction {
        ($0.promotionalOfferId, $0.isTrial) = (promotion, isTrial)
        $0.isInIntroOffer = isInIntroOffer
      }
      return [read.offerType.map { String($0) }, read.offerDiscountType, read.offerIdentifier]
    }
    #expect(try offer("spring", false, true) == ["2", nil, "spring"])
    #expect(try offer("spring", true, true) == ["2", "FREE_TRIAL", "spring"])
    #expect(try offer(nil, true, true) == ["1", "FREE_TRIAL", nil])
    #expect(try offer(nil, true, nil) == ["1", "FREE_TRIAL", nil])
    #expect(try offer(nil, false, true) == ["1", nil, nil])
    #expect(try offer(nil, false, false) == [nil, nil, nil])
    #expect(try offer("", false, nil) == [nil, nil, nil])
  }

  @Test func `an attribute that no document names may have any form`() throws {
    let record = DERWriter.set(
      [
        (1703, DERWriter.text("1")), (1705, DERWriter.text("1")),
        (1704, DERWriter.ia5("2026-01-01T00:00:00Z")), (1707, DERWriter.text("three")),
        (1713, [9]), (1721, DERWriter.integer([1])),
      ].flatMap { Self.attribute($0, $1) })
    let read = try AppReceipt(Self.set(Self.usual + [(17, record)])[...]).records[0]
    let found = ReceiptField.all.filter { read.value(of: $0) != nil }.map(\.name)
    #expect(found == ["transaction_id", "original_transaction_id", "purchase_date_ms"])
  }

  @Test func `records become transactions of their streams, as V1 lists them`() throws {
    var once = Self.record("3000", of: "3000")
    once.expiresDate = nil
    var cancelled = Self.record("1002")
    cancelled.cancellationDate = Self.createdAt
    let receipt = try AppReceipt(
      ReceiptContent(
        creationDate: Self.createdAt,
        records: [
          Self.record("1001"), once, Self.record("1002"), cancelled, Self.record("20", of: "20"),
        ]
      ).encoded[...])
    #expect(receipt.originalTransactionIds == ["1000", "20", "3000"])
    let transactions = receipt.transactions(of: "1000")
    #expect(transactions.map(\.transactionId) == ["1001", "1002"])
    #expect(transactions.map(\.revocationDate) == [nil, Self.createdAt])
    #expect(transactions.allSatisfy { $0.type == "Auto-Renewable Subscription" })
    #expect(transactions.allSatisfy { $0.signedDate == Self.createdAt })
    #expect(transactions.allSatisfy { $0.webOrderLineItemId == nil })
    #expect(receipt.transactions(of: "3000").map(\.type) == [nil])
    #expect(receipt.transactions(of: "1").isEmpty)
  }

  @Test(
    arguments: [
      ("Production", Environment.production), ("ProductionVPP", .production),
      ("ProductionSandbox", .sandbox), ("ProductionVPPSandbox", .sandbox), ("Sandbox", .sandbox),
      ("Xcode", nil), ("production", nil),
    ] as [(String, Environment?)])
  func `the type names the environment`(type: String, environment: Environment?) throws {
    let content = ReceiptContent(receiptType: type, creationDate: Self.createdAt).encoded
    #expect(try AppReceipt(content[...]).environment == environment)
  }

  @Test func `a missing attribute, one that is there twice, and other kinds are refused`() {
    #expect(Self.fault(Self.set(Self.usual)) == nil)
    for index in Self.usual.indices {
      var (missing, twice, other) = (Self.usual, Self.usual, Self.usual)
      missing.remove(at: index)
      twice.append(twice[index])
      other[index].1 = DERWriter.octets([1])
      for content in [missing, twice, other] {
        #expect(Self.fault(Self.set(content)) == PayloadFault("receipt_attributes"))
      }
    }
    let unsettled: [[UInt8]] = [
      [], [0x31], [0x30, 0x00], Self.set(Self.usual) + [0], [0x31, 0x80, 0, 0],
      DERWriter.set(DERWriter.octets([])),
      DERWriter.set(DERWriter.sequence(DERWriter.integer([1]))),
    ]
    for content in unsettled {
      #expect(Self.fault(content) == PayloadFault("receipt_attributes"))
    }
  }

  @Test func `a date that cannot be read is no missing end`() {
    for text in ["never", "1767225600000", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T0:0Z"]
    {
      let record = DERWriter.set(
        [
          (1703, DERWriter.text("1")), (1705, DERWriter.text("1")),
          (1704, DERWriter.ia5("2026-01-01T00:00:00Z")), (1708, DERWriter.ia5(text)),
        ].flatMap { Self.attribute($0, $1) })
      #expect(Self.fault(Self.set(Self.usual + [(17, record)])) == PayloadFault("date"))
    }
  }

  @Test func `identifiers with NUL and long ones are refused`() {
    func fault(_ id: String) -> PayloadFault? {
      Self.fault(
        ReceiptContent(creationDate: Self.createdAt, records: [Self.record(id)]).encoded)
    }
    #expect(fault("10\u{0}1") == .nul)
    #expect(fault(String(repeating: "1", count: 129)) == PayloadFault("receipt_attributes"))
    #expect(fault("") == PayloadFault("receipt_attributes"))
    #expect(fault(String(repeating: "1", count: 128)) == nil)
  }

  @Test func `5,000 records are read, and no more`() throws {
    func content(_ count: Int) -> [UInt8] {
      ReceiptContent(
        creationDate: Self.createdAt, records: (0..<count).map { Self.record("\($0)") }
      ).encoded
    }
    #expect(try AppReceipt(content(5_000)[...]).transactions(of: "1000").count == 5_000)
    #expect(AppReceipt.recordCount(content(5_001)[...]) == 5_001)
    #expect(Self.fault(content(5_001)) == PayloadFault("receipt_records"))
  }

  @Test func `the claimed date is read without the records`() {
    #expect(AppReceipt.claimedCreationDate(Self.set(Self.usual)[...]) == Self.createdAt)
    let odd = Self.set(Self.usual + [(17, [1])])
    #expect(AppReceipt.claimedCreationDate(odd[...]) == Self.createdAt)
    #expect(AppReceipt.claimedCreationDate([0x31, 0x00]) == nil)
  }
}
