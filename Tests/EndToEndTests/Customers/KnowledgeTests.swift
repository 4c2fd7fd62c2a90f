import Foundation
import StrictJSON
import Support
import Testing

/// A moment of the past by what is known now: `knowledge=now`.
@Suite struct KnowledgeTests {
  private static let day = Sample.day
  /// Within the first period, of which Apple says nothing until forty days after it began.
  private static let moment = Sample.start + 10 * day
  private static let path = "/v1/entitlements/7001?as_of=\(moment)"

  /// A purchase of thirty days that a notification told ten days after its end.
  private func told() throws -> Installation {
    let installation = try Installation()
    let body = Sample.notification(1, otid: "7001", type: "SUBSCRIBED")
      .dated(Sample.start + 40 * Self.day)
      .setting("data.transaction.purchaseDate", .integer(Sample.start))
      .setting("data.transaction.expiresDate", .integer(Sample.start + 30 * Self.day))
    let file = try installation.file("told", [try installation.sign(body)])
    #expect(try installation.run("ingest", file).code == 0)
    return installation
  }

  @Test func `a moment of which Apple spoke later is answered by what is known now`() throws {
    let installation = try told()
    let daemon = try installation.start()
    let client = daemon.client()
    let then = try #require(client.get(Self.path))
    #expect(then.status == 404 && then.json?["code"]?.string == "not_signed_then")
    #expect(then.json?["detail"]?.string?.contains("knowledge=now") == true, "\(then.text)")
    let now = try #require(client.get(Self.path + "&knowledge=now"))
    #expect(now.status == 200 && now.json?["status"]?.string == "active", "\(now.text)")
    #expect(now.json?["as_of"]?.integer == Self.moment)
    #expect(client.get(Self.path + "&knowledge=then")?.status == 400)
    // Before the purchase there is a row, and no access.
    let before = client.get("/v1/entitlements/7001?as_of=\(Sample.start - 1)&knowledge=now")
    #expect(before?.json?["gives_access"]?.boolean == false, "\(before?.text ?? "")")
    let customer = "/v1/customers/7001?by=original_transaction_id&as_of=\(Self.moment)"
    #expect(client.get(customer)?.json?["known"]?.boolean == false)
    let known = client.get(customer + "&knowledge=now")?.json
    #expect(known?["known"]?.boolean == true)
    #expect(known?["subscriptions"]?.elements.first?["status"]?.string == "active")
    #expect(try daemon.stop().code == 0)
  }

  @Test func `the command and SQL answer alike, and the error names the flag`() throws {
    let installation = try told()
    let time = String(Self.moment)
    let then = try installation.run("entitlement", "7001", "--as-of", time)
    #expect(then.code == 1 && then.errors.contains("--knowledge now"), "\(then)")
    let now = try installation.run(
      "entitlement", "7001", "--as-of", time, "--knowledge", "now", "--json")
    #expect(now.code == 0)
    let span = try installation.run(
      "query", "--csv",
      """
      SELECT status FROM entitlement_span_v1 WHERE original_transaction_id = '7001'
      AND coalesce(from_ms, 0) <= \(time) AND \(time) < coalesce(to_ms, \(Int64.max))
      """)
    let status = try now.lines().first?["status"]?.string
    #expect(span.output == "status\n\(status ?? "")\n")
    #expect(try installation.run("entitlement", "7001", "--knowledge", "then").code == 2)
  }
}
