import AppStoreSimulator
import Platform
import Testing

@testable import SignedData

/// Promise 3: a key with a table accepts the same signatures as OpenSSL.
@Suite struct KeyTableTests {
  private let signer: SigningKey
  private let certificate: Certificate

  init() throws {
    signer = try .generate(.p256)
    let maker = try CertificateMaker.root(signer)
    certificate = try Certificate(der: try maker.make(for: signer, signedBy: signer))
  }

  private func key(tableAfter: Int) throws -> VerifyingKey {
    try VerifyingKey(of: certificate, tableAfter: tableAfter)
  }

  /// Signatures are random by nature; the seed is for the bits that are changed.
  @Test func `a table agrees with OpenSSL on valid and changed signatures`() throws {
    let seed = UInt64.random(in: 0...9_999)
    print("changed signatures: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let reference = try key(tableAfter: .max)
    let table = try #require(KeyTable(reference.point[...]))
    for round in 0..<300 {
      let digest = SHA256.hash(Array("message \(round)".utf8))
      let signature = try signer.sign(Array("message \(round)".utf8))
      #expect(table.proves(signature, over: digest), "seed \(seed), round \(round)")
      #expect(reference.verifies(signature, over: digest))
      var (changed, other) = (signature, digest)
      let bit = Int(generator.number(in: 0...767))
      if bit < 512 {
        changed[bit / 8] ^= 1 << (bit % 8)
      } else {
        other[bit / 8 - 64] ^= 1 << (bit % 8)
      }
      #expect(
        table.proves(changed, over: other) == reference.verifies(changed, over: other),
        "seed \(seed), round \(round), bit \(bit)")
      #expect(!table.proves(changed, over: other), "seed \(seed), round \(round), bit \(bit)")
    }
  }

  @Test func `a table refuses another key's signature`() throws {
    let other = try SigningKey.generate(.p256)
    let table = try #require(KeyTable(try other.publicKey().suffix(65)))
    let signature = try signer.sign([1, 2, 3])
    #expect(!table.proves(signature, over: SHA256.hash([1, 2, 3])))
    #expect(table.proves(try other.sign([1, 2, 3]), over: SHA256.hash([1, 2, 3])))
  }

  @Test func `there is no table for a point that is not on P-256`() throws {
    let point = try key(tableAfter: .max).point
    #expect(point.count == 65 && KeyTable(point[...]) != nil)
    #expect(KeyTable(point.dropLast()) == nil)
    #expect(KeyTable([]) == nil)
    #expect(KeyTable([0]) == nil, "the point at infinity")
    var changed = point
    changed[64] ^= 1
    #expect(KeyTable(changed[...]) == nil, "not on the curve")
    #expect(KeyTable(try SigningKey.generate(.p384).publicKey().suffix(97)) == nil)
  }

  /// The key and the digest of RFC 6979 section A.2.5 ("sample"), and a signature with k = 12345.
  /// The second signature has p - n added to R: another number modulo n, and the same as x modulo p
  /// once n is added.
  @Test func `refuses an R that equals x only modulo the field`() throws {
    let key = Self.bytes(
      "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
        + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")
    let table = try #require(KeyTable(key[...]))
    let digest = SHA256.hash(Array("sample".utf8))
    let good = Self.bytes(
      "26efcebd0ee9e34a669187e18b3a9122b2f733945b649cc9f9f921e9f9dad812"
        + "680cdca8b503d1d97551d07a7d69a7aa4078e0e643d42665bc8b38ef3f81ab16")
    #expect(table.proves(good, over: digest))
    let other = Self.bytes(
      "26efcebd0ee9e34a669187e18b3a9122f61038e7b44cfe45063f5726fd77b2c0"
        + "d92f38b2aa6f97f0ae42e367d1ff651a6c780b550414a23c75e148080e79ec85")
    #expect(!table.proves(other, over: digest))
  }

  /// The key was made for the signature R = 3, S = 12345, whose x coordinate is n + 3.
  @Test func `accepts an x between the order and the field`() throws {
    let key = Self.bytes(
      "04ee79e75323b9884fe3496358dced2631ef41d3143f67ce323a7b75285ca9e605"
        + "f456f6b014041df5fa35a3cf57e91b54cc3c0b6377bad79b2acbc3897522b383")
    let table = try #require(KeyTable(key[...]))
    let digest = SHA256.hash(Array("sample".utf8))
    var signature = [UInt8](repeating: 0, count: 64)
    signature[31] = 3
    signature.replaceSubrange(62..., with: [0x30, 0x39])
    #expect(table.proves(signature, over: digest))
  }

  private static func bytes(_ digits: String) -> [UInt8] {
    Hexadecimal.decode(digits) ?? []
  }

  /// It accepts and refuses the same signatures before and after.
  @Test func `the table is made after tableAfter signatures`() throws {
    let key = try key(tableAfter: 3)
    let digest = SHA256.hash([7])
    let signature = try signer.sign([7])
    for number in 0..<6 {
      #expect(key.verifies(signature, over: digest))
      #expect((key.table != nil) == (number >= 3), "\(number)")
    }
    #expect(!key.verifies(signature, over: SHA256.hash([8])))
    #expect(!key.verifies(signature + [0], over: digest))
  }
}
