import AppStoreSimulator
import Platform
import SignedData
import Support
import Testing

/// Receipts with one defect each, and those of earlier years.
@Suite struct ReceiptProverTests {
  private static let createdAt: Int64 = 1_767_225_600_000
  private static let day: Int64 = 86_400_000

  /// A chain of its own, whose certificates can be changed before they are signed: of RSA alone,
  /// as Apple's for receipts.
  struct ReceiptChain {
    let keys: [SigningKey]
    var root: CertificateMaker
    var intermediate: CertificateMaker
    var leaf: CertificateMaker

    private static let shared = Result {
      [try SigningKey.generate(.rsa2048), try .generate(.rsa2048), try .generate(.rsa2048)]
    }

    init(_ digest: SigningKey.Digest = .sha256, keys: [SigningKey]? = nil) throws {
      self.keys = try keys ?? Self.shared.get()
      root = try .root(self.keys[2])
      intermediate = try .intermediate(self.keys[1], issuer: root, issuerKey: self.keys[2])
      leaf = try .leaf(self.keys[0], issuer: intermediate, issuerKey: self.keys[1])
      (root.digest, intermediate.digest, leaf.digest) = (digest, digest, digest)
    }

    func chain() throws -> [[UInt8]] {
      [
        try leaf.make(for: keys[0], signedBy: keys[1]),
        try intermediate.make(for: keys[1], signedBy: keys[2]),
        try root.make(for: keys[2], signedBy: keys[2]),
      ]
    }
  }

  private let content = ReceiptContent(creationDate: createdAt).encoded

  private func failure(
    _ maker: ReceiptChain, at time: Int64 = createdAt, trusting root: [UInt8]? = nil,
    digest: SigningKey.Digest = .sha256, attributed: Bool = false,
    _ change: ([UInt8]) -> [UInt8] = { $0 }
  ) throws -> ProofFailure? {
    let chain = try maker.chain()
    let der = try ReceiptSigner(key: maker.keys[0], chain: chain)
      .sign(content, digest: digest, attributed: attributed)
    return try Self.failure(change(der), at: time, trusting: root ?? chain[2])
  }

