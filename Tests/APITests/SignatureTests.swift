import AppStoreSimulator
import Audit
import Foundation
import Ledger
import Platform
import StrictJSON
import Support
import Testing

@testable import SignedData

/// Rows J8 and J14 of the hostile inputs: the 64 bytes of the signature.
@Suite struct SignatureTests {
  private let authority: Authority

  init() throws { authority = try Authority.shared.get() }

  @Test func `J8: a signature with one flipped bit is untrusted`() throws {
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    let jws = try authority.fresh()
    let signature = ForgedJWS.signature(jws)
    for bit in 0..<512 {
      var flipped = signature
      flipped[bit / 8] ^= 1 << (bit % 8)
      let changed = try CompactJWS(parsing: ForgedJWS.resigned(jws, flipped)[...])
      #expect(throws: ProofFailure.untrusted("signature"), "J8 bit \(bit)") {
        try prover.prove(changed, at: Sample.start)
      }
    }
    try prover.prove(CompactJWS(parsing: jws[...]), at: Sample.start)
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
