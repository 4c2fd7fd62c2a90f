import AppStoreSimulator
import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// What is posted to the wrong path or in the wrong form: the answer says what was wanted, what
/// came, and where it belongs.
@Suite struct RefusalTests {
  /// What was posted, the status and code of its answer, and a part of its sentence.
  private typealias Row = (name: String, body: [UInt8], status: Int, code: String, part: String)

  private static let canary = "canary-5120-of-the-body"

  private static func json(_ members: (String, JSONValue)...) -> [UInt8] {
    JSONValue.object(members).bytes
  }

  /// A JWS that nobody of ours signed.
  private static func forged(_ payload: String, header: String = #"{"alg":"ES256"}"#) -> JSONValue {
    let parts = [header, payload, canary].map {
      String(decoding: Base64URL.encode(Array($0.utf8)), as: UTF8.self)
    }
    return .string(parts.joined(separator: "."))
  }

  private static let xcodeHeader = #"{"alg":"ES256","kid":"Apple_Xcode_Key","x5c":["MIIB"]}"#
  private static let transaction = #"{"transactionId":"1","environment":"Production"}"#
  private static let notification = #"{"notificationType":"TEST","data":{}}"#
  private static let appTransaction =
    #"{"receiptType":"Production","receiptCreationDate":1767225600000}"#
  private static let propertyList =
    "{\n\t\"signature\" = \"QQ==\";\n\t\"purchase-info\" = \"QQ==\";\n}"

  private static func text(_ bytes: [UInt8]) -> JSONValue {
    .string(String(decoding: Base64.encode(bytes), as: UTF8.self))
  }

  /// Posts every row to the path, and expects its answer.
  private func expect(
    _ rows: [Row], from path: String, _ served: SubmittingDaemon,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    for row in rows {
      let answer = try served.submit(row.body, to: path)
      let problem = answer.json
      let detail = problem?["detail"]?.string ?? ""
      #expect(answer.status == row.status, "\(row.name): \(answer.text)", sourceLocation: location)
      #expect(problem?["code"]?.string == row.code, "\(row.name): \(answer.text)")
      #expect(detail.contains(row.part), "\(row.name): \(detail)", sourceLocation: location)
      #expect(!answer.text.contains(Self.canary), "\(row.name)")
    }
  }

