import Foundation
import StrictJSON
import SubscriptionLedger
import Testing

@testable import SignedData

/// Rows J6 to J14, J21, J22: the 64 bytes of the signature.
@Suite struct SignatureTests {
  private let authority: Authority
  private let door: Door

  init() throws {
    authority = try Authority.shared.get()
    door = try Door(root: authority.root)
  }

  private func refusal(_ receiver: Receiver, _ jws: [UInt8]) -> Refusal? {
    do throws(Refusal) {
      _ = try receiver.receive(signedPayload: jws[...], at: Sample.purchase)
      return nil
    } catch {
      return error
    }
  }

  @Test func whatIsSignedWasChanged() throws {
    let parts = Forge.parts(try authority.fresh())
    let payload = Forge.url(Sample.notification().bytes)
    try door.refuses(
      signedPayload: Forge.joined(parts[0], payload, parts[2]), 401, ["signature"], "J6")
    let header = Forge.url(Forge.header(authority.chain, extra: #","typ":"JWT""#))
    try door.refuses(
      signedPayload: Forge.joined(header, parts[1], parts[2]), 401, ["signature"], "J7")
    let key = try SigningKey.generate(.p256)
    let other = try authority.fresh(header: Forge.header(authority.chain), key: key)
    try door.refuses(signedPayload: other, 401, ["signature"], "J9")
  }

  @Test func oneBit() throws {
    let receiver = try Receiver(door.configuration)
    let jws = try authority.fresh()
    let signature = Forge.signature(jws)
    for bit in 0..<512 {
      var flipped = signature
      flipped[bit / 8] ^= 1 << (bit % 8)
      let changed = Forge.resigned(jws, flipped)
      #expect(refusal(receiver, changed) == .untrusted("signature"), "J8 bit \(bit)")
      if bit % 50 == 0 { try door.refuses(signedPayload: changed, 401, ["signature"], "J8") }
    }
    #expect(refusal(receiver, jws) == nil)
  }

  @Test func otherLengthsAndForms() throws {
    let jws = try authority.fresh()
    let signature = Forge.signature(jws)
    var rows: [[UInt8]] = [
      [], [0], Array(signature.prefix(63)), signature + [0], [0] + signature,
      signature + signature.prefix(32), signature + signature, Array(signature.dropFirst()),
      [UInt8](repeating: 0, count: 65), [0] + signature.prefix(32) + [0] + signature.suffix(32),
      // The same two numbers, one with a zero that means nothing.
      signature.prefix(32) + [0] + signature.suffix(32),
    ]
    let r = DERWriter.integer(Array(signature.prefix(32)))
    let s = DERWriter.integer(Array(signature.suffix(32)))
    rows.append(DERWriter.sequence(r, s))
    for row in rows {
      try door.refuses(
        signedPayload: Forge.resigned(jws, row), 401, ["signature"], "J10 \(row.count)")
    }
    let header = Forge.header(authority.chain)
    let input = Forge.joined(
      Forge.url(header), Forge.url(Sample.notification().bytes))
    let der = try authority.leafKey.signDER(input, digest: .sha256)
    try door.refuses(
      signedPayload: Forge.joined(input, Forge.url(der)), 401, ["signature"], "J11")
    // The right numbers over another digest.
    for digest in [SigningKey.Digest.sha1, .sha384, .sha512] {
      let wrong = try authority.leafKey.sign(input, digest: digest)
      try door.refuses(
        signedPayload: Forge.joined(input, Forge.url(wrong)), 401, ["signature"], "J10 digest")
    }
  }

  @Test func impossibleNumbers() throws {
    let receiver = try Receiver(door.configuration)
    let jws = try authority.fresh()
    let signature = Forge.signature(jws)
    let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
    let n = Wide.order
    let ones = [UInt8](repeating: 0xFF, count: 32)
    // 0, 1, n-1, n, n+1, p-1, p, p+1, 2^256-1: every pair is a signature of nothing.
    let odd = [
      Wide.number(0), Wide.number(1), Wide.minus(n, Wide.number(1)), n,
      Wide.plus(n, Wide.number(1)), Wide.minus(Wide.prime, Wide.number(1)), Wide.prime,
      Wide.plus(Wide.prime, Wide.number(1)), ones,
    ]
    for one in odd {
      for other in odd {
        let pair = Forge.resigned(jws, one + other)
        #expect(refusal(receiver, pair) == .untrusted("signature"), "J12")
      }
      #expect(refusal(receiver, Forge.resigned(jws, one + s)) == .untrusted("signature"))
      #expect(refusal(receiver, Forge.resigned(jws, r + one)) == .untrusted("signature"))
    }
    for pair in [odd[0] + odd[0], n + n, odd[0] + s, ones + ones, n + odd[0]] {
      try door.refuses(signedPayload: Forge.resigned(jws, pair), 401, ["signature"], "J12")
    }
    try door.refuses(signedPayload: Forge.resigned(jws, s + r), 401, ["signature"], "J13 swapped")
    // The negative of r, and numbers that are equal modulo n but too large.
    let rows = [
      Wide.minus(n, r) + s, Wide.plus(r, n) + s, r + Wide.plus(s, n), Wide.minus(ones, r) + s,
      Wide.minus(n, r) + Wide.minus(n, s),
    ]
    for row in rows {
      try door.refuses(signedPayload: Forge.resigned(jws, row), 401, ["signature"], "J13")
    }
  }

  @Test func theOtherTwin() throws {
    let jws = try authority.fresh()
    let twin = Self.twin(jws)
    try door.accepts(signedPayload: jws, "J21 first")
    let before = try door.stand()
    let reply = try #require(door.post(signedPayload: twin))
    #expect(reply.status == 200 && reply.text.contains("duplicate"), "J21")
    #expect(try door.stand() == before, "J21")
    let new = try authority.fresh()
    let high = Forge.signature(new).suffix(32).first.map { $0 >= 0x80 } ?? false
    try door.accepts(signedPayload: high ? new : Self.twin(new), "J22 high S")
    let low = try authority.fresh()
    let isLow = Forge.signature(low).suffix(32).first.map { $0 < 0x7F } ?? false
    try door.accepts(signedPayload: isLow ? low : Self.twin(low), "J22 low S")
  }

  private static func twin(_ jws: [UInt8]) -> [UInt8] {
    let signature = Forge.signature(jws)
    let s = Wide.minus(Wide.order, Array(signature.suffix(32)))
    return Forge.resigned(jws, signature.prefix(32) + s)
  }

  /// J14. Any file of Wycheproof's p1363 vectors that lies in Fixtures is held against the key.
  @Test func vectorsOfFixtures() throws {
    let folder = Bundle.module.resourceURL?.appendingPathComponent("Fixtures")
    let files = try FileManager.default.contentsOfDirectory(
      at: try #require(folder), includingPropertiesForKeys: nil)
    for file in files where file.pathExtension == "json" {
      let root = try JSONDocument(parsing: Array(try Data(contentsOf: file))).root
      for group in root["testGroups"]?.elements ?? [] { try hold(group) }
    }
  }

  private func hold(_ group: JSONElement) throws {
    let named = group["publicKeyDer"]?.string ?? group["keyDer"]?.string
    let key = try #require(named.flatMap(Hexadecimal.decode))
    let carrier = try certificate(for: key)
    for test in group["tests"]?.elements ?? [] {
      let message = try #require(test["msg"]?.string.flatMap(Hexadecimal.decode))
      let signature = try #require(test["sig"]?.string.flatMap(Hexadecimal.decode))
      let isGood = carrier.verifies(signature, over: SHA256.hash(message))
      #expect(isGood == (test["result"]?.string == "valid"), "tcId \(test["tcId"]?.integer ?? 0)")
    }
  }

  /// A certificate that carries this SubjectPublicKeyInfo; who signed it does not matter here.
  private func certificate(for key: [UInt8]) throws -> VerifyingKey {
    var forgery = try ChainForgery(under: authority)
    forgery.leafSurgery = { $0.children[6] = DERNode(key[...]) }
    return try VerifyingKey(of: try Certificate(der: try forgery.chain()[0]))
  }
}

/// Numbers of 256 bits, most significant byte first; what overflows is lost.
enum Wide {
  /// The order of P-256 (SP 800-186 section 3.2.1.3).
  static let order: [UInt8] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
    0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
  ]
  /// 2^256 - 2^224 + 2^192 + 2^96 - 1.
  static let prime: [UInt8] =
    [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 12)
    + [UInt8](repeating: 0xFF, count: 12)

  static func number(_ value: UInt8) -> [UInt8] { [UInt8](repeating: 0, count: 31) + [value] }

  static func plus(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
    var sum = [UInt8](repeating: 0, count: 32)
    var carry = 0
    for index in (0..<32).reversed() {
      let digit = Int(one[index]) + Int(other[index]) + carry
      sum[index] = UInt8(digit & 255)
      carry = digit >> 8
    }
    return sum
  }

  static func minus(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
    plus(plus(one, other.map { ~$0 }), number(1))
  }
}
