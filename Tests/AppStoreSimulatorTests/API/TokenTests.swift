import Foundation
import SignedData
import StrictJSON
import Support
import Testing

@testable import AppStoreSimulator

/// Who may ask.
@Suite struct TokenTests {
  private static let path = "/inApps/v1/transactions/1"

  @Test func `a token with its claims is accepted, and one without iat`() throws {
    let running = try LocalAppStore(customers: 1)
    expect(try running.get(Self.path), isError: 4_040_010)
    let token = try running.token([:], ["iat": .null])
    expect(
      try running.ask("GET", Self.path, authorization: "Bearer \(token)"), isError: 4_040_010)
  }

  @Test func `every wrong token is answered with 401 and no JSON`() throws {
    let running = try LocalAppStore(customers: 1)
    let now = Int64(Date().timeIntervalSince1970)
    let good = try running.token()
    var wrong = [
      "Basic \(good)", "bearer\(good)", "Bearer ", "Bearer a.b.c", "Bearer \(good)A",
      "Bearer \(try running.token(key: .generate(.p256)))",
    ]
    for header: [String: JSONValue] in [["kid": .string("ABCDEFGHIJ")], ["alg": .string("none")]] {
      wrong.append("Bearer \(try running.token(header))")
    }
    let claims: [[String: JSONValue]] = [
      ["aud": .string("appstoreconnect-v2")], ["iss": .string("someone")],
      ["bid": .string("com.example.other")], ["bid": .null], ["exp": .null],
      ["exp": .integer(now - 1)], ["iat": .integer(now + 60)],
      ["iat": .integer(now - 30), "exp": .integer(now + 3_571)], ["iat": .string("now")],
      ["iat": .null, "exp": .integer(now + 7200)],
    ]
    for claims in claims { wrong.append("Bearer \(try running.token([:], claims))") }
    for field in wrong {
      let answer = try running.ask("GET", Self.path, authorization: field)
      #expect(answer.status == 401, "\(field)")
      #expect(answer.text == "Unauthenticated")
    }
    _ = try running.control(#"{"explains401":false}"#)
    #expect(try running.ask("GET", Self.path, authorization: "Bearer x").body.isEmpty)
  }

  @Test func `an app that was never released is refused in production alone`() throws {
    let running = try LocalAppStore(customers: 1)
    _ = try running.control(#"{"neverReleased":true}"#)
    #expect(try running.get(Self.path).status == 401)
    expect(try running.get(Self.path, on: "sandbox"), isError: 4_040_010)
  }

  @Test func `the key is made once, private, and found again`() throws {
    let running = try LocalAppStore(customers: 1)
    let file = try #require(running.description.text("keyFile"))
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600 && file.hasPrefix("/"))
    let again = try APIKey(in: running.folder)
    #expect(again.id == running.description.text("keyId") && again.id.count == 10)
    #expect(again.issuer == running.description.text("issuerId") && again.issuer.count == 36)
  }
}
