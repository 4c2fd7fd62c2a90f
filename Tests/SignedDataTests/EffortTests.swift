import AppStoreSimulator
import Platform
import Support
import Testing

@testable import SignedData

/// The work before a refusal is bounded. Counted are validations of a path, each of which takes
/// longer than the rest of a notification.
@Suite struct EffortTests {
  private let authority: Authority
  private let prover: Prover
  private static let signedAt: Int64 = 1_767_225_600_000

  init() throws {
    authority = try Authority.shared.get()
    prover = try Prover(roots: try TrustRoots(files: [authority.root]))
  }

  private func failure(
    _ chain: [[UInt8]], extra: String = "", key: SigningKey? = nil, at time: Int64 = signedAt,
    by other: Prover? = nil
  ) throws -> ProofFailure? {
    let jws = try ForgedJWS.jws(
      header: ForgedJWS.header(chain, extra: extra), payload: Array("{}".utf8),
      key: key ?? authority.leafKey)
    do throws(ProofFailure) {
      try (other ?? prover).prove(try CompactJWS(parsing: jws[...]), at: time)
      return nil
    } catch {
      return error
    }
  }

  @Test func `strange headers around one chain cost one validation`() throws {
    let stranger = try SigningKey.generate(.p256)
    for number in 0..<50 {
      let found = try failure(authority.chain, extra: #","n":\#(number)"#, key: stranger)
      #expect(found == .untrusted("signature"))
    }
    #expect(prover.pathChecks == 1 && prover.chainMisses == 1 && prover.chainHits == 49)
    #expect(try failure(authority.chain) == nil)
    #expect(prover.pathChecks == 1)
  }

  @Test func `a refused chain costs one check of each signature`() throws {
    var forgery = try ChainForgery(under: authority)
    forgery.leafSigner = try .generate(.p384)
    let chain = try forgery.chain()
    for number in 0..<50 {
      let found = try failure(chain, extra: #","n":\#(number)"#, key: forgery.leafKey)
      #expect(found == .untrusted("chain_path"))
    }
    #expect(prover.pathChecks == 0 && prover.signatureChecks == 2)
    #expect(prover.chainMisses == 1 && prover.chainHits == 0)
  }

  /// Apple's intermediates are public: anyone can put any of them into a header.
  @Test func `a leaf that the root's other intermediate did not sign costs one check`() throws {
    let other = try ChainForgery(under: authority)
    let intermediate = try other.chain()[1]
    for number in 0..<4 {
      var forgery = other
      forgery.leafSigner = try .generate(.p384)
      let leaf = try forgery.chain()[0]
      let found = try failure(
        [leaf, intermediate, authority.chain[2]], key: forgery.leafKey)
      #expect(found == .untrusted("chain_path"))
      #expect(prover.pathChecks == 0 && prover.signatureChecks == number + 2)
    }
  }

  @Test func `an intermediate that no root signed costs one check`() throws {
    for number in 0..<3 {
      var forgery = try ChainForgery(under: authority)
      forgery.intermediateSigner = try .generate(.p384)
      let found = try failure(try forgery.chain(), key: forgery.leafKey)
      #expect(found == .untrusted("chain_path"))
      #expect(prover.pathChecks == 0 && prover.signatureChecks == number + 1)
    }
  }

  @Test func `a leaf that a known intermediate did not sign costs no validation`() throws {
    #expect(try failure(authority.chain) == nil)
    for _ in 0..<3 {
      var forgery = try ChainForgery(under: authority)
      forgery.intermediateKey = authority.intermediateKey
      forgery.leafSigner = try .generate(.p384)
      let leaf = try forgery.chain()[0]
      let found = try failure(
        [leaf, authority.chain[1], authority.chain[2]], key: forgery.leafKey)
      #expect(found == .untrusted("chain_path"))
    }
    #expect(prover.pathChecks == 1)
    // A new leaf of that intermediate is proven.
    var next = try ChainForgery(under: authority)
    next.intermediateKey = authority.intermediateKey
    next.leafSigner = authority.intermediateKey
    next.leaf.replace("2.5.29.35", by: nil)
    let leaf = try next.chain()[0]
    #expect(
      try failure([leaf, authority.chain[1], authority.chain[2]], key: next.leafKey) == nil)
  }

  /// OpenSSL's verification on P-384 costs more than two genuine notifications.
  @Test func `after six wrong leaves of an intermediate a filter refuses the others`() throws {
    for number in 1...10 {
      var forgery = try ChainForgery(under: authority)
      forgery.intermediateKey = authority.intermediateKey
      forgery.leafSigner = try .generate(.p384)
      // Else the leaf names another issuer.
      forgery.leaf.replace("2.5.29.35", by: nil)
      let leaf = try forgery.chain()[0]
      let found = try failure(
        [leaf, authority.chain[1], authority.chain[2]], key: forgery.leafKey)
      #expect(found == .untrusted("chain_path"))
      #expect(prover.signatureChecks == number + 1)
      #expect(prover.filteredSignatures == max(0, number - 6))
    }
    #expect(try failure(authority.chain) == nil)
    #expect(prover.filteredSignatures == 4 && prover.pathChecks == 1)
  }

  @Test(arguments: [true, false])
  func `after six wrong intermediates a filter refuses the others`(isPinned: Bool) throws {
    let roots =
      isPinned
      ? TrustRoots(pinned: [SHA256.hash(authority.root)])
      : try TrustRoots(files: [authority.root])
    let prover = try Prover(roots: roots)
    for number in 1...10 {
      var forgery = try ChainForgery(under: authority)
      forgery.intermediateSigner = try .generate(.p384)
      let found = try failure(try forgery.chain(), key: forgery.leafKey, by: prover)
      #expect(found == .untrusted("chain_path"))
      #expect(prover.signatureChecks == number)
      #expect(prover.filteredSignatures == max(0, number - 6))
    }
    #expect(try failure(authority.chain, by: prover) == nil)
    // Another intermediate of that root.
    let other = try ChainForgery(under: authority)
    #expect(try failure(try other.chain(), key: other.leafKey, by: prover) == nil)
    #expect(prover.filteredSignatures == 4 && prover.pathChecks == 2)
  }

  @Test func `a chain refused for its date is proven at another date`() throws {
    #expect(try failure(authority.chain, at: 0) == .untrusted("chain_dates"))
    #expect(try failure(authority.chain, at: 0) == .untrusted("chain_dates"))
    #expect(prover.pathChecks == 0)
    #expect(try failure(authority.chain) == nil)
    #expect(try failure(authority.chain, extra: #","n":1"#, at: 0) == .untrusted("chain_dates"))
  }

  @Test func `a certificate with more values than any needs is refused before OpenSSL`() throws {
    let many = DERWriter.sequence([UInt8](repeatElement([5, 0], count: 600).joined()))
    for der in [many, [UInt8](repeating: 0xFF, count: 2400)] {
      var forgery = try ChainForgery(under: authority)
      forgery.leaf.extensions.append(CertificateExtension(oid: "1.3.6.1.4.1.99999.7", der: der))
      let chain = try forgery.chain()
      #expect(try failure(chain, key: forgery.leafKey) == .untrusted("certificate_der"))
    }
    // What Apple might add.
    var forgery = try ChainForgery(under: authority)
    for number in 0..<40 {
      forgery.leaf.extensions.append(
        CertificateExtension(oid: "1.3.6.1.4.1.99999.\(number)", der: DERWriter.octets([5, 0])))
    }
    #expect(try failure(try forgery.chain(), key: forgery.leafKey) == nil)
  }

  @Test func `a header with more members or values than any needs is malformed`() throws {
    let members = (0..<128).map { #","n\#($0)":\#($0)"# }.joined()
    let values = #","n":["# + String(repeating: "1,", count: 2048) + "1]"
    for extra in [members, values] {
      #expect(try failure(authority.chain, extra: extra) == .malformed("jws_header"))
    }
  }
}
