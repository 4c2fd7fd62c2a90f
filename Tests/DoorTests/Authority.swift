import Foundation
import Simulator
import StrictJSON
import Synchronization

@testable import SignedData

/// An authority with all its keys, so that every wrong chain can be made under the right root.
struct Authority: Sendable {
  let simulated: SimulatedAuthority
  let rootKey: SigningKey
  let intermediateKey: SigningKey

  /// One for all tests: what is tried against it leaves nothing behind in it.
  static let shared = Result { try Authority() }

  init() throws {
    let folder = try Door.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    simulated = try SimulatedAuthority.create(at: folder + "/authority")
    rootKey = try Self.key(folder + "/authority/root.key.pem")
    intermediateKey = try Self.key(folder + "/authority/intermediate.key.pem")
  }

  private static func key(_ path: String) throws -> SigningKey {
    try SigningKey.read(pem: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
  }

  var root: [UInt8] { simulated.root }
  var chain: [[UInt8]] { simulated.chain }
  var leafKey: SigningKey { simulated.leafKey }

  func signed(_ notification: JSONValue) throws -> [UInt8] {
    try simulated.signedPayload(notification)
  }

  /// A good notification nobody has seen.
  func fresh() throws -> [UInt8] { try signed(Sample.notification()) }

  /// A good notification under another header: the header, and the key that signs.
  func fresh(header: [UInt8], key: SigningKey? = nil) throws -> [UInt8] {
    let payload = try CompactJWS(parsing: try fresh()[...]).payload
    return try Forge.jws(header: header, payload: payload, key: key ?? leafKey)
  }

  /// A good notification under another chain, signed by that chain's leaf.
  func fresh(chain: [[UInt8]], key: SigningKey? = nil) throws -> [UInt8] {
    try fresh(header: Forge.header(chain), key: key)
  }
}

/// Leaf, intermediate and root in the making: change what shall be wrong, then take `chain()`.
struct ChainForgery {
  let rootKey: SigningKey
  let rootDER: [UInt8]
  var intermediateKey: SigningKey
  var leafKey: SigningKey
  var intermediate: CertificateMaker
  var leaf: CertificateMaker
  /// Signs the leaf and the intermediate; nil for the keys above them.
  var leafSigner: SigningKey?
  var intermediateSigner: SigningKey?
  /// Surgery on what was made: the DER of the TBSCertificate, changed before it is signed again.
  var leafSurgery: ((inout DERNode) -> Void)?
  var intermediateSurgery: ((inout DERNode) -> Void)?

  /// A right chain under the authority's root, with keys of its own.
  init(under authority: Authority) throws {
    rootKey = authority.rootKey
    rootDER = authority.root
    intermediateKey = try .generate(.p384)
    leafKey = try .generate(.p256)
    let root = try CertificateMaker.root(rootKey)
    intermediate = try .intermediate(intermediateKey, issuer: root, issuerKey: rootKey)
    leaf = try .leaf(leafKey, issuer: intermediate, issuerKey: intermediateKey)
  }

  func chain() throws -> [[UInt8]] {
    let above = leafSigner ?? intermediateKey
    var leafDER = try leaf.make(for: leafKey, signedBy: above)
    if let leafSurgery {
      leafDER = try DERNode.resigned(leafDER, by: above, leaf.digest, leafSurgery)
    }
    let top = intermediateSigner ?? rootKey
    var intermediateDER = try intermediate.make(for: intermediateKey, signedBy: top)
    if let intermediateSurgery {
      intermediateDER = try DERNode.resigned(
        intermediateDER, by: top, intermediate.digest, intermediateSurgery)
    }
    return [leafDER, intermediateDER, rootDER]
  }

  func notification(_ authority: Authority) throws -> [UInt8] {
    try authority.fresh(chain: try chain(), key: leafKey)
  }
}

extension CertificateMaker {
  /// The extension with this identifier replaced, or gone for nil.
  mutating func replace(_ oid: String, by replacement: CertificateExtension?) {
    guard let index = extensions.firstIndex(where: { $0.oid == oid }) else { return }
    if let replacement { extensions[index] = replacement } else { extensions.remove(at: index) }
  }
}

/// DER as a tree, for surgery on certificates.
struct DERNode {
  var tag: UInt8
  var content: [UInt8] = []
  var children: [DERNode] = []

  init(tag: UInt8, content: [UInt8]) {
    (self.tag, self.content) = (tag, content)
  }

  /// Reads one well-formed value, as `CertificateMaker` writes it.
  init(_ bytes: ArraySlice<UInt8>) { self = Self.read(bytes).node }

  private static func read(_ bytes: ArraySlice<UInt8>) -> (node: DERNode, end: Int) {
    let start = bytes.startIndex
    let first = Int(bytes[start + 1])
    let size = first < 0x80 ? 0 : first & 0x7F
    let count =
      size == 0 ? first : bytes[(start + 2)..<(start + 2 + size)].reduce(0) { $0 << 8 | Int($1) }
    let body = start + 2 + size
    var node = DERNode(tag: bytes[start], content: Array(bytes[body..<body + count]))
    if node.tag & 0x20 != 0 {
      var at = body
      while at < body + count {
        let (child, end) = read(bytes[at..<body + count])
        node.children.append(child)
        at = end
      }
    }
    return (node, body + count)
  }

  var encoded: [UInt8] {
    let inside = children.isEmpty ? content : children.flatMap(\.encoded)
    return DERWriter.element(tag, inside)
  }

  /// A certificate with its TBSCertificate changed, and signed again.
  static func resigned(
    _ certificate: [UInt8], by key: SigningKey, _ digest: SigningKey.Digest,
    _ surgery: (inout DERNode) -> Void
  ) throws -> [UInt8] {
    var whole = DERNode(certificate[...])
    surgery(&whole.children[0])
    let signature = try key.signDER(whole.children[0].encoded, digest: digest)
    whole.children[2] = DERNode(tag: 0x03, content: [0] + signature)
    return whole.encoded
  }
}
