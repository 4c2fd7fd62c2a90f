import AppStoreSimulator
import Audit
import Foundation
import Glibc
import Ledger
import Platform
import StrictJSON
import Support
import Testing

@testable import SignedData

/// Rows X12 to X14, X18 to X22, X25 of the hostile inputs: keys, dates, signatures and odd fields
/// of certificates.
@Suite struct CertificateTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root)
  }

  private func refuses(
    _ row: String, _ codes: [String], at location: SourceLocation = #_sourceLocation,
    _ change: (inout ChainForgery) throws -> Void
  ) throws {
    var forgery = try ChainForgery(under: authority)
    try change(&forgery)
    let jws = try forgery.notification(authority)
    try server.refuses(signedPayload: jws, 401, codes, row, at: location)
  }

  @Test func `X12: a leaf with the wrong constraints or usages is untrusted`() throws {
    let (constraints, usage) = ("2.5.29.19", "2.5.29.15")
    try refuses("X12 CA", ["leaf_authority"]) {
      $0.leaf.replace(constraints, by: .basicConstraints(ca: true))
    }
    try refuses("X12 usage", ["leaf_key_usage"]) {
      $0.leaf.replace(usage, by: .keyUsage([.keyCertSign]))
    }
    // Extended key usage: serverAuth, clientAuth, codeSigning (RFC 5280 section 4.2.1.12).
    for purpose in 1...3 {
      let der = DERWriter.sequence(DERWriter.oid("1.3.6.1.5.5.7.3.\(purpose)"))
      try refuses("X12 purpose", ["leaf_purpose"]) {
        $0.leaf.extensions.append(CertificateExtension(oid: "2.5.29.37", der: der))
      }
    }
  }

  /// Apple's libraries accept each of these, and Apple may issue it any day.
  @Test func `J17c: a chain that differs from Apple's of today where no forgery follows is proven`()
    throws
  {
    let usage = "2.5.29.15"
    let purpose = { (oid: String) -> CertificateExtension in
      CertificateExtension(oid: "2.5.29.37", der: DERWriter.sequence(DERWriter.oid(oid)))
    }
    let changes: [(inout ChainForgery) throws -> Void] = [
      { $0.leaf.replace(usage, by: nil) },
      { $0.leaf.replace(usage, by: .keyUsage([.digitalSignature, .keyCertSign])) },
      { $0.leaf.extensions.append(purpose("2.5.29.37.0")) },
      { $0.leaf.extensions.append(purpose("1.2.840.113635.100.4.99")) },
      { $0.leaf.replace("2.5.29.19", by: nil) },
      { $0.leaf.replace("2.5.29.35", by: nil) },
      { $0.leaf.extensions.append(CertificateExtension(oid: "1.3.6.1.4.1.99999.7", der: [5, 0])) },
      {
        $0.intermediateKey = try .generate(.ed25519)
        $0.leaf.replace("2.5.29.35", by: nil)
      },
      { $0.leaf.subject[0].text = "Another name" },
    ]
    for (index, change) in changes.enumerated() {
      var forgery = try ChainForgery(under: authority)
      try change(&forgery)
      try server.accepts(signedPayload: try forgery.notification(authority), "J17c \(index)")
    }
  }

  @Test func `X13: a leaf key that is not on P-256 is untrusted`() throws {
    for kind in [SigningKey.Kind.p384, .rsa2048, .ed25519] {
      try refuses("X13 \(kind)", ["leaf_key"]) { $0.leafKey = try .generate(kind) }
    }
    let generators = [
      // secp256k1's generator, and P-521's (SEC 2 sections 2.4.1 and 2.6.1), as public keys.
      Self.key(
        "1.3.132.0.10",
        "0479BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798"
          + "483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8"),
      Self.key(
        "1.3.132.0.35",
        "0400C6858E06B70404E9CD9E3ECB662395B4429C648139053FB521F828AF606B4D3DBAA14B5E77EFE75928FE"
          + "1DC127A2FFA8DE3348B3C1856A429BF97E7E31C2E5BD66011839296A789A3BC0045C8A5FB42C7D1BD998F5"
          + "4449579B446817AFBD17273E662C97EE72995EF42640C550B9013FAD0761353C7086A272C24088BE94769F"
          + "D16650"),
      // The point at infinity, and points that are not on the curve.
      Self.key("1.2.840.10045.3.1.7", "00"),
      Self.key("1.2.840.10045.3.1.7", "04" + String(repeating: "11", count: 64)),
      Self.key("1.2.840.10045.3.1.7", "04" + String(repeating: "00", count: 64)),
    ]
    for key in generators {
      try refuses("X13", ["leaf_key", "certificate_key", "chain_path", "certificate_invalid"]) {
        $0.leafEdit = { $0.children[6] = DERNode(key[...]) }
      }
    }
  }

  private static func key(_ curve: String, _ point: String) -> [UInt8] {
    DERWriter.sequence(
      DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), DERWriter.oid(curve)),
      DERWriter.bits(Hexadecimal.decode(point) ?? []))
  }

  /// The leaf's own key in other encodings: the signature is valid, the certificate is not.
  @Test func `X13: other encodings of a P-256 key are untrusted`() throws {
    try refuses("X13 compressed", ["certificate_key"]) {
      let point = try $0.leafKey.publicKey().suffix(65)
      let sign: UInt8 = 2 + (point.last ?? 0) % 2
      let text = Hexadecimal.encode([sign] + point.dropFirst().prefix(32))
      let key = Self.key("1.2.840.10045.3.1.7", text)
      $0.leafEdit = { $0.children[6] = DERNode(key[...]) }
    }
    try refuses("X13 explicit", ["certificate_key"]) {
      let key = DERWriter.sequence(
        DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), Self.explicitP256),
        DERWriter.bits(Array(try $0.leafKey.publicKey().suffix(65))))
      $0.leafEdit = { $0.children[6] = DERNode(key[...]) }
    }
    try refuses("X13 hybrid", ["certificate_key"]) {
      var point = Array(try $0.leafKey.publicKey().suffix(65))
      point[0] = 6 + (point[64] & 1)
      let key = Self.key("1.2.840.10045.3.1.7", Hexadecimal.encode(point))
      $0.leafEdit = { $0.children[6] = DERNode(key[...]) }
    }
  }

  /// OpenSSL decodes the key of each certificate that it parses, before any signature is verified.
  @Test func `X13: an intermediate with other encodings of a key is untrusted`() throws {
    let point = Self.key("1.3.132.0.34", "02" + String(repeating: "11", count: 48))
    let explicit = DERWriter.sequence(
      DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), Self.explicitP256),
      DERWriter.bits([4] + [UInt8](repeating: 0x11, count: 64)))
    for key in [point, explicit] {
      try refuses("X13 intermediate", ["certificate_key"]) {
        $0.intermediateEdit = { $0.children[6] = DERNode(key[...]) }
      }
    }
  }

  /// P-256 by its parameters instead of its name (SEC 1 appendix C.2): CVE-2020-0601.
  private static var explicitP256: [UInt8] {
    let a = P256Arithmetic.minus(P256Arithmetic.prime, P256Arithmetic.number(3))
    let b = "5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B"
    let g =
      "046B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"
      + "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"
    return DERWriter.sequence(
      DERWriter.integer([1]),
      DERWriter.sequence(
        DERWriter.oid("1.2.840.10045.1.1"), DERWriter.integer(P256Arithmetic.prime)),
      DERWriter.sequence(DERWriter.octets(a), DERWriter.octets(Hexadecimal.decode(b) ?? [])),
      DERWriter.octets(Hexadecimal.decode(g) ?? []), DERWriter.integer(P256Arithmetic.order),
      DERWriter.integer([1]))
  }

  // MARK: Signatures

  @Test func `X14: weak signature algorithms and keys in a chain are untrusted`() throws {
    try refuses("X14 leaf", ["certificate_signature"]) { $0.leaf.digest = .sha1 }
    try refuses("X14 middle", ["certificate_signature"]) { $0.intermediate.digest = .sha1 }
    // Chains made with the openssl tool, each with one weakness that `CertificateMaker` cannot
    // make.
    let folder = try #require(Bundle.module.resourceURL?.appendingPathComponent("Fixtures"))
    func file(_ name: String) throws -> [UInt8] {
      Array(try Data(contentsOf: folder.appendingPathComponent(name)))
    }
    let root = try #require(CertificateMaker.der(pem: try file("root.pem")))
    let key = try SigningKey.read(pem: try file("leaf.key.pem"))
    let scratch = try InProcessServer.newFolder()
    defer { try? FileManager.default.removeItem(atPath: scratch) }
    let receiver = try Receiver(try InProcessServer.configuration(in: scratch, root: root))
    let rows = [
      ("rsa2048", nil), ("rsa1024", "intermediate_key"), ("md5", "certificate_signature"),
      ("sha1", "certificate_signature"),
    ]
    for (name, code) in rows {
      let chain = try ["leaf", "intermediate"].map {
        try #require(CertificateMaker.der(pem: try file("\(name).\($0).pem")))
      }
      let header = ForgedJWS.header(chain + [root])
      // 2027-01-15, when the fixtures are valid.
      let payload = Sample.notification(signed: 1_800_000_000_000)
        .with("data.transaction", nil).with("data.renewalInfo", nil).bytes
      let jws = try ForgedJWS.jws(header: header, payload: payload, key: key)
      var refusal: Refusal?
      do throws(Refusal) {
        _ = try receiver.receive(signedPayload: jws[...], at: 0)
      } catch {
        refusal = error
      }
      #expect(refusal == code.map { .untrusted($0) }, "X14 \(name)")
    }
  }

  // MARK: Dates

  private static let day: Int64 = 86_400_000

  @Test func `X18: certificates must be valid at the signed date`() throws {
    let date = Sample.purchase
    let rows: [(String, Int64, Int64)] = [
      ("X18 expired", date - 90 * Self.day, date - Self.day),
      ("X18 expired a second ago", date - Self.day, date - 1000),
      ("X18 not yet", date + Self.day, date + 90 * Self.day),
      ("X18 not yet by a second", date + 1000, date + 90 * Self.day),
      ("X18 never", date + Self.day, date - Self.day),
    ]
    for (row, from, to) in rows {
      try refuses(row, ["chain_dates", "certificate_dates"]) {
        ($0.leaf.notBefore, $0.leaf.notAfter) = (from, to)
      }
      try refuses(row, ["chain_dates", "certificate_dates"]) {
        ($0.intermediate.notBefore, $0.intermediate.notAfter) = (from, to)
      }
    }
    // Both ends are inclusive, for a new chain and for a cached one.
    for (from, to) in [(date - Self.day, date), (date, date + Self.day), (date, date + 1000)] {
      var edge = try ChainForgery(under: authority)
      (edge.leaf.notBefore, edge.leaf.notAfter) = (from, to)
      let header = ForgedJWS.header(try edge.chain())
      for _ in 0..<2 {
        let jws = try authority.fresh(header: header, key: edge.leafKey)
        try server.accepts(signedPayload: jws, "X18 the ends")
      }
    }
    // The root's own end.
    let rootKey = authority.rootKey
    var root = try CertificateMaker.root(rootKey)
    root.notAfter = date - Self.day
    let expired = try root.make(for: rootKey, signedBy: rootKey)
    let prover = try Prover(roots: try TrustRoots(files: [expired]))
    let jws = try CompactJWS(parsing: try authority.fresh()[...])
    #expect(throws: ProofFailure.untrusted("chain_dates")) { try prover.prove(jws, at: date) }
    try prover.prove(jws, at: date - 2 * Self.day)
  }

  @Test func `X19, X20, S12a: the date that counts is the signed date`() throws {
    let now = Clock.now()
    var forgery = try ChainForgery(under: authority)
    forgery.leaf.notAfter = now - Self.day
    let header = ForgedJWS.header(try forgery.chain())
    func notification(_ signed: Int64) throws -> [UInt8] {
      let payload = Sample.notification(signed: signed).with("data.transaction", nil)
        .with("data.renewalInfo", nil).bytes
      return try ForgedJWS.jws(header: header, payload: payload, key: forgery.leafKey)
    }
    let early = try notification(now - 3 * Self.day)
    try server.accepts(signedPayload: early, "X19")
    for late in [now, now - Self.day + 1001, now + 20 * 365 * Self.day] {
      try server.refuses(signedPayload: try notification(late), 401, ["chain_dates"], "X20 cached")
    }
    try server.accepts(signedPayload: try notification(now - 2 * Self.day), "X20 valid again")
    let dates: [Int64] = [
      0, -1, -999, -1000, .min, .min + 1, .max, 253_402_300_799_000, 253_402_300_800_000,
      1 << 53, -(1 << 53), 8_640_000_000_000_000,
    ]
    for date in dates {
      try server.refuses(
        signedPayload: try notification(date), 401, ["chain_dates"], "S12a \(date)")
      // The same without the cache.
      let fresh = try authority.signed(Sample.notification().with("signedDate", .integer(date)))
      let receiver = try Receiver(server.configuration)
      #expect(throws: Refusal.untrusted("chain_dates")) {
        try receiver.receive(signedPayload: fresh[...], at: now)
      }
    }
  }

  // MARK: Cache and network

  @Test func `X21: forged chains take bounded memory and evict no proven chain`() throws {
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    let good = try CompactJWS(parsing: try authority.fresh()[...])
    try prover.prove(good, at: Sample.purchase)
    #expect(prover.chainMisses == 1)
    var held = 0
    let before = Self.residentPages()
    let stranger = try Authority()
    for index in 0..<200 {
      // By then as many refused chains are remembered as may be.
      if index == ChainMemory.maximumRefused { held = Self.held(by: prover) }
      var forgery = try ChainForgery(under: index % 2 == 0 ? authority : stranger)
      forgery.intermediateSigner = index % 2 == 0 ? stranger.rootKey : nil
      let bad = try CompactJWS(
        parsing: try authority.fresh(chain: try forgery.chain(), key: forgery.leafKey)[...])
      #expect(throws: ProofFailure.self) { try prover.prove(bad, at: Sample.purchase) }
      // The valid chain in another header: proven, but its leaf did not sign that header.
      let header = ForgedJWS.header(authority.chain, extra: ",\"n\":\(index)")
      let borrowed = try CompactJWS(
        parsing: ForgedJWS.joined(
          ForgedJWS.url(header), ForgedJWS.url(good.payload), ForgedJWS.url(good.signature))[...])
      #expect(throws: ProofFailure.untrusted("signature")) {
        try prover.prove(borrowed, at: Sample.purchase)
      }
    }
    #expect(prover.chainMisses == 201 && prover.chainHits == 200)
    #expect(Self.held(by: prover) == held, "X21 stored")
    try prover.prove(good, at: Sample.purchase)
    #expect(prover.chainMisses == 201 && prover.chainHits == 201, "X21 evicted")
    let growth = Self.residentPages() - before
    // A sanitizer retains freed memory for a while, and finds leaks itself.
    let factor =
      ProcessInfo.processInfo.environment["SUBLEDGER_TIMEOUT_FACTOR"].flatMap(Int.init) ?? 1
    #expect(growth < 16_384 * factor, "X21 grew by \(growth) pages")
  }

  /// The size of everything that a prover stores, as lines of a dump.
  private static func held(by prover: Prover) -> Int {
    var text = ""
    dump(prover, to: &text)
    return text.utf8.count { $0 == 0x0A }
  }

  private static func residentPages() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0
  }

  @Test func `X22: nothing named in a certificate is fetched`() throws {
    let trap = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(trap) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(trap, $0, size) == 0 && listen(trap, 16) == 0 && getsockname(trap, $0, &size) == 0
      }
    }
    #expect(isBound)
    let port = UInt16(bigEndian: address.sin_port)
    for host in ["127.0.0.1:\(port)", "169.254.169.254", "[::1]:\(port)", ""] {
      var forgery = try ChainForgery(under: authority)
      let information = CertificateExtension.authorityInformation(
        issuer: "http://\(host)/root.der", ocsp: "http://\(host)/ocsp")
      forgery.leaf.replace("1.3.6.1.5.5.7.1.1", by: information)
      forgery.intermediate.replace("1.3.6.1.5.5.7.1.1", by: information)
      forgery.intermediate.replace("2.5.29.31", by: .revocationList("http://\(host)/crl"))
      forgery.leaf.extensions.append(.revocationList("http://\(host)/crl"))
      try server.accepts(signedPayload: try forgery.notification(authority), "X22")
      // If the issuer is missing, a verifier that fetches would fetch it.
      let chain = try forgery.chain()
      let jws = try authority.fresh(chain: [chain[0], chain[0], chain[2]], key: forgery.leafKey)
      try server.refuses(signedPayload: jws, 401, [], "X22")
    }
    var watched = pollfd(fd: trap, events: Int16(POLLIN), revents: 0)
    #expect(poll(&watched, 1, 200) == 0, "X22: a connection was made")
  }

  // MARK: Odd fields

  @Test func `X25: certificates with odd fields are untrusted`() throws {
    for isLeaf in [true, false] {
      func odd(_ row: String, _ codes: [String], _ surgery: @escaping (inout DERNode) -> Void)
        throws
      {
        try refuses(row, codes) {
          if isLeaf { $0.leafEdit = surgery } else { $0.intermediateEdit = surgery }
        }
      }
      try odd("X25 duplicate", ["certificate_extensions", "certificate_invalid"]) {
        $0.children[7].children[0].children.append($0.children[7].children[0].children[0])
      }
      try odd("X25 negative", ["certificate_serial"]) {
        $0.children[1] = DERNode(tag: 0x02, content: [0xFF, 0x01])
      }
      try odd("X25 40 bytes", ["certificate_serial"]) {
        $0.children[1] = DERNode(tag: 0x02, content: [UInt8](repeating: 0x11, count: 40))
      }
      try odd("X25 v1", ["certificate_version", "certificate_invalid"]) {
        $0.children.remove(at: 0)
      }
      try odd("X25 v1 without extensions", []) {
        $0.children.remove(at: 7)
        $0.children.remove(at: 0)
      }
      for time in ["261301000000Z", "260230000000Z", "2601010000Z", "260101000000", "x", ""] {
        try odd("X25 \(time)", []) {
          $0.children[4].children[0] = DERNode(tag: 0x17, content: Array(time.utf8))
        }
      }
    }
    // RFC 5280 section 4.1.2.5: no well-defined expiration date.
    var forgery = try ChainForgery(under: authority)
    forgery.leaf.notAfter = 253_402_300_799_000
    try server.accepts(signedPayload: try forgery.notification(authority), "X25 9999")
  }
}
