import Simulator
import Testing

@testable import SignedData

/// Promise 3: a key with a table proves what OpenSSL proves, and nothing else.
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

  /// The key signs at random, and so needs no seed; what is changed has one.
  @Test func saysWhatOpenSSLSays() throws {
    let seed = UInt64.random(in: 0...9_999)
    print("changed signatures: seed \(seed)")
    var dice = SeededGenerator(seed: seed)
    let judge = try key(tableAfter: .max)
    let table = try #require(KeyTable(judge.point[...]))
    for round in 0..<300 {
      let digest = SHA256.hash(Array("message \(round)".utf8))
      let signature = try signer.sign(Array("message \(round)".utf8))
      #expect(table.proves(signature, over: digest), "seed \(seed), round \(round)")
      #expect(judge.verifies(signature, over: digest))
      var (changed, other) = (signature, digest)
      let bit = Int(dice.number(in: 0...767))
      if bit < 512 {
        changed[bit / 8] ^= 1 << (bit % 8)
      } else {
        other[bit / 8 - 64] ^= 1 << (bit % 8)
      }
      #expect(
        table.proves(changed, over: other) == judge.verifies(changed, over: other),
        "seed \(seed), round \(round), bit \(bit)")
      #expect(!table.proves(changed, over: other), "seed \(seed), round \(round), bit \(bit)")
    }
  }

  /// A signature under one key is none under another, whose table it meets.
  @Test func provesNothingOfAnotherKey() throws {
    let other = try SigningKey.generate(.p256)
    let table = try #require(KeyTable(try other.publicKey().suffix(65)))
    let signature = try signer.sign([1, 2, 3])
    #expect(!table.proves(signature, over: SHA256.hash([1, 2, 3])))
    #expect(table.proves(try other.sign([1, 2, 3]), over: SHA256.hash([1, 2, 3])))
  }

  @Test func thereIsNoneOfWhatIsNoKey() throws {
    let point = try key(tableAfter: .max).point
    #expect(point.count == 65 && KeyTable(point[...]) != nil)
    #expect(KeyTable(point.dropLast()) == nil)
    #expect(KeyTable([]) == nil)
    #expect(KeyTable([0]) == nil, "the point at infinity")
    var beside = point
    beside[64] ^= 1
    #expect(KeyTable(beside[...]) == nil, "beside the curve")
    #expect(KeyTable(try SigningKey.generate(.p384).publicKey().suffix(97)) == nil)
  }

  /// It is made once it pays, and proves nothing else from then on.
  @Test func comesWhenItPays() throws {
    let key = try key(tableAfter: 3)
    let digest = SHA256.hash([7])
    let signature = try signer.sign([7])
    for place in 0..<6 {
      #expect(key.verifies(signature, over: digest))
      #expect((key.table != nil) == (place >= 3), "\(place)")
    }
    #expect(!key.verifies(signature, over: SHA256.hash([8])))
    #expect(!key.verifies(signature + [0], over: digest))
  }
}
