import AppStoreSimulator
import Platform
import SignedData
import Testing

/// Chains with one defect, and the cache of proven chains.
@Suite struct ChainTests {
  private static let signedAt: Int64 = 1_767_225_600_000
  private static let day: Int64 = 86_400_000

  /// A chain with a root of its own, whose certificates can be changed before they are signed.
  private struct ChainMaker {
    let keys: [SigningKey]
    var root: CertificateMaker
    var intermediate: CertificateMaker
    var leaf: CertificateMaker

    init() throws {
      keys = [try .generate(.p256), try .generate(.p384), try .generate(.p384)]
      root = try .root(keys[2])
      intermediate = try .intermediate(keys[1], issuer: root, issuerKey: keys[2])
      leaf = try .leaf(keys[0], issuer: intermediate, issuerKey: keys[1])
    }

    func chain() throws -> [[UInt8]] {
      [
        try leaf.make(for: keys[0], signedBy: keys[1]),
        try intermediate.make(for: keys[1], signedBy: keys[2]),
        try root.make(for: keys[2], signedBy: keys[2]),
      ]
    }

    func sign(_ chain: [[UInt8]]) throws -> [UInt8] {
      try JWSSigner(key: keys[0], chain: chain).sign(Array("{}".utf8))
    }
  }

  private func failure(
    _ maker: ChainMaker, root: [UInt8]? = nil, at time: Int64 = signedAt,
    _ change: ([[UInt8]]) -> [[UInt8]] = { $0 }
  ) throws -> ProofFailure? {
    let chain = try maker.chain()
    let prover = try Prover(roots: TrustRoots(files: [root ?? chain[2]]))
    return try failure(prover, try maker.sign(change(chain)), at: time)
  }

