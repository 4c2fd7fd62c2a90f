import StrictJSON
import Support
import Testing

/// Rows S2 and S2b: a notification that Apple signs again is the same notification (promise 4).
@Suite struct SignedAgainTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root)
  }

  private func outcome(_ jws: [UInt8]) -> String? {
    server.post(signedPayload: jws)?.json?["outcome"]?.string
  }

  private let first = Sample.notification(1)

  /// Signed by another leaf under the same root, with its nested JWS.
  private func rotated(_ notification: JSONValue) throws -> [UInt8] {
    let forgery = try ChainForgery(under: authority)
    let header = ForgedJWS.header(try forgery.chain())
    var rotated = notification
    for (part, name) in [
      ("transaction", "signedTransactionInfo"), ("renewalInfo", "signedRenewalInfo"),
    ] {
      let payload = try #require(notification["data"]?[part])
      let jws = try ForgedJWS.jws(header: header, payload: payload.bytes, key: forgery.leafKey)
      rotated = rotated.setting("data.\(part)", nil)
        .setting("data.\(name)", .string(String(decoding: jws, as: UTF8.self)))
    }
    return try ForgedJWS.jws(header: header, payload: rotated.bytes, key: forgery.leafKey)
  }

  @Test func `a notification that is signed again is a duplicate`() throws {
    #expect(outcome(try authority.signed(first)) == "accepted")
    let state = try server.state()
    let again = try [
      authority.signed(first), authority.signed(first.sorted()), rotated(first),
      authority.signed(first.setting("signedDate", .integer(Sample.start + 60_000))),
      authority.signed(first.dated(Sample.start + 60_000)),
      rotated(first.dated(Sample.start + 90_000)),
      authority.signed(first.setting("notificationUUID", .string(Sample.uuid(1).uppercased()))),
    ]
    for (number, jws) in again.enumerated() {
      #expect(outcome(jws) == "duplicate", "\(number)")
      #expect(try server.state() == state, "\(number)")
    }
  }

  @Test func `other content in any part is a conflict, and each content is kept once`() throws {
    #expect(outcome(try authority.signed(first)) == "accepted")
    let head = try server.state().head
    let others = [
      first.setting("subtype", .string("RESUBSCRIBE")), first.setting("new", .null),
      first.setting("data.transaction.price", .integer(9_991)),
      first.setting("data.renewalInfo.autoRenewStatus", .integer(0)),
      first.setting("data.renewalInfo", nil), first.setting("data.signedDate", .integer(1)),
      first.setting("data.transaction.currency", .string("usd")),
    ]
    for (number, other) in others.enumerated() {
      for _ in 0..<2 {
        #expect(outcome(try authority.signed(other)) == "conflict", "\(number)")
        #expect(
          try server.state()
            == InProcessServer.LedgerState(head: head, quarantined: Int64(number + 1)))
      }
    }
    #expect(outcome(try authority.signed(first)) == "duplicate")
    let metrics = try #require(server.get("/metrics")?.text)
    let counted = metrics.split(separator: "\n").filter { $0.contains("outcome=\"conflict\"") }
    #expect(counted.count == 1 && counted.first?.hasSuffix("} \(2 * others.count)") == true)
  }

  @Test func `a quarantined notification that is signed again is kept once`() throws {
    let foreign = first.setting("data.bundleId", .string("com.example.other"))
      .setting("data.transaction.bundleId", .string("com.example.other"))
    for jws in try [authority.signed(foreign), authority.signed(foreign), rotated(foreign)] {
      #expect(server.post(signedPayload: jws)?.status == 422)
    }
    #expect(try server.state().quarantined == 1)
  }
}
