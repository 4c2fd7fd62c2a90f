import Foundation
import Platform
import SignedData
import StrictJSON
import Support
import Testing

/// Webhooks of the built program, to a real receiver.
@Suite struct WebhookTests {
  @Test func `a message is signed, and holds the row as of its event`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    try world.post(daemon, 1...2, otid: "7000")
    try world.wait(2)
    let (request, json) = world.messages[1]
    let secret = try #require(WebhookSecret(world.secret))
    let seconds = try #require(request.field("webhook-timestamp").flatMap { Int64($0) })
    let id = try #require(request.field("webhook-id"))
    let signature = try secret.signature(id: id, seconds: seconds, request.body)
    #expect(request.field("webhook-signature") == signature)
    #expect(request.target == "/hook?k=1" && request.field("subledger-attempt") == "1")
    #expect(request.field("content-type") == "application/json")
    #expect(request.field("user-agent")?.hasPrefix("subledger/") == true)
    #expect(json["id"]?.string == id && json["specversion"]?.string == "1.0")
    #expect(json["type"]?.string == "app_store.did_renew" && json["subject"]?.string == "7000")
    let data = try #require(json["data"])
    #expect(data["seq"]?.integer == 2 && data["stream_seq"]?.integer == 2)
    #expect(data["previous_seq"]?.integer == 1 && data["arrival"]?.string == "posted")
    // The row is the one of the contract, as of the receive time.
    let at = try #require(data["received_at"]?.integer)
    let row = try #require(
      daemon.client().get("/v1/entitlements/7000?as_of=\(at)")?.json)
    let sent = try #require(data["entitlement"])
    #expect(sent["as_of"]?.integer == at)
    #expect(sent["transaction_id"]?.string == row["transaction_id"]?.string)
    #expect(sent.members.map(\.name) == row.members.map(\.name))
    _ = try daemon.stop()
  }

  @Test func `a message has the members that the OpenAPI document names`() throws {
    let world = try SinkWorld()
    try world.configure([("include", .array([.string("payload")]))])
    let daemon = try world.start()
    try world.post(daemon, 1...2, otid: "7000")
    try world.wait(2)
    #expect(try world.installation.run("sink", "test", "backend").code == 0)
    let document = try #require(daemon.client().get("/openapi.json", token: nil)?.json)
    let described = try #require(document["webhooks"]?["message"]?["post"])
    let content = described["requestBody"]?["content"]?["application/json"]
    let schema = try #require(content?["schema"])
    let shape = try Shape(document: document)
    #expect(world.messages.count == 3)
    for (request, json) in world.messages {
      #expect(shape.objections(json, to: schema) == [])
      #expect(shape.objections(try JSONDocument(parsing: Array("{}".utf8)).root, to: schema) != [])
      let headers = (described["parameters"]?.elements ?? []).compactMap { $0["name"]?.string }
      #expect(headers.filter { request.field($0) == nil } == ["subledger-replay"])
    }
    _ = try daemon.stop()
  }

  @Test func `a message about what the owner said names customer and entitlement`() throws {
    let world = try SinkWorld()
    try world.configure(
      more: [
        ("entitlements", .object([("pro", .array([.string("pro.*")]))])),
        (
          "readTokens",
          .array([
            Installation.token(
              "backend", Installation.token,
              [("may", .array(["read", "claim"].map(JSONValue.string)))])
          ])
        ),
      ])
    let daemon = try world.start()
    try world.post(daemon, 1...1, otid: "7000")
    let customer = ["user-1", "--by", "account"]
    let granted = try world.installation.run(
      ["grant"] + customer + ["--entitlement", "pro", "--reason", "press", "--json"])
    let grant = try #require(try granted.lines().first?["grant"]?.string)
    #expect(try world.installation.run(["grant"] + customer + ["--revoke", grant]).code == 0)
    let claim = Array("{\"originalTransactionId\":\"7000\"}".utf8)
    let head =
      "PUT /v1/accounts/user-1/transactions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json"
      + "\r\nAuthorization: Bearer \(Installation.token)\r\nContent-Length: \(claim.count)\r\n\r\n"
    #expect(daemon.client().send(head, claim)?.status == 200)
    try world.waitUntil("four messages about events") {
      world.messages.count { $0.json["type"]?.string?.hasPrefix("customer.") == false } == 4
    }
    // The grants are the account's and the claim is the purchase's: no order holds between them.
    let told = world.messages.filter { $0.json["type"]?.string?.hasPrefix("subledger.") == true }
      .sorted { ($0.json["data"]?["seq"]?.integer ?? 0) < ($1.json["data"]?["seq"]?.integer ?? 0) }
    #expect(
      told.map { $0.json["type"]?.string } == [
        "subledger.granted", "subledger.grant_revoked", "subledger.account_claimed",
      ])
    for (index, message) in told.enumerated() {
      let said = try #require(message.json["data"]?["statement"], "\(index)")
      #expect(said["by"]?.string == "account" && said["customer"]?.string == "user-1")
      #expect(said["entitlement"]?.string == (index < 2 ? "pro" : nil))
      #expect(said["grant"]?.string == (index < 2 ? grant : nil))
    }
    let others = world.messages.filter { $0.json["type"]?.string?.hasPrefix("app_store.") == true }
    #expect(others.count == 1 && others.allSatisfy { $0.json["data"]?["statement"] == nil })
    _ = try daemon.stop()
  }

  @Test func `every type of message is in the OpenAPI document and in the guide`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    let document = try #require(daemon.client().get("/openapi.json", token: nil)?.json)
    let webhooks = (document["webhooks"]?.members ?? []).filter { $0.name != "message" }
    #expect(webhooks.count > 60)
    let schemas = Set((document["components"]?["schemas"]?.members ?? []).map(\.name))
    for name in document.value.text.matches(of: /#\/components\/schemas\/([A-Za-z0-9]+)/) {
      #expect(schemas.contains(String(name.1)), "\(name.1)")
    }
    let guide = try DocumentationPage.operating("webhooks").text
    for (name, webhook) in webhooks {
      #expect(webhook["$ref"]?.string == "#/components/pathItems/Message")
      #expect(webhook["description"]?.string?.isEmpty == false)
      // In the guide a subtype stands behind its type.
      let parts = name.split(separator: ".")
      let type = parts.prefix(2).joined(separator: ".")
      let line = guide.split(separator: "\n").first { $0.hasPrefix("| `\(type)` |") }
      #expect(line != nil, "\(type)")
      if parts.count > 2 { #expect(line?.contains("`.\(parts[2])`") == true, "\(name)") }
    }
    _ = try daemon.stop()
  }

  @Test func `during a rotation both secrets sign, and a key pair does too`() throws {
    let world = try SinkWorld()
    let pair = WebhookSecret.generate(isAsymmetric: true)
    try world.write("a.whsec", pair + "\n" + world.secret)
    let daemon = try world.start()
    try world.post(daemon, 1...1, otid: "7000")
    try world.wait(1)
    let signatures = world.messages[0].request.field("webhook-signature")?.split(separator: " ")
    #expect(signatures?.map { $0.prefix { $0 != "," } } == ["v1a", "v1"])
    let shown = try world.installation.run("sink", "public-key", "backend")
    #expect(shown.code == 0 && shown.output == (WebhookSecret(pair)?.publicKey ?? "") + "\n")
    _ = try daemon.stop()
  }

  @Test func `what is sent begins now, and goes on after a restart where it was`() throws {
    let world = try SinkWorld()
    try world.configure([("name", .string("other"))])
    let before = try world.start()
    try world.post(before, 1...3, otid: "7000")
    try world.wait(3)
    _ = try before.stop()
    // A new name begins now; a known one goes on.
    try world.configure()
    let daemon = try world.start()
    try world.waitUntil("the sink") { world.sink(daemon)?["seq"]?.integer == 3 }
    try world.post(daemon, 4...4, otid: "7000")
    try world.wait(4)
    #expect(world.seqs == [1, 2, 3, 4])
    try daemon.crash()
    let after = try world.start()
    try world.post(after, 5...5, otid: "7000")
    try world.waitUntil("the fifth") { world.seqs.contains(5) }
    #expect(Set(world.seqs) == [1, 2, 3, 4, 5] && world.seqs.count <= 6)
    _ = try after.stop()
  }

  @Test func `only what the sink asks for is sent`() throws {
    let world = try SinkWorld()
    try world.configure([
      ("types", .array([.string("app_store.refund*"), .string("subledger.*")])),
      ("environments", .array([.string("Production")])),
      ("include", .array([.string("payload")])),
    ])
    let daemon = try world.start()
    let kinds = [("DID_RENEW", "Production"), ("REFUND", "Sandbox"), ("REFUND", "Production")]
    for (index, (type, environment)) in kinds.enumerated() {
      let body = try world.installation.sign(
        Sample.notification(index + 1, type: type, environment: environment))
      _ = daemon.client().post(body)
    }
    try world.wait(1)
    try world.waitUntil("the end") { world.sink(daemon)?["seq"]?.integer == 3 }
    #expect(world.seqs == [3])
    let data = world.messages[0].json["data"]
    #expect(data?["payload"]?["notificationType"]?.string == "REFUND")
    _ = try daemon.stop()
  }

  @Test func `what was not admitted is forwarded where that is asked for`() throws {
    let world = try SinkWorld()
    try world.configure([
      ("kind", .string("forward")), ("secretFile", .null), ("quarantine", .boolean(true)),
    ])
    let daemon = try world.start()
    let body = try world.installation.sign(
      Sample.notification(1, bundleId: "com.example.staging"))
    #expect(daemon.client().post(body)?.status == 422)
    try world.wait(1)
    let request = world.messages[0].request
    #expect(request.body == body && request.field("webhook-id") == Sample.uuid(1))
    try world.post(daemon, 2...2, otid: "7001")
    try world.wait(2)
    // A conflict is none of them.
    let other = try world.installation.sign(Sample.notification(2, otid: "7001", type: "REFUND"))
    #expect(daemon.client().post(other)?.json?["outcome"]?.string == "conflict")
    usleep(2_500_000)
    #expect(world.receiver.requests.count == 2)
    _ = try daemon.stop()
  }

  @Test func `what waits for a slow disk before it is quarantined is forwarded too`() throws {
    let world = try SinkWorld()
    try world.configure([
      ("kind", .string("forward")), ("secretFile", .null), ("quarantine", .boolean(true)),
    ])
    let stuck = world.installation.folder.appending(path: "stuck")
    world.installation.environment = [
      "LD_PRELOAD": RunningCommand.built.appending(path: "libRecordedDisk.so").path,
      "RECORDED_DISK_FOLDER": world.installation.data.path, "RECORDED_DISK_STUCK": stuck.path,
    ]
    let daemon = try world.start()
    try world.post(daemon, 1...1, otid: "7001")
    try world.wait(1)
    // Its place is stored by then, so that its own sync does not hold the delivery up.
    usleep(500_000)
    try Data().write(to: stuck)
    let body = try world.installation.sign(
      Sample.notification(2, bundleId: "com.example.staging"))
    let client = daemon.client()
    let head =
      "POST /v1/notifications HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.count)\r\n\r\n"
    #expect(client.write(Array(head.utf8) + body))
    // Longer than a receive time may take to settle.
    usleep(4_000_000)
    try FileManager.default.removeItem(at: stuck)
    #expect(client.answer()?.status == 422)
    try world.wait(2)
    #expect(world.messages[1].request.body == body)
    _ = try daemon.stop()
  }

  @Test func `a proxy that the sink names is asked, and no other`() throws {
    let world = try SinkWorld()
    try world.configure([
      ("url", .string("http://receiver.invalid/hook")),
      ("proxy", .string(world.receiver.address)),
    ])
    let daemon = try world.start()
    try world.post(daemon, 1...1, otid: "7001")
    try world.wait(1)
    #expect(world.messages[0].request.target == "http://receiver.invalid/hook")
    _ = try daemon.stop()
  }

  @Test func `forwarded is the body that Apple sent, byte for byte`() throws {
    let world = try SinkWorld()
    try world.write("auth", "Bearer canary")
    try world.configure([
      ("kind", .string("forward")), ("secretFile", .null),
      ("headerFiles", .object([("Authorization", .string("auth"))])),
    ])
    let daemon = try world.start()
    let body = try world.installation.sign(Sample.notification(1))
    _ = daemon.client().post(body)
    try world.wait(1)
    let request = world.messages[0].request
    #expect(request.body == body && request.field("authorization") == "Bearer canary")
    #expect(request.field("webhook-id") == Sample.uuid(1))
    #expect(request.field("webhook-signature") == nil)
    #expect(!daemon.log.contains("canary"))
    _ = try daemon.stop()
  }
}