  private func failure(_ prover: Prover, _ text: [UInt8], at time: Int64) throws -> ProofFailure? {
    do {
      try prover.prove(try CompactJWS(parsing: text[...]), at: time)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a complete chain is proven`() throws { #expect(try failure(ChainMaker()) == nil) }

  @Test func `refuses a chain without Apple's markers`() throws {
    var maker = try ChainMaker()
    maker.leaf.extensions.removeAll { $0.oid == CertificateExtension.receiptSigningMarker }
    #expect(try failure(maker) == .untrusted("leaf_marker"))
    maker = try ChainMaker()
    maker.intermediate.extensions.removeAll { $0.oid == CertificateExtension.intermediateMarker }
    #expect(try failure(maker) == .untrusted("intermediate_marker"))
  }

  @Test func `a chain has three certificates in order`() throws {
    let maker = try ChainMaker()
    #expect(try failure(maker) { Array($0.dropLast()) } == .untrusted("x5c_length"))
    #expect(try failure(maker) { $0 + [$0[2]] } == .untrusted("x5c_length"))
    #expect(try failure(maker) { [$0[1], $0[0], $0[2]] } != nil)
    #expect(try failure(maker) { [$0[0], $0[0], $0[0]] } != nil)
    #expect(try failure(maker) { [$0[0] + [0], $0[1], $0[2]] } == .untrusted("certificate_der"))
    // A root configured as a file is valid with any third entry.
    #expect(try failure(maker) { [$0[0], $0[1], $0[0]] } == nil)
  }

  @Test func `only the intermediate is a certificate authority`() throws {
    var maker = try ChainMaker()
    maker.leaf.extensions[0] = .basicConstraints(ca: true)
    #expect(try failure(maker) == .untrusted("leaf_authority"))
    maker = try ChainMaker()
    maker.intermediate.extensions[0] = .basicConstraints(ca: false)
    #expect(try failure(maker) != nil)
  }

  @Test func `refuses SHA-1 signatures`() throws {
    var maker = try ChainMaker()
    maker.leaf.digest = .sha1
    #expect(try failure(maker) == .untrusted("certificate_signature"))
    maker = try ChainMaker()
    maker.intermediate.digest = .sha1
    #expect(try failure(maker) == .untrusted("certificate_signature"))
  }

  @Test func `a chain must be valid at the time of signing`() throws {
    var maker = try ChainMaker()
    maker.leaf.notBefore = Self.signedAt - Self.day
    maker.leaf.notAfter = Self.signedAt + Self.day
    #expect(try failure(maker) == nil)
    #expect(try failure(maker, at: Self.signedAt - Self.day) == nil)
    #expect(try failure(maker, at: Self.signedAt + Self.day - 1000) == nil)
    for outside in [
      Self.signedAt - Self.day - 1, Self.signedAt + Self.day + 1000, 0, -1, .max, .min,
    ] {
      #expect(try failure(maker, at: outside) == .untrusted("chain_dates"))
    }
  }

  @Test func `a cached chain is refused outside its validity`() throws {
    var maker = try ChainMaker()
    maker.leaf.notAfter = Self.signedAt + Self.day
    let chain = try maker.chain()
    let prover = try Prover(roots: TrustRoots(files: [chain[2]]))
    let text = try maker.sign(chain)
    #expect(try failure(prover, text, at: Self.signedAt) == nil)
    let late = try failure(prover, text, at: Self.signedAt + 2 * Self.day)
    #expect(late == .untrusted("chain_dates"))
    #expect(prover.chainHits == 1 && prover.chainMisses == 1)
    #expect(try failure(prover, text, at: Self.signedAt) == nil)
  }

  @Test func `a cached leaf proves nothing under other certificates`() throws {
    let maker = try ChainMaker()
    let chain = try maker.chain()
    let prover = try Prover(roots: TrustRoots(files: [chain[2]]))
    #expect(try failure(prover, maker.sign(chain), at: Self.signedAt) == nil)
    for other in [[chain[0], chain[0], chain[2]], [chain[0], chain[2], chain[2]], [chain[0]]] {
      #expect(try failure(prover, maker.sign(other), at: Self.signedAt) != nil)
    }
    #expect(prover.chainHits == 0)
  }

  @Test func `the cache holds only proven chains and is bounded`() throws {
    let maker = try ChainMaker()
    let chain = try maker.chain()
    let prover = try Prover(roots: TrustRoots(files: [chain[2]]))
    let text = try maker.sign(chain)
    #expect(try failure(prover, text, at: Self.signedAt) == nil)
    // A signature by another key evicts nothing.
    let stranger = try SigningKey.generate(.p256)
    let foreign = try JWSSigner(key: stranger, chain: chain).sign(Array("{}".utf8))
    #expect(try failure(prover, foreign, at: Self.signedAt) == .untrusted("signature"))
    #expect(try failure(prover, text, at: Self.signedAt) == nil)
    // 40 further leaves of the same authority evict the first chain.
    for _ in 0..<40 {
      let leaf = try maker.leaf.make(for: maker.keys[0], signedBy: maker.keys[1])
      #expect(
        try failure(prover, maker.sign([leaf, chain[1], chain[2]]), at: Self.signedAt) == nil)
    }
    let misses = prover.chainMisses
    #expect(try failure(prover, text, at: Self.signedAt) == nil)
    #expect(prover.chainMisses == misses + 1)
  }
}

/// RFC 7515 appendix A.3: a signature made by another implementation.
@Suite struct VerifyingKeyTests {
  private func bytes(_ text: String) throws -> [UInt8] {
    try #require(Base64URL.decode(Array(text.utf8)[...]))
  }

  @Test func `the example of RFC 7515 verifies`() throws {
    let signing = try SigningKey.generate(.p256)
    let root = try CertificateMaker.root(signing)
    let der = try root.make(for: signing, signedBy: signing)
    // The example has a bare key, which replaces the one in a certificate.
    let point = Array(try signing.publicKey().suffix(64))
    let start = try #require((0..<der.count - 64).first { Array(der[$0..<$0 + 64]) == point })
    let x = try bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
    let y = try bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
    let changed: [UInt8] = Array(der[..<start]) + x + y + Array(der[(start + 64)...])
    let certificate = try Certificate(der: changed)
    let key = try VerifyingKey(of: certificate)
    let input =
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
      + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    var signature = try bytes(
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
    let digest = SHA256.hash(Array(input.utf8))
    #expect(key.verifies(signature, over: digest))
    #expect(!key.verifies(signature + [0], over: digest))
    #expect(!key.verifies(signature, over: SHA256.hash(Array((input + "A").utf8))))
    signature[63] ^= 1
    #expect(!key.verifies(signature, over: digest))
  }
}
