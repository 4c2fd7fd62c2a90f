package import SignedData
package import Simulator

/// Leaf, intermediate and root in the making: change what shall be wrong, then take `chain()`.
package struct ChainForgery {
  package let rootKey: SigningKey
  package let rootDER: [UInt8]
  package var intermediateKey: SigningKey
  package var leafKey: SigningKey
  package var intermediate: CertificateMaker
  package var leaf: CertificateMaker
  /// Signs the leaf and the intermediate; nil for the keys above them.
  package var leafSigner: SigningKey?
  package var intermediateSigner: SigningKey?
  /// Surgery on what was made: the DER of the TBSCertificate, changed before it is signed again.
  package var leafSurgery: ((inout DERNode) -> Void)?
  package var intermediateSurgery: ((inout DERNode) -> Void)?

  /// A right chain under the authority's root, with keys of its own.
  package init(under authority: Authority) throws {
    rootKey = authority.rootKey
    rootDER = authority.root
    intermediateKey = try .generate(.p384)
    leafKey = try .generate(.p256)
    let root = try CertificateMaker.root(rootKey)
    intermediate = try .intermediate(intermediateKey, issuer: root, issuerKey: rootKey)
    leaf = try .leaf(leafKey, issuer: intermediate, issuerKey: intermediateKey)
  }

  package func chain() throws -> [[UInt8]] {
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
}

extension CertificateMaker {
  /// The extension with this identifier replaced, or gone for nil.
  package mutating func replace(_ oid: String, by replacement: CertificateExtension?) {
    guard let index = extensions.firstIndex(where: { $0.oid == oid }) else { return }
    if let replacement { extensions[index] = replacement } else { extensions.remove(at: index) }
  }
}
