import AppStore
import Foundation
import Platform
import SignedData
import StrictJSON
import Support
import Testing

@testable import Clients

/// The bearer tokens: what they say, and when there is a new one.
@Suite struct TokenTests {
  private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"

  private func source(_ signing: SigningKey? = nil) throws -> TokenSource {
    let signing = try signing ?? SigningKey.generate(.p256)
    return TokenSource(
      AppStoreKey(issuerId: Self.issuer, keyId: "2X9R4HXF34", signing: signing),
      bundleId: "com.example.app")
  }

  private func json(_ part: Substring) throws -> JSONElement {
    try JSONDocument(parsing: try #require(Base64URL.decode(Array(part.utf8)))).root
  }

  @Test func `header and claims are what Apple documents`() throws {
    let token = try source().token(at: 1_790_000_000_999)
    let parts = token.split(separator: ".")
    #expect(parts.count == 3)
    let (header, claims) = (try json(parts[0]), try json(parts[1]))
    #expect(header.members.map(\.name) == ["alg", "kid", "typ"])
    #expect(header["alg"]?.string == "ES256" && header["typ"]?.string == "JWT")
    #expect(header["kid"]?.string == "2X9R4HXF34")
    #expect(claims.members.map(\.name) == ["iss", "iat", "exp", "aud", "bid"])
    #expect(claims["iss"]?.string == Self.issuer && claims["bid"]?.string == "com.example.app")
    #expect(claims["aud"]?.string == "appstoreconnect-v1")
    let (issued, expires) = (claims["iat"]?.integer ?? 0, claims["exp"]?.integer ?? 0)
    #expect(issued == 1_790_000_000 - 60 && expires == issued + 900)
    #expect(expires - issued < 3600 && expires > 1_790_000_000 + 600)
  }

  @Test func `the signature is ES256 over header and claims`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sl-token-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let signing = try SigningKey.generate(.p256)
    for second in 0..<20 {
      let token = try source(signing).token(at: 1_790_000_000_000 + Int64(second) * 1000)
      let parts = token.split(separator: ".")
      let signature = try #require(Base64URL.decode(Array(parts[2].utf8)))
      #expect(signature.count == 64)
      let paths = ["key.der", "input", "signature"].map { folder.appending(path: $0) }
      try Data(try signing.publicKey()).write(to: paths[0])
      try Data("\(parts[0]).\(parts[1])".utf8).write(to: paths[1])
      try Data(Self.der(signature)).write(to: paths[2])
      let openssl = try RunningCommand(
        [
          "dgst", "-sha256", "-keyform", "DER", "-verify", paths[0].path, "-signature",
          paths[2].path, paths[1].path,
        ], in: folder, program: URL(filePath: "/usr/bin/openssl")
      ).finish()
      #expect(openssl.code == 0)
    }
  }

  /// SEQUENCE { INTEGER r, INTEGER s } (RFC 3279 section 2.2.3).
  private static func der(_ signature: [UInt8]) -> [UInt8] {
    let integers = [signature[..<32], signature[32...]].map { half -> [UInt8] in
      let digits = Array(half.drop { $0 == 0 })
      let content = (digits.first ?? 0x80) & 0x80 == 0 ? digits : [0] + digits
      return [0x02, UInt8(content.count)] + content
    }
    let content = integers[0] + integers[1]
    return [0x30, UInt8(content.count)] + content
  }

  @Test func `a token is reused for ten minutes and renewed long before it ends`() throws {
    let source = try source()
    let start: Int64 = 1_790_000_000_000
    let first = try source.token(at: start)
    #expect(try source.token(at: start + 599_999) == first)
    let second = try source.token(at: start + 600_000)
    #expect(second != first)
    #expect(try source.token(at: start + 600_001) == second)
  }

  @Test func `a clock that is set back makes a new token`() throws {
    let source = try source()
    let first = try source.token(at: 1_790_000_000_000)
    #expect(try source.token(at: 1_789_999_000_000) != first)
  }

  @Test func `a discarded token is not used again, and another one stays`() throws {
    let source = try source()
    let first = try source.token(at: 1_790_000_000_000)
    source.discard("another")
    #expect(try source.token(at: 1_790_000_000_000) == first)
    source.discard(first)
    #expect(try source.token(at: 1_790_000_001_000) != first)
  }
}
