import StrictJSON
import Support
import Testing

/// What the app of a simulated customer has, handed over through the user's backend.
@Suite struct AppEvidenceTests {
  private static let submitter = "e2e-token-that-submits-4715"

  @Test func `transactions and receipts of the stand-in make the row that its notifications make`()
    throws
  {
    let connected = try ConnectedInstallation(["--customers", "0", "--lifecycle", "cancel"])
    let description = connected.store.description
    let address = try #require(description["production"]?.string)
    let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
    func get(_ path: String) throws -> JSONElement {
      try #require(Client(port: port).get(path, token: nil)?.json)
    }
    let id = try #require(
      try get("/app")["appTransactionIds"]?.elements.first?.string)
    let app = try get("/app/\(id)")
    #expect(try get("/app/999")["errorCode"]?.integer == 4_040_010)
    let fresh = try Installation()
    let submit = ("may", JSONValue.array([.string("submit"), .string("read")]))
    try fresh.configure(with: [
      ("trustRoots", .array([.optional(description["root"]?.string)])),
      (
        "readTokens",
        .array([
          Installation.token("backend", Installation.token, []),
          Installation.token("app", Self.submitter, [submit]),
        ])
      ),
    ])
    let daemon = try fresh.start()
    func post(_ path: String, _ body: [UInt8]) throws -> JSONElement {
      let head =
        "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer \(Self.submitter)\r\nContent-Length: \(body.count)\r\n\r\n"
      let answer = try #require(daemon.client().send(head, body))
      #expect(answer.status == 200, "\(answer.text)")
      return try #require(answer.json)
    }
    let receipt = JSONValue.object([("receipt", .optional(app["receipt"]?.string))])
    let first = try post("/v1/receipts", receipt.bytes)
    #expect(first["outcome"]?.string == "accepted")
    var last: JSONElement?
    for body in app["transactions"]?.elements ?? [] {
      last = try post("/v1/transactions", body.text)["entitlement"]
    }
    // The same customer, of whom the App Store told by notifications.
    let original = try #require(last?["original_transaction_id"]?.string)
    let answer = try connected.installation.run("recover", "--json")
    #expect(answer.code <= 1, "\(answer)")
    let told = try #require(
      connected.daemon.client().get("/v1/entitlements/\(original)")?.json)
    for name in ["status", "gives_access", "product_id", "expires_at", "auto_renew"] {
      #expect(last?[name]?.value.text == told[name]?.value.text, "\(name)")
    }
    try daemon.stop()
    #expect(try fresh.verify().code == 0)
  }
}
