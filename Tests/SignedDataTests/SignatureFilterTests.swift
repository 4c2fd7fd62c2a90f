import AppStoreSimulator
import Platform
import Testing

@testable import SignedData

/// Promise 3, and that nothing genuine is refused: a filter never refuses a signature that OpenSSL
/// accepts.
@Suite struct SignatureFilterTests {
  /// Signatures are random by nature; the seed is for messages and for the bits that are changed.
  private func generator() -> (seed: UInt64, generator: SeededGenerator) {
    let seed = UInt64.random(in: 0...9_999)
    print("signature filter: seed \(seed)")
    return (seed, SeededGenerator(seed: seed))
  }

  /// A self-signed authority, and its certificate with a filter.
  private func authority() throws -> (key: SigningKey, maker: CertificateMaker, Certificate) {
    let key = try SigningKey.generate(.p384)
    let maker = try CertificateMaker.root(key)
    let certificate = try Certificate(der: try maker.make(for: key, signedBy: key))
    try makeFilter(of: certificate)
    return (key, maker, certificate)
  }

  /// Shows a certificate wrong signatures until it has a filter.
  private func makeFilter(of issuer: Certificate) throws {
    let wrong = try forged()
    for _ in 1..<SignatureFilter.breakEven {
      #expect(!wrong.isSigned(by: issuer) && issuer.filter == nil)
    }
    #expect(!wrong.isSigned(by: issuer))
  }

  private func forged() throws -> Certificate {
    let key = try SigningKey.generate(.p384)
    return try Certificate(der: try CertificateMaker.root(key).make(for: key, signedBy: key))
  }

  @Test(arguments: P384Vector.all)
  func `a filter lets a special valid signature pass, and refuses it when changed`(
    _ vector: P384Vector
  ) throws {
    let filter = try #require(SignatureFilter(vector.point[...]))
    // Twice, because a filter uses its numbers again.
    for _ in 0..<2 {
      #expect(!filter.refuses(vector.signature[...], over: vector.digest))
      var digest = vector.digest
      digest[0] ^= 1
      #expect(filter.refuses(vector.signature[...], over: digest))
      var signature = vector.signature
      signature[signature.count - 1] ^= 2
      #expect(filter.refuses(signature[...], over: vector.digest))
    }
  }

  @Test func `a filter leaves numbers out of range and other forms to OpenSSL`() throws {
    let vector = P384Vector.all[0]
    let filter = try #require(SignatureFilter(vector.point[...]))
    let order = P384Vector.order
    var next = order
    next[47] += 1
    for number in [[], order, next, [UInt8](repeating: 0xFF, count: 60)] {
      for signature in [
        P384Vector.signature(number, [5]), P384Vector.signature([5], number),
        P384Vector.signature(number, number),
      ] {
        #expect(!filter.refuses(signature[...], over: vector.digest), "\(number)")
      }
    }
    let negative = DERWriter.sequence(DERWriter.element(2, [0xFF]), DERWriter.integer([5]))
    for signature in [negative, [], [0x30, 0], Array(vector.signature.dropLast())] {
      #expect(!filter.refuses(signature[...], over: vector.digest), "\(signature)")
    }
    // In range, and wrong.
    var last = order
    last[47] -= 1
    for (r, s) in [([1], [1]), (last, last), ([1], last), (last, [1])] {
      #expect(filter.refuses(P384Vector.signature(r, s)[...], over: vector.digest), "\(r) \(s)")
    }
    #expect(!filter.refuses(vector.signature[...], over: vector.digest), "and nothing has changed")
  }

  @Test func `a filter passes each of 3,000 valid signatures and refuses them when changed`()
    throws
  {
    var (seed, generator) = generator()
    for _ in 0..<6 {
      let key = try SigningKey.generate(.p384)
      let filter = try #require(SignatureFilter(try key.publicKey().suffix(97)))
      for round in 0..<500 {
        let message = (0..<20).map { _ in UInt8(generator.number(in: 0...255)) }
        let signature = try key.signDER(message, digest: .sha256)
        let hash = SHA256.hash(message)
        #expect(!filter.refuses(signature[...], over: hash), "seed \(seed), round \(round)")
        let (changed, other) = Self.change(signature, hash, &generator)
        #expect(filter.refuses(changed[...], over: other), "seed \(seed), round \(round)")
      }
    }
  }

  @Test func `a filter refuses no certificate that OpenSSL accepts, and every one it does not`()
    throws
  {
    var (seed, generator) = generator()
    for _ in 0..<4 {
      let (key, maker, issuer) = try authority()
      #expect(issuer.filter != nil)
      for round in 0..<250 {
        var leaf = try CertificateMaker.leaf(key, issuer: maker, issuerKey: key)
        leaf.digest = generator.pick(SigningKey.Digest.allCases)
        var der = try leaf.make(for: key, signedBy: key)
        let good = try Certificate(der: der)
        #expect(good.isSigned(by: issuer), "seed \(seed), round \(round)")
        #expect(!good.isRefused(byFilterOf: issuer), "seed \(seed), round \(round)")
        let bit = Int(generator.number(in: 0...Int64(der.count * 8 - 1)))
        der[bit / 8] ^= 1 << (bit % 8)
        // Many changes make it no certificate.
        guard let changed = try? Certificate(der: der) else { continue }
        let isSigned = changed.isSigned(by: issuer)
        let isRefused = changed.isRefused(byFilterOf: issuer)
        #expect(!isSigned && issuer.filter != nil, "seed \(seed), round \(round), bit \(bit)")
        // Else the change may be in the algorithm, or in the form of the signature.
        if DERShape.values(in: der[...])?[1...] == DERShape.values(in: good.der[...])?[1...] {
          #expect(isRefused, "seed \(seed), round \(round), bit \(bit)")
        }
      }
    }
  }

  @Test func `a filter refuses another key's signature`() throws {
    let (_, _, issuer) = try authority()
    #expect(try forged().isRefused(byFilterOf: issuer))
    #expect(!issuer.isRefused(byFilterOf: issuer))
  }

  @Test func `there is a filter for points on P-384 alone`() throws {
    let point = P384Vector.all[0].point
    #expect(point.count == 97 && SignatureFilter(point[...]) != nil)
    #expect(SignatureFilter(point.dropLast()) == nil)
    #expect(SignatureFilter([]) == nil && SignatureFilter([0]) == nil)
    var changed = point
    changed[96] ^= 1
    #expect(SignatureFilter(changed[...]) == nil, "not on the curve")
    for kind in [SigningKey.Kind.p256, .rsa2048] {
      let key = try SigningKey.generate(kind)
      let other = try Certificate(der: try CertificateMaker.root(key).make(for: key, signedBy: key))
      try makeFilter(of: other)
      #expect(other.filter == nil && other.isSigned(by: other))
      #expect(try !forged().isRefused(byFilterOf: other))
    }
  }

  /// Changes one bit of r, s or the digest that counts.
  private static func change(
    _ signature: [UInt8], _ hash: [UInt8], _ generator: inout SeededGenerator
  ) -> ([UInt8], [UInt8]) {
    var (signature, hash) = (signature, hash)
    let bit = UInt8(1) << generator.number(in: 0...7)
    switch generator.number(in: 0...2) {
    case 0: hash[Int(generator.number(in: 0...31))] ^= bit
    // After the sign and the first digits of r, which start at 4, and before its end.
    case 1: signature[Int(generator.number(in: 8...40))] ^= bit
    default: signature[signature.count - Int(generator.number(in: 1...40))] ^= bit
    }
    return (signature, hash)
  }
}
