import Foundation
import StrictJSON
import Support
import Testing

/// `POST /v1/transactions`: what an app hands over through its backend.
@Suite struct TransactionTests {
  /// The members of a row that do not depend on when it was asked for.
  private static func lasting(_ row: JSONElement?) -> [String: String] {
    let members = row?.members.filter {
      !["as_of", "confirmed_at", "event_count", "last_event"].contains($0.name)
    }
    return Dictionary(
      uniqueKeysWithValues: (members ?? []).map {
        ($0.name, String(decoding: $0.value.text, as: UTF8.self))
      })
  }

  @Test func `a transaction from the app is journaled once and answered with its row`() throws {
    let served = try SubmittingDaemon("/v1/transactions")
    let body = try served.body(Sample.transaction(1), Sample.renewal(1))
    let first = try served.submit(body)
    #expect(first.status == 200 && first.json?["outcome"]?.string == "accepted", "\(first.text)")
    let row = first.json?["entitlement"]
    #expect(row?["status"]?.string == "expired" || row?["status"]?.string == "active")
    #expect(row?["product_id"]?.string == "pro.monthly")
    #expect(row?["auto_renew"]?.boolean == true)
    #expect(Self.lasting(row) == Self.lasting(try served.row()))
    #expect(try served.submit(body).json?["outcome"]?.string == "duplicate")
    let later = Sample.transaction(1).setting("signedDate", .integer(Sample.start + Sample.day))
    let confirmed = try served.submit(try served.body(later))
    #expect(confirmed.json?["outcome"]?.string == "confirmed", "\(confirmed.text)")
    #expect(
      confirmed.json?["entitlement"]?["confirmed_at"]?.integer == Sample.start + Sample.day)
    #expect(try served.installation.events().count == 2)
    let history = try #require(
      served.daemon.client().get("/v1/entitlements/7000/history")?.json)
    #expect(history.events.map { $0["arrival"]?.string } == ["submitted", "submitted"])
    #expect(try served.daemon.stop().code == 0)
    #expect(try served.installation.verify().code == 0)
  }

  /// StoreKit signs two seconds before the notification.
  @Test func `before, with and after its notification a transaction gives the same row`() throws {
    let signed = JSONValue.integer(Sample.start + 60_000 - 2_000)
    var rows: [[String: String]] = []
    for order in ["before", "with", "after", "alone"] {
      let served = try SubmittingDaemon("/v1/transactions")
      let body = try served.body(
        Sample.transaction(1).setting("signedDate", signed),
        Sample.renewal(1).setting("signedDate", signed))
      let notification = try served.installation.sign(Sample.notification(1))
      let posts = [
        { try served.submit(body).status },
        { try #require(served.daemon.client().post(notification)).status },
      ]
      switch order {
      case "before": #expect(try posts.map { try $0() } == [200, 200])
      case "after": #expect(try posts.reversed().map { try $0() } == [200, 200])
      case "alone": #expect(try posts[1]() == 200)
      default:
        let port = served.daemon.port
        let heads = [served.head(body), served.head(notification, to: "/v1/notifications")]
        let bodies = [body, notification]
        runConcurrently(2) { number in
          _ = Client(port: port).send(heads[number], bodies[number])
        }
      }
      rows.append(Self.lasting(try served.row()))
      let history = try #require(
        served.daemon.client().get("/v1/entitlements/7000/history")?.json)
      #expect(history.events.count == (order == "alone" ? 1 : 3), "\(order)")
      let purchases = history.events.filter { $0["changes"]?["product_id"] != nil }
      #expect(purchases.count == 1, "\(order): one purchase")
      for event in history.events {
        let isLate = event["late"]?.boolean == true
        #expect(event["late_by"]?.integer == (isLate ? 2_000 : nil), "\(order)")
        #expect(!isLate || event["source"]?.string != "v2", "\(order)")
      }
      let late = history.events.count { $0["late"]?.boolean == true }
      if order != "with" { #expect(late == (order == "after" ? 2 : 0), "\(order)") }
      #expect(try served.daemon.stop().code == 0)
    }
    #expect(rows.allSatisfy { $0 == rows[0] }, "\(rows)")
  }

  @Test func `what is refused is not kept`() throws {
    let served = try SubmittingDaemon("/v1/transactions")
    let other = try Installation()
    let good = try served.body(Sample.transaction(1))
    try served.refusesAccess(to: good)
    try served.refuses(Array(#"{"signedTransaction":"a.b.c"}"#.utf8), 400, "jws_base64url")
    let moreMembers = [("environmnet", JSONValue.string("Sandbox"))]
    try served.refuses(try served.body(Sample.transaction(1), nil, moreMembers), 400, "envelope")
    let xcode = [("environment", JSONValue.string("Xcode"))]
    try served.refuses(try served.body(Sample.transaction(1), nil, xcode), 400, "environment")
    let sandbox = Sample.transaction(1, environment: "Sandbox")
    try served.refuses(try served.body(sandbox), 422, "wrong_environment")
    let alien = Sample.transaction(1, bundleId: "com.example.alien")
    try served.refuses(try served.body(alien), 422, "wrong_app")
    let strange = try served.body(Sample.transaction(1), Sample.renewal(1, otid: "7001"))
    try served.refuses(strange, 422, "no_transaction")
    // It would say that nothing is renewed.
    try served.refuses(
      try served.body(Sample.transaction(1), Sample.transaction(2)), 422, "payload_shape")
    let forged = try other.signedText(Sample.transaction(1))
    #expect(
      try served.submit(JSONValue.object([("signedTransaction", forged)]).bytes).status == 401)
    let local = try other.signedText(Sample.transaction(1, environment: "Xcode"))
    try served.refuses(
      JSONValue.object([("signedTransaction", local)]).bytes, 401, "xcode_signature")
    try served.isEmpty()
    // The environment that is expected is taken.
    let expected = [("environment", JSONValue.string("Sandbox"))]
    #expect(try served.submit(try served.body(sandbox, nil, expected)).status == 200)
  }

  @Test func `a token that may only submit reads nothing`() throws {
    let served = try SubmittingDaemon("/v1/transactions")
    let taken = try served.submit(
      try served.body(Sample.transaction(1)), token: SubmittingDaemon.submitter)
    #expect(taken.status == 200 && taken.json?["outcome"]?.string == "accepted")
    #expect(taken.json?["entitlement"]?.kind == .null, "\(taken.text)")
    for path in ["/v1/entitlements/7000", "/v1/entitlements", "/v1/overview", "/metrics"] {
      let answer = try #require(served.daemon.client().get(path, token: SubmittingDaemon.submitter))
      #expect(answer.status == 403, "\(path)")
      #expect(answer.json?["code"]?.string == "not_allowed")
    }
    let version = served.daemon.client().get("/version", token: SubmittingDaemon.submitter)?.json
    #expect(version?["digest"]?.kind == .null)
  }

  @Test(arguments: [false, true])
  func `ingest takes the same lines`(besideDaemon: Bool) throws {
    let served = try SubmittingDaemon("/v1/transactions")
    let lines = [
      try served.body(Sample.transaction(1), Sample.renewal(1)),
      try served.body(Sample.transaction(1, otid: "7001")),
      try served.body(Sample.transaction(1), Sample.renewal(1)),
    ]
    let counts = try served.ingest(lines, besideDaemon: besideDaemon)
    #expect(counts["accepted"]?.integer == 2 && counts["duplicates"]?.integer == 1)
    #expect(try served.installation.events().count == 3)
    let bad = try served.installation.file(
      "bad", [try served.body(Sample.transaction(2, environment: "Sandbox"))])
    let refused = try served.installation.run("ingest", bad)
    #expect(refused.code == 1 && refused.errors.contains("wrong_environment"), "\(refused)")
  }

  @Test(arguments: [#"[]"#, #"["write"]"#, #""submit""#])
  func `a permission that does not exist refuses the start`(value: String) throws {
    let installation = try Installation()
    let text = String(decoding: try Data(contentsOf: installation.config), as: UTF8.self)
    let changed = text.replacingOccurrences(
      of: #""name":"backend","#, with: #""name":"backend","may":\#(value),"#)
    #expect(changed != text)
    try Data(changed.utf8).write(to: installation.config)
    let result = try installation.run("serve")
    #expect(result.code == 2 && result.errors.contains("may"), "\(result)")
  }
}

extension SubmittingDaemon {
  fileprivate func body(
    _ transaction: JSONValue, _ renewal: JSONValue? = nil, _ more: [(String, JSONValue)] = []
  ) throws -> [UInt8] {
    var members = [("signedTransaction", try installation.signedText(transaction))] + more
    if let renewal {
      members.append(("signedRenewalInfo", try installation.signedText(renewal)))
    }
    return JSONValue.object(members).bytes
  }

  fileprivate func row(_ id: String = "7000") throws -> JSONElement {
    try #require(daemon.client().get("/v1/entitlements/\(id)")?.json)
  }
}
