import Encoding
import SignedData
import Simulator
import Testing

/// Chains that are almost right, and how long a proven one is believed.
@Suite struct ChainTests {
  private static let moment: Int64 = 1_767_225_600_000
  private static let day: Int64 = 86_400_000

  /// A chain under its own root, bent before it is signed.
  private struct Bench {
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
    _ bench: Bench, root: [UInt8]? = nil, at time: Int64 = moment,
    _ change: ([[UInt8]]) -> [[UInt8]] = { $0 }
  ) throws -> ProofFailure? {
    let chain = try bench.chain()
    let prover = try Prover(roots: TrustRoots(files: [root ?? chain[2]]))
    return try failure(prover, try bench.sign(change(chain)), at: time)
  }

  private func failure(_ prover: Prover, _ text: [UInt8], at time: Int64) throws -> ProofFailure? {
    do {
      try prover.prove(try CompactJWS(parsing: text[...]), at: time)
      return nil
    } catch {
      return error
    }
  }

  @Test func aWholeChainIsGood() throws { #expect(try failure(Bench()) == nil) }

  @Test func markersAreDemanded() throws {
    var bench = try Bench()
    bench.leaf.extensions.removeAll { $0.oid == CertificateExtension.receiptSigningMarker }
    #expect(try failure(bench) == .untrusted("leaf_marker"))
    bench = try Bench()
    bench.intermediate.extensions.removeAll { $0.oid == CertificateExtension.intermediateMarker }
    #expect(try failure(bench) == .untrusted("intermediate_marker"))
  }

  @Test func chainsHaveThreeInOrder() throws {
    let bench = try Bench()
    #expect(try failure(bench) { Array($0.dropLast()) } == .untrusted("x5c_length"))
    #expect(try failure(bench) { $0 + [$0[2]] } == .untrusted("x5c_length"))
    #expect(try failure(bench) { [$0[1], $0[0], $0[2]] } != nil)
    #expect(try failure(bench) { [$0[0], $0[0], $0[0]] } != nil)
    #expect(try failure(bench) { [$0[0] + [0], $0[1], $0[2]] } == .untrusted("certificate_der"))
    // A root configured as a file counts whatever the third entry is.
    #expect(try failure(bench) { [$0[0], $0[1], $0[0]] } == nil)
  }

  @Test func authorityIsWhereItBelongs() throws {
    var bench = try Bench()
    bench.leaf.extensions[0] = .basicConstraints(ca: true)
    #expect(try failure(bench) == .untrusted("leaf_authority"))
    bench = try Bench()
    bench.intermediate.extensions[0] = .basicConstraints(ca: false)
    #expect(try failure(bench) != nil)
  }

  @Test func weakSignaturesCountForNothing() throws {
    var bench = try Bench()
    bench.leaf.digest = .sha1
    #expect(try failure(bench) == .untrusted("certificate_signature"))
    bench = try Bench()
    bench.intermediate.digest = .sha1
    #expect(try failure(bench) == .untrusted("certificate_signature"))
  }

  @Test func datesAreAsOfTheSigning() throws {
    var bench = try Bench()
    bench.leaf.notBefore = Self.moment - Self.day
    bench.leaf.notAfter = Self.moment + Self.day
    #expect(try failure(bench) == nil)
    #expect(try failure(bench, at: Self.moment - Self.day) == nil)
    #expect(try failure(bench, at: Self.moment + Self.day - 1000) == nil)
    for outside in [Self.moment - Self.day - 1, Self.moment + Self.day + 1000, 0, -1, .max, .min] {
      #expect(try failure(bench, at: outside) == .untrusted("chain_dates"))
    }
  }

  /// A chain that was proven once is no longer so when a date lies outside it.
  @Test func rememberedChainsKeepTheirDates() throws {
    var bench = try Bench()
    bench.leaf.notAfter = Self.moment + Self.day
    let chain = try bench.chain()
    let prover = try Prover(roots: TrustRoots(files: [chain[2]]))
    let text = try bench.sign(chain)
    #expect(try failure(prover, text, at: Self.moment) == nil)
    let late = try failure(prover, text, at: Self.moment + 2 * Self.day)
    #expect(late == .untrusted("chain_dates"))
    #expect(prover.chainHits == 1 && prover.chainMisses == 1)
    #expect(try failure(prover, text, at: Self.moment) == nil)
  }

  /// It is the whole chain that is remembered: the same leaf under other certificates is another.
  @Test func rememberedChainsAreWhole() throws {
    let bench = try Bench()
    let chain = try bench.chain()
    let prover = try Prover(roots: TrustRoots(files: [chain[2]]))
    #expect(try failure(prover, bench.sign(chain), at: Self.moment) == nil)
    for other in [[chain[0], chain[0], chain[2]], [chain[0], chain[2], chain[2]], [chain[0]]] {
      #expect(try failure(prover, bench.sign(other), at: Self.moment) != nil)
    }
    #expect(prover.chainHits == 0)
  }

  /// Only what was proven is remembered, and not without end.
  @Test func memoryIsBounded() throws {
    let bench = try Bench()
    let chain = try bench.chain()
    let prover = try Prover(roots: TrustRoots(files: [chain[2]]))
    let text = try bench.sign(chain)
    #expect(try failure(prover, text, at: Self.moment) == nil)
    // Strangers push nobody out.
    let stranger = try SigningKey.generate(.p256)
    let foreign = try JWSSigner(key: stranger, chain: chain).sign(Array("{}".utf8))
    #expect(try failure(prover, foreign, at: Self.moment) == .untrusted("signature"))
    #expect(try failure(prover, text, at: Self.moment) == nil)
    // 40 further leaves of the same authority do.
    for _ in 0..<40 {
      let leaf = try bench.leaf.make(for: bench.keys[0], signedBy: bench.keys[1])
      #expect(try failure(prover, bench.sign([leaf, chain[1], chain[2]]), at: Self.moment) == nil)
    }
    let misses = prover.chainMisses
    #expect(try failure(prover, text, at: Self.moment) == nil)
    #expect(prover.chainMisses == misses + 1)
  }
}

/// RFC 7515 appendix A.3: a signature somebody else made.
@Suite struct VerifyingKeyTests {
  private func bytes(_ text: String) throws -> [UInt8] {
    try #require(Base64URL.decode(Array(text.utf8)[...]))
  }

  @Test func exampleOfRFC7515() throws {
    let signing = try SigningKey.generate(.p256)
    let root = try CertificateMaker.root(signing)
    let der = try root.make(for: signing, signedBy: signing)
    // The example has a bare key: it takes the place of the one in a certificate.
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