  static func failure(
    _ der: [UInt8], at time: Int64, trusting root: [UInt8]
  ) throws -> ProofFailure? {
    let prover = try ReceiptProver(roots: TrustRoots(files: [root]))
    do throws(ProofFailure) {
      try prover.prove(try SignedMessage(parsing: der), at: time)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [SigningKey.Digest.sha1, .sha256], [false, true])
  func `a receipt with either digest is proven, with attributes or without`(
    digest: SigningKey.Digest, attributed: Bool
  ) throws {
    #expect(try failure(ReceiptChain(), digest: digest, attributed: attributed) == nil)
    #expect(try failure(ReceiptChain(.sha1), digest: digest, attributed: attributed) == nil)
    let signer = try SimulatedAuthority.make().makeReceiptSigner()
    let der = try signer.sign(content, digest: digest, attributed: attributed)
    #expect(try Self.failure(der, at: Self.createdAt, trusting: signer.chain[2]) == nil)
    #expect(try SignedMessage(parsing: der).content.elementsEqual(content))
  }

  @Test func `an expired chain is proven as of a date at which it was valid alone`() throws {
    var maker = try ReceiptChain(.sha1)
    maker.leaf.notAfter = Self.createdAt + Self.day
    #expect(try failure(maker) == nil)
    #expect(try failure(maker, at: Self.createdAt + Self.day) == nil)
    let late = Self.createdAt + Self.day + 1000
    #expect(try failure(maker, at: late) == .untrusted("chain_dates"))
  }

  @Test func `a chain that is known is refused at another date all the same`() throws {
    var maker = try ReceiptChain()
    maker.leaf.notAfter = Self.createdAt + Self.day
    let chain = try maker.chain()
    let der = try ReceiptSigner(key: maker.keys[0], chain: chain).sign(content)
    let prover = try ReceiptProver(roots: TrustRoots(files: [chain[2]]))
    let message = try SignedMessage(parsing: der)
    try prover.prove(message, at: Self.createdAt)
    #expect(throws: ProofFailure.untrusted("chain_dates")) {
      try prover.prove(message, at: Self.createdAt + 2 * Self.day)
    }
    var changed = der
    let place = try #require(der.firstRange(of: Array("com.example.app".utf8))?.lowerBound)
    changed[place] ^= 1
    let other = try SignedMessage(parsing: changed)
    #expect(throws: ProofFailure.untrusted("signature")) {
      try prover.prove(other, at: Self.createdAt)
    }
  }

  @Test func `a chain without Apple's markers is refused`() throws {
    var maker = try ReceiptChain()
    maker.leaf.extensions.removeAll { $0.oid == CertificateExtension.receiptSigningMarker }
    #expect(try failure(maker) == .untrusted("leaf_marker"))
    maker = try ReceiptChain()
    maker.intermediate.extensions.removeAll { $0.oid == CertificateExtension.intermediateMarker }
    #expect(try failure(maker) == .untrusted("intermediate_marker"))
  }

  @Test func `another root is refused, also one of the same name`() throws {
    let other = try ReceiptChain(keys: [
      try .generate(.rsa2048), try .generate(.rsa2048), try .generate(.rsa2048),
    ]).chain()
    #expect(
      try failure(ReceiptChain(), trusting: other[2]) == .untrusted("chain_path"))
    let maker = try ReceiptChain()
    let der = try ReceiptSigner(key: maker.keys[0], chain: maker.chain()).sign(content)
    let prover = try ReceiptProver(roots: TrustRoots())
    let message = try SignedMessage(parsing: der)
    #expect(throws: ProofFailure.untrusted("chain_root")) {
      try prover.prove(message, at: Self.createdAt)
    }
  }

  @Test func `a pinned root in the receipt is enough`() throws {
    let maker = try ReceiptChain()
    let chain = try maker.chain()
    let der = try ReceiptSigner(key: maker.keys[0], chain: chain).sign(content)
    let prover = try ReceiptProver(
      roots: TrustRoots(pinned: [], receiptPins: [SHA256.hash(chain[2])]))
    try prover.prove(try SignedMessage(parsing: der), at: Self.createdAt)
  }

  @Test func `a leaf with another key or of an authority is refused`() throws {
    let keys = try ReceiptChain().keys
    let maker = try ReceiptChain(keys: [try .generate(.p256), keys[1], keys[2]])
    #expect(try failure(maker) == .untrusted("leaf_key"))
    var authority = try ReceiptChain()
    authority.leaf.extensions[0] = .basicConstraints(ca: true)
    #expect(try failure(authority) == .untrusted("leaf_authority"))
  }

  @Test func `digests that no receipt has are refused`() throws {
    #expect(
      try failure(ReceiptChain(), digest: .sha384) == .untrusted("receipt_algorithm"))
    #expect(
      try failure(ReceiptChain(), digest: .sha512, attributed: true)
        == .untrusted("receipt_algorithm"))
  }

  @Test func `every changed bit of content and signature is noticed`() throws {
    let maker = try ReceiptChain()
    let chain = try maker.chain()
    for attributed in [false, true] {
      let der = try ReceiptSigner(key: maker.keys[0], chain: chain)
        .sign(content, attributed: attributed)
      let start = try #require(der.firstRange(of: content)?.lowerBound)
      let places = Array(start..<start + content.count) + Array(der.count - 256..<der.count)
      for place in places {
        var changed = der
        changed[place] ^= 1 << UInt8(place % 8)
        let failure = try Self.failure(changed, at: Self.createdAt, trusting: chain[2])
        #expect(failure == .untrusted("signature"), "byte \(place)")
      }
    }
  }

  @Test func `attributes are no content, and content is no attributes`() throws {
    let maker = try ReceiptChain()
    let chain = try maker.chain()
    let signer = ReceiptSigner(key: maker.keys[0], chain: chain)
    // A signed SET of attributes, as the content of a message without attributes.
    let node = DERNode(try signer.sign(content, attributed: true)[...])
    var info = node.children[1].children[0].children[4].children[0]
    var attributes = info.children.remove(at: 3)
    attributes.tag = 0x31
    var forged = node
    forged.children[1].children[0].children[4].children[0] = info
    forged.children[1].children[0].children[2].children[1].children[0].content = attributes.encoded
    // The signature is right, and what it is over is no receipt: the parser of contents refuses it.
    #expect(try Self.failure(forged.encoded, at: Self.createdAt, trusting: chain[2]) == nil)
    // A signed content, as the attributes of another one.
    var other = DERNode(try signer.sign(content)[...])
    var content = DERNode(content[...])
    content.tag = 0xA0
    other.children[1].children[0].children[4].children[0].children.insert(content, at: 3)
    let failure = try Self.failure(other.encoded, at: Self.createdAt, trusting: chain[2])
    #expect(failure == .malformed("receipt_der"))
  }

  @Test func `another encoding of the same message is refused`() throws {
    let maker = try ReceiptChain()
    #expect(try failure(maker) { $0 + [0] } == .malformed("receipt_der"))
    #expect(try failure(maker) { Array($0.dropLast()) } == .malformed("receipt_der"))
    // An indefinite length (X.690 section 8.1.3.6).
    #expect(
      try failure(maker) { [0x30, 0x80] + $0.dropFirst(4) + [0, 0] }
        == .malformed("receipt_der"))
    // A length that is padded with a zero.
    #expect(
      try failure(maker) { [0x30, 0x83, 0] + $0.dropFirst(2) } == .malformed("receipt_der"))
  }

  @Test func `bombs of nested lengths and long messages are refused`() throws {
    for tag: UInt8 in [0x30, 0x31, 0xA0, 0x24] {
      var bomb: [UInt8] = []
      for _ in 0..<20_000 { bomb += [tag, 0x83, 0x0F, 0xFF, 0xFF] }
      #expect(throws: ProofFailure.malformed("receipt_der")) { try SignedMessage(parsing: bomb) }
    }
    let long = [UInt8](repeating: 0x30, count: SignedMessage.maximumBytes + 1)
    #expect(throws: ProofFailure.malformed("receipt_too_long")) {
      try SignedMessage(parsing: long)
    }
  }

  @Test func `more in a message than a signer and its chain is refused`() throws {
    let maker = try ReceiptChain()
    let node = DERNode(
      try ReceiptSigner(key: maker.keys[0], chain: maker.chain()).sign(content)[...])
    let root = try maker.chain()[2]
    func failure(_ edit: (inout DERNode) -> Void) throws -> ProofFailure? {
      var changed = node
      edit(&changed.children[1].children[0])
      return try Self.failure(changed.encoded, at: Self.createdAt, trusting: root)
    }
    #expect(try failure { _ in } == nil)
    // Two signers, unsigned attributes, a revocation list, no certificates.
    let malformed = ProofFailure.malformed("receipt_der")
    #expect(try failure { $0.children[4].children.append($0.children[4].children[0]) } == malformed)
    #expect(
      try failure {
        var attributes = DERNode(tag: 0xA1, content: [])
        attributes.children = [DERNode(tag: 0x30, content: [])]
        $0.children[4].children[0].children.append(attributes)
      } == malformed)
    #expect(
      try failure { $0.children.insert(DERNode(tag: 0xA1, content: []), at: 4) } == malformed)
    #expect(try failure { $0.children.remove(at: 3) } == malformed)
    // A serial number that no certificate has.
    #expect(
      try failure { $0.children[4].children[0].children[1].children[1].content[0] ^= 1 }
        == .untrusted("receipt_signer"))
  }
}
