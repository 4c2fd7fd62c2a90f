import AppStore
import StrictJSON
import Testing

/// Which stream a V1 body is about: bodies from 2019 to 2021 need not name one at the top, and list
/// all purchases of the customer.
@Suite struct V1StreamTests {
  private static func entry(
    _ id: String, bought: Int64, _ more: Members = [:]
  ) -> JSONValue {
    var members: Members = [
      "transaction_id": .string(id), "original_transaction_id": .string(id),
      "product_id": .string("pro \(id)"), "purchase_date_ms": .string("\(bought)"),
      "web_order_line_item_id": .string("9\(id)"),
    ]
    members.merge(more) { $1 }
    return members.value
  }

  private static func pending(_ id: String, _ product: String) -> JSONValue {
    .object([
      ("original_transaction_id", .string(id)), ("auto_renew_product_id", .string(product)),
      ("product_id", .string(product)), ("auto_renew_status", .string("1")),
    ])
  }

  /// Lists 3, bought last, then 1, which was cancelled, and 2, the oldest.
  private static let entries = [
    entry("3", bought: 3_000), entry("1", bought: 2_000, ["cancellation_date_ms": .string("2500")]),
    entry("2", bought: 1_000),
  ]

  private static func body(_ top: Members, _ pending: [JSONValue] = []) throws -> JSONElement {
    var members: Members = [
      "notification_type": .string("CANCEL"), "environment": .string("PROD"),
      "unified_receipt": .object([
        ("latest_receipt_info", .array(entries)), ("pending_renewal_info", .array(pending)),
      ]),
    ]
    members.merge(top) { $1 }
    return try members.parsed()
  }

  /// What is at the top, the last of them the weakest.
  private static let signs: [(name: String, top: Members, stream: String)] = [
    ("its id", ["original_transaction_id": .string("4")], "4"),
    ("an object", ["latest_receipt_info": entry("1", bought: 2_000)], "1"),
    ("another object", ["latest_expired_receipt_info": entry("2", bought: 1_000)], "2"),
    ("an item", ["web_order_line_item_id": .string("91")], "1"),
    ("a product", ["auto_renew_product_id": .string("two")], "2"),
    ("a cancellation", ["cancellation_date_ms": .string("2500")], "1"),
    ("nothing", [:], "3"),
  ]

  @Test func `a stream has the transactions of its own spelling alone`() throws {
    let ids = ["caf\u{E9}", "cafe\u{301}"]
    let entries = ids.map { Self.entry($0, bought: 1_000) }
    let top: Members = [
      "original_transaction_id": .string(ids[1]),
      "unified_receipt": .object([("latest_receipt_info", .array(entries))]),
    ]
    let own = try V1Notification(try Self.body(top)).transactions
    #expect(own.map { Array(($0.originalTransactionId ?? "").utf8) } == [Array(ids[1].utf8)])
  }

  @Test func `each sign names the stream where no stronger one does`() throws {
    let pending = [Self.pending("3", "three"), Self.pending("2", "two")]
    for (index, sign) in Self.signs.enumerated() {
      // The weaker ones beside it do not matter.
      let top = Self.signs[index...].reversed().reduce(into: Members()) { all, sign in
        all.merge(sign.top) { $1 }
      }
      for members in [sign.top, top] {
        let notification = try V1Notification(try Self.body(members, pending))
        #expect(notification.originalTransactionId == sign.stream, "\(sign.name)")
        #expect(notification.formerOriginalTransactionId == (index == 0 ? "4" : "3"))
        let own = notification.transactions.map(\.transactionId)
        #expect(own == (index == 0 ? [] : [sign.stream]), "\(sign.name)")
      }
    }
  }

  @Test func `signs that name nothing are passed over`() throws {
    for top in [
      ["original_transaction_id": .string(""), "latest_receipt_info": .object([])],
      ["latest_receipt_info": .string("eA=="), "web_order_line_item_id": .string("8")],
      ["web_order_line_item_id": .string("0"), "auto_renew_product_id": .string("none")],
      ["cancellation_date_ms": .string("1"), "auto_renew_product_id": .integer(1)],
    ] as [Members] {
      #expect(try V1Notification(try Self.body(top)).originalTransactionId == "3")
    }
  }

  @Test func `the object at the top may be a text`() throws {
    let json = Self.entry("1", bought: 2_000).text
    let list = "{\n\t\"product-id\" = \"pro\";\n\t\"original-transaction-id\" = \"1\";\n}"
    for text in [json, list, "{original_transaction_id=1;}"] {
      let body = try Self.body(["latest_expired_receipt_info": .string(text)])
      #expect(try V1Notification(body).originalTransactionId == "1", "\(text)")
    }
    for text in ["", "[]", "1", "original-transaction-id = \"x\";", "original_transaction_id = ;"] {
      let body = try Self.body(["latest_receipt_info": .string(text)])
      #expect(try V1Notification(body).originalTransactionId == "3", "\(text)")
    }
  }

  @Test func `of several streams that renew as the product, that of the newest one is meant`()
    throws
  {
    let pending = [Self.pending("2", "same"), Self.pending("1", "same"), Self.pending("9", "same")]
    let top: Members = ["auto_renew_product_id": .string("same")]
    #expect(try V1Notification(try Self.body(top, pending)).originalTransactionId == "1")
    let unlisted = [Self.pending("9", "same"), Self.pending("8", "same")]
    #expect(try V1Notification(try Self.body(top, unlisted)).originalTransactionId == "9")
  }

  @Test func `a body that was filed elsewhere is read as of that stream`() throws {
    let top: Members = [
      "latest_expired_receipt_info": Self.entry("1", bought: 2_000),
      "auto_renew_status_change_date_ms": .string("1500"),
    ]
    let body = try Self.body(top)
    for (stream, date) in [("1", 2_500), ("2", 1_500), ("3", 3_000)] as [(String, Int64)] {
      let notification = try V1Notification(body, of: stream)
      #expect(notification.originalTransactionId == stream)
      #expect(notification.transactions.map(\.transactionId) == [stream])
      #expect(notification.evidenceDate == date && notification.renewalChangeDate == 1_500)
    }
    #expect(try V1Notification(body, of: nil).transactions.isEmpty)
  }
}