  @Test func `a notification in another form is told what it is`() throws {
    let served = try SubmittingDaemon("/v1/notifications")
    let jws = Self.forged(Self.notification)
    let genuine = try served.installation.signedText(Sample.transaction(1))
    let named = ("payload", JSONValue.string(Self.canary))
    let message = JSONValue.string(#"{"signedPayload":"\#(Self.canary)"}"#)
    let old = [("notification_type", JSONValue.string("CANCEL")), ("password", .string("x"))]
    try expect(
      [
        ("nothing", [], 400, "json", "an empty body"),
        ("no JSON", Array("{'a':1}".utf8), 400, "json", "not JSON, at byte 2"),
        ("twice a member", Array(#"{"a":1,"a":2}"#.utf8), 400, "json", "a member occurs twice"),
        (
          "a decoded payload", Array(Self.notification.utf8), 400, "envelope",
          "the decoded payload of a notification of version 2"
        ),
        (
          "a decoded payload as signedPayload",
          Array(#"{"signedPayload":\#(Self.notification)}"#.utf8), 400, "envelope",
          "the decoded payload"
        ),
        (
          "a transaction", Self.json(("signedTransaction", Self.forged(Self.transaction))), 400,
          "envelope", "Send it to POST /v1/transactions as signedTransaction."
        ),
        (
          "a forged transaction as signedPayload",
          Self.json(("signedPayload", Self.forged(Self.transaction))), 401, "x5c_missing",
          "a signed transaction of StoreKit 2. Send it to POST /v1/transactions"
        ),
        (
          "a genuine transaction as signedPayload", Self.json(("signedPayload", genuine)), 422,
          "notification_type",
          "it is stored in quarantine. What came looks like a signed transaction of StoreKit 2."
        ),
        (
          "a receipt", Self.json(("receipt", .string(Self.receipt))), 400, "envelope",
          "Send it to POST /v1/receipts"
        ),
        (
          "version 1 without a secret", JSONValue.object(old).bytes, 401, "v1_secret",
          "no app has a v1SharedSecretFile"
        ),
        (
          "SNS",
          Self.json(("Type", .string("Notification")), ("TopicArn", named.1), ("Message", message)),
          400, "envelope", "a message of Amazon SNS. Turn on raw message delivery"
        ),
        (
          "Pub/Sub",
          Self.json(("message", .object([("data", named.1)])), ("subscription", named.1)),
          400, "envelope", "Google Pub/Sub. Turn on payload unwrapping"
        ),
        (
          "EventBridge", Self.json(("detail-type", named.1), ("detail", .object([named]))), 400,
          "envelope", "input path $.detail"
        ),
        (
          "Lambda", Self.json(("requestContext", .object([])), ("body", message)), 400, "envelope",
          "the text of its member body"
        ),
        (
          "records", Self.json(("Records", .array([.object([("body", message)])]))), 400,
          "envelope",
          "a batch of records"
        ),
        (
          "HTML", Array("{&quot;signedPayload&quot;:&quot;\(Self.canary)&quot;}".utf8), 400, "json",
          "HTML escapes such as &quot;"
        ),
        (
          "another name", Self.json(named, ("environment", .string("x")), (Self.canary, .null)),
          400,
          "envelope",
          "environment, payload, 1 member of another name. signedPayload is the member that is missing."
        ),
        ("another spelling", Self.json(("SignedPayload", jws)), 400, "envelope", "signedPayload"),
        (
          "a JWS under another name", Self.json(("payload", jws)), 400, "envelope",
          "a notification of version 2 in a member of another name. Send it as signedPayload."
        ),
        (
          "a bare JWS", Array(jws.text.utf8.dropFirst().dropLast()), 400, "json",
          "without a JSON object around it"
        ),
        ("JSON in JSON", message.bytes, 400, "envelope", "encoded twice"),
        ("a list", JSONValue.array([message]).bytes, 400, "envelope", "Send each item"),
        ("a form", Array("signedPayload=\(Self.canary)".utf8), 400, "json", "a form, name=value"),
      ], from: "/v1/notifications", served)
  }

  private static let receipt = "MII" + String(repeating: "A", count: 97)

  @Test func `a receipt in another form is told what it is`() throws {
    let served = try SubmittingDaemon("/v1/receipts")
    let content = ReceiptContent(
      receiptType: "Production", bundleId: "com.example.app",
      creationDate: Sample.start + 3 * Sample.day, records: [Sample.record(1)])
    let der = try served.installation.receipt(content)
    let base64 = String(decoding: Base64.encode(der), as: UTF8.self)
    let urlSafe = base64.replacing("+", with: "-").replacing("/", with: "_")
    let unity = JSONValue.object([
      ("Store", .string("AppleAppStore")), ("Payload", .string(base64)),
    ])
    let bare = String(base64.prefix { $0 != "=" })
    func body(_ text: String) -> [UInt8] { Self.json(("receipt", .string(text))) }
    let ber: [UInt8] = [0x30, 0x80, 0x06, 0x09] + [UInt8](repeating: 0, count: 90)
    try expect(
      [
        (
          "a StoreKit 2 JWS", Self.json(("receipt", Self.forged(Self.transaction))), 400,
          "receipt_base64", "Send it to POST /v1/transactions as signedTransaction."
        ),
        ("URL-safe", body(urlSafe), 400, "receipt_base64", "in the URL-safe alphabet"),
        (
          "cut", body(String(base64.prefix(1001))), 400, "receipt_base64",
          "a receipt that was cut: its end is missing"
        ),
        (
          "cut between groups", body(String(base64.prefix(1000))), 400, "receipt_der",
          "a receipt that was cut: its end is missing"
        ),
        (
          "base64 twice", Self.json(("receipt", Self.text(Array(base64.utf8)))), 400, "receipt_der",
          "in base64 twice"
        ),
        ("Unity's JSON", unity.bytes, 400, "envelope", "Send the text of its member Payload"),
        ("Unity's JSON as text", body(unity.text), 400, "receipt_base64", "as Unity wraps it"),
        (
          "Unity's JSON in base64", Self.json(("receipt", Self.text(unity.bytes))), 400,
          "receipt_der", "as Unity wraps it"
        ),
        (
          "a property list", Self.json(("receipt", Self.text(Array(Self.propertyList.utf8)))), 400,
          "receipt_der", "from before iOS 7, a signed property list"
        ),
        ("BER", Self.json(("receipt", Self.text(ber))), 400, "receipt_der", "as Xcode writes it"),
        ("a text", body(Self.canary), 400, "receipt_base64", "a text that is not base64"),
        (
          "another name", Self.json(("receipt-data", .string(base64))), 400, "envelope",
          "a receipt in a member of another name. Send it as receipt."
        ),
        (
          "an unknown member",
          Self.json(("receipt", .string(base64)), (Self.canary, .null)), 400, "envelope",
          "The members are receipt, environment."
        ),
        ("bare base64", Array(base64.utf8), 400, "json", "without a JSON object around it"),
        (
          "a notification", Self.json(("signedPayload", Self.forged(Self.notification))), 400,
          "envelope", "Send it to POST /v1/notifications as signedPayload."
        ),
      ]
        + (bare == base64
          ? []
          : [
            ("without padding", body(bare), 400, "receipt_base64", "base64 without its padding")
          ]),
      from: "/v1/receipts", served)
    try served.isEmpty()
    // With line breaks it is what it was.
    let lines = Data(der).base64EncodedString(options: [.lineLength76Characters])
    #expect(lines.contains("\r\n"))
    let taken = try served.submit(body(lines))
    #expect(taken.status == 200 && taken.json?["outcome"]?.string == "accepted", "\(taken.text)")
    #expect(try served.submit(body(base64)).json?["outcome"]?.string == "duplicate")
  }

  @Test func `a transaction in another form is told what it is`() throws {
    let served = try SubmittingDaemon("/v1/transactions")
    let installation = served.installation
    let genuineApp = try installation.signedText(
      try JSONDocument(parsing: Array(Self.appTransaction.utf8)).root.value)
    let old = try installation.signedText(Sample.transaction(1).setting("environment", nil))
    let notice = try installation.signedText(Sample.notification(1))
    let good = try installation.signedText(Sample.transaction(1))
    func body(_ jws: JSONValue) -> [UInt8] { Self.json(("signedTransaction", jws)) }
    try expect(
      [
        (
          "a notification", Self.json(("signedPayload", Self.forged(Self.notification))), 400,
          "envelope", "Send it to POST /v1/notifications as signedPayload."
        ),
        (
          "a notification's JWS", body(notice), 422, "payload_shape",
          "it is not stored. What came looks like a notification of version 2."
        ),
        (
          "an app transaction", body(genuineApp), 422, "payload_shape",
          "a signed app transaction, which names no purchase"
        ),
        (
          "Xcode's app transaction",
          body(Self.forged(#"{"receiptCreationDate":1}"#, header: Self.xcodeHeader)), 401,
          "xcode_signature", "Xcode signed this for a local test"
        ),
        (
          "Xcode's transaction", body(Self.forged(Self.transaction, header: Self.xcodeHeader)), 401,
          "xcode_signature", "Test with a Sandbox account"
        ),
        (
          "one of 2021", body(old), 422, "payload_shape",
          "before Apple's transactions had a member environment"
        ),
        (
          "a decoded one", Array(Self.transaction.utf8), 400, "envelope",
          "the decoded payload of a signed transaction of StoreKit 2"
        ),
        (
          "renewal information",
          body(Self.forged(#"{"autoRenewStatus":1,"environment":"Production"}"#)), 401,
          "x5c_missing", "as signedRenewalInfo, beside its transaction."
        ),
        (
          "a transaction as renewal information",
          Self.json(("signedTransaction", good), ("signedRenewalInfo", good)), 422,
          "payload_shape", "a body whose signedRenewalInfo is something else"
        ),
        (
          "a receipt", body(.string(Self.receipt)), 400, "jws_segments",
          "Send it to POST /v1/receipts"
        ),
        (
          "another name", Self.json(("jws", Self.forged(Self.transaction))), 400, "envelope",
          "in a member of another name. Send it as signedTransaction."
        ),
        (
          "version 1", Self.json(("notification_type", .string("CANCEL"))), 400, "envelope",
          "a notification of version 1. Send it to POST /v1/notifications."
        ),
        (
          "an environment", Self.json(("signedTransaction", good), ("environment", .string("x"))),
          400, "environment", "neither Production nor Sandbox"
        ),
      ], from: "/v1/transactions", served)
    try served.isEmpty()
    // The same words where a claim hands the transaction over.
    let answer = try served.installation.claim(
      body(genuineApp), served.daemon, token: SubmittingDaemon.submitter)
    #expect(answer?.status == 422 && answer?.text.contains("names no purchase") == true)
  }
}

extension Installation {
  fileprivate func claim(
    _ body: [UInt8], _ daemon: RunningDaemon, token: String
  ) throws -> Client.Answer? {
    let head =
      "PUT /v1/accounts/u/transactions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
      + "\(token)\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
    return daemon.client().send(head, body)
  }
}
