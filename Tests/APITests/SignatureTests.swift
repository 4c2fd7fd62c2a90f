import AppStoreSimulator
import Audit
import Foundation
import Ledger
import Platform
import StrictJSON
import Support
import Testing

@testable import SignedData

/// Rows J6 to J14, J21, J22 of the hostile inputs: the 64 bytes of the signature.
@Suite struct SignatureTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root)
  }

  private func refusal(_ receiver: Receiver, _ jws: [UInt8]) -> Refusal? {
    do throws(Refusal) {
      _ = try receiver.receive(signedPayload: jws[...], at: Sample.purchase)
      return nil
    } catch {
      return error
    }
  }

  @Test func `J6, J7, J9: a changed payload, header or key is untrusted`() throws {
    let parts = ForgedJWS.parts(try authority.fresh())
    let payload = ForgedJWS.url(Sample.notification().bytes)
    try server.refuses(
      signedPayload: ForgedJWS.joined(parts[0], payload, parts[2]), 401, ["signature"], "J6")
    let header = ForgedJWS.url(ForgedJWS.header(authority.chain, extra: #","typ":"JWT""#))
    try server.refuses(
      signedPayload: ForgedJWS.joined(header, parts[1], parts[2]), 401, ["signature"], "J7")
    let key = try SigningKey.generate(.p256)
    let other = try authority.fresh(header: ForgedJWS.header(authority.chain), key: key)
    try server.refuses(signedPayload: other, 401, ["signature"], "J9")
  }

  @Test func `J8: a signature with one flipped bit is untrusted`() throws {
    let receiver = try Receiver(server.configuration)
    let jws = try authority.fresh()
    let signature = ForgedJWS.signature(jws)
    for bit in 0..<512 {
      var flipped = signature
      flipped[bit / 8] ^= 1 << (bit % 8)
      let changed = ForgedJWS.resigned(jws, flipped)
      #expect(refusal(receiver, changed) == .untrusted("signature"), "J8 bit \(bit)")
      if bit % 50 == 0 { try server.refuses(signedPayload: changed, 401, ["signature"], "J8") }
    }
    #expect(refusal(receiver, jws) == nil)
  }

  @Test func `J10, J11: a signature of another length, form or digest is untrusted`() throws {
    let jws = try authority.fresh()
    let signature = ForgedJWS.signature(jws)
    var rows: [[UInt8]] = [
      [], [0], Array(signature.prefix(63)), signature + [0], [0] + signature,
      signature + signature.prefix(32), signature + signature, Array(signature.dropFirst()),
      [UInt8](repeating: 0, count: 65), [0] + signature.prefix(32) + [0] + signature.suffix(32),
      // The same two numbers, one with a leading zero.
      signature.prefix(32) + [0] + signature.suffix(32),
    ]
    let r = DERWriter.integer(Array(signature.prefix(32)))
    let s = DERWriter.integer(Array(signature.suffix(32)))
    rows.append(DERWriter.sequence(r, s))
    for row in rows {
      try server.refuses(
        signedPayload: ForgedJWS.resigned(jws, row), 401, ["signature"], "J10 \(row.count)")
    }
    let header = ForgedJWS.header(authority.chain)
    let input = ForgedJWS.joined(
      ForgedJWS.url(header), ForgedJWS.url(Sample.notification().bytes))
    let der = try authority.leafKey.signDER(input, digest: .sha256)
    try server.refuses(
      signedPayload: ForgedJWS.joined(input, ForgedJWS.url(der)), 401, ["signature"], "J11")
    // The right numbers over another digest.
    for digest in [SigningKey.Digest.sha1, .sha384, .sha512] {
      let wrong = try authority.leafKey.sign(input, digest: digest)
      try server.refuses(
        signedPayload: ForgedJWS.joined(input, ForgedJWS.url(wrong)), 401, ["signature"],
        "J10 digest")
    }
  }

  @Test func `J12, J13: numbers out of range and changed numbers are untrusted`() throws {
    let receiver = try Receiver(server.configuration)
    let jws = try authority.fresh()
    let signature = ForgedJWS.signature(jws)
    let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
    let n = P256Arithmetic.order
    let ones = [UInt8](repeating: 0xFF, count: 32)
    // 0, 1, n-1, n, n+1, p-1, p, p+1, 2^256-1: no pair is a valid signature.
    let odd = [
      P256Arithmetic.number(0), P256Arithmetic.number(1),
      P256Arithmetic.minus(n, P256Arithmetic.number(1)), n,
      P256Arithmetic.plus(n, P256Arithmetic.number(1)),
      P256Arithmetic.minus(P256Arithmetic.prime, P256Arithmetic.number(1)), P256Arithmetic.prime,
      P256Arithmetic.plus(P256Arithmetic.prime, P256Arithmetic.number(1)), ones,
    ]
    for one in odd {
      for other in odd {
        let pair = ForgedJWS.resigned(jws, one + other)
        #expect(refusal(receiver, pair) == .untrusted("signature"), "J12")
      }
      #expect(refusal(receiver, ForgedJWS.resigned(jws, one + s)) == .untrusted("signature"))
      #expect(refusal(receiver, ForgedJWS.resigned(jws, r + one)) == .untrusted("signature"))
    }
    for pair in [odd[0] + odd[0], n + n, odd[0] + s, ones + ones, n + odd[0]] {
      try server.refuses(signedPayload: ForgedJWS.resigned(jws, pair), 401, ["signature"], "J12")
    }
    try server.refuses(
      signedPayload: ForgedJWS.resigned(jws, s + r), 401, ["signature"], "J13 swapped")
    // The negative of r, and numbers that are equal modulo n but too large.
    let rows = [
      P256Arithmetic.minus(n, r) + s, P256Arithmetic.plus(r, n) + s, r + P256Arithmetic.plus(s, n),
      P256Arithmetic.minus(ones, r) + s,
      P256Arithmetic.minus(n, r) + P256Arithmetic.minus(n, s),
    ]
    for row in rows {
      try server.refuses(signedPayload: ForgedJWS.resigned(jws, row), 401, ["signature"], "J13")
    }
  }

  @Test func `J21, J22: the negated signature is valid and a duplicate`() throws {
    let jws = try authority.fresh()
    let negated = Self.negated(jws)
    try server.accepts(signedPayload: jws, "J21 first")
    let before = try server.state()
    let response = try #require(server.post(signedPayload: negated))
    #expect(response.status == 200 && response.text.contains("duplicate"), "J21")
    #expect(try server.state() == before, "J21")
    let new = try authority.fresh()
    let high = ForgedJWS.signature(new).suffix(32).first.map { $0 >= 0x80 } ?? false
    try server.accepts(signedPayload: high ? new : Self.negated(new), "J22 high S")
    let low = try authority.fresh()
    let isLow = ForgedJWS.signature(low).suffix(32).first.map { $0 < 0x7F } ?? false
    try server.accepts(signedPayload: isLow ? low : Self.negated(low), "J22 low S")
  }

  private static func negated(_ jws: [UInt8]) -> [UInt8] {
    let signature = ForgedJWS.signature(jws)
    let s = P256Arithmetic.minus(P256Arithmetic.order, Array(signature.suffix(32)))
    return ForgedJWS.resigned(jws, signature.prefix(32) + s)
  }

  /// Every file of Wycheproof's vectors in Fixtures is verified with its keys: ECDSA in the P1363
  /// form, and JWS by their JWK.
  @Test func `J14: the vectors of Wycheproof get their verdicts`() throws {
    let folder = Bundle.module.resourceURL?.appendingPathComponent("Fixtures")
    let files = try FileManager.default.contentsOfDirectory(
      at: try #require(folder), includingPropertiesForKeys: nil)
    var held = 0
    for file in files where file.pathExtension == "json" {
      let root = try JSONDocument(parsing: Array(try Data(contentsOf: file))).root
      var count = 0
      for group in root["testGroups"]?.elements ?? [] { count += try hold(group) }
      let said = try #require(root["numberOfTests"]?.integer)
      #expect(count == said, "\(file.lastPathComponent) has \(count) of \(said)")
      held += count
    }
    #expect(held >= 262, "the vectors of Wycheproof for P-256 with SHA-256")
  }

  /// - Returns: how many vectors the group has.
  private func hold(_ group: JSONElement) throws -> Int {
    let tests = group["tests"]?.elements ?? []
    let isJWS = tests.first?["jws"] != nil
    let named = group["publicKeyDer"]?.string ?? group["keyDer"]?.string
    let der = isJWS ? Self.der(group["public"]) : named.flatMap(Hexadecimal.decode)
    // Keys of other kinds are not supported.
    guard let der else { return tests.count }
    let keys = try keys(of: certificate(for: der))
    for test in tests {
      let isValid = test["result"]?.string == "valid"
      let name = "tcId \(test["tcId"]?.integer ?? 0)"
      if isJWS {
        let text = test["jws"]?.string ?? ""
        let jws = try? CompactJWS(parsing: Array(text.utf8)[...])
        let said = jws.map { verdicts(of: keys, $0.signature, over: $0.signingInput) } ?? []
        #expect(isValid || !said.contains(true), "\(name)")
        continue
      }
      let message = try #require(test["msg"]?.string.flatMap(Hexadecimal.decode))
      let signature = try #require(test["sig"]?.string.flatMap(Hexadecimal.decode))
      let said = verdicts(of: keys, signature, over: message[...])
      #expect(said.allSatisfy { $0 == isValid }, "\(name)")
    }
    return tests.count
  }

  /// A key that never builds a table of multiples, and one that has it.
  private func keys(of certificate: Certificate) throws -> [VerifyingKey] {
    try [.max, 0].map { try VerifyingKey(of: certificate, tableAfter: $0) }
  }

  /// The verdicts of the keys, and last that of the table alone, which OpenSSL's verdict would
  /// hide.
  private func verdicts(
    of keys: [VerifyingKey], _ signature: [UInt8], over bytes: ArraySlice<UInt8>
  ) -> [Bool] {
    let digest = SHA256.hash(slice: bytes)
    let verdicts = keys.map { $0.verifies(signature, over: digest) }
    guard signature.count == 64 else { return verdicts }
    return verdicts + [keys.last?.table?.proves(signature, over: digest) == true]
  }

  /// The SubjectPublicKeyInfo (RFC 5480) of a JWK on P-256 (RFC 7518 section 6.2); nil for others.
  private static func der(_ key: JSONElement?) -> [UInt8]? {
    guard key?["crv"]?.string == "P-256",
      let x = key?["x"]?.string.flatMap({ Base64URL.decode($0.utf8) }), x.count == 32,
      let y = key?["y"]?.string.flatMap({ Base64URL.decode($0.utf8) }), y.count == 32
    else { return nil }
    return DERWriter.sequence(
      DERWriter.sequence(
        DERWriter.oid("1.2.840.10045.2.1"), DERWriter.oid("1.2.840.10045.3.1.7")),
      DERWriter.bits([4] + x + y))
  }

  /// A certificate with this SubjectPublicKeyInfo; its signature does not matter here.
  private func certificate(for key: [UInt8]) throws -> Certificate {
    var forgery = try ChainForgery(under: authority)
    forgery.leafEdit = { $0.children[6] = DERNode(key[...]) }
    return try Certificate(der: try forgery.chain()[0])
  }
}
