package import AppStoreSimulator
package import SignedData

/// A certificate chain to be made: change what is to be wrong, then call `chain()`.
package struct ChainForgery {
  package let rootKey: SigningKey
  package let rootDER: [UInt8]
  package var intermediateKey: SigningKey
  package var leafKey: SigningKey
  package var intermediate: CertificateMaker
  package var leaf: CertificateMaker
  /// The keys that sign the leaf and the intermediate; nil for the key of the certificate above.
  package var leafSigner: SigningKey?
  package var intermediateSigner: SigningKey?
  /// Changes the DER of the TBSCertificate, which is then signed again.
  package var leafEdit: ((inout DERNode) -> Void)?
  package var intermediateEdit: ((inout DERNode) -> Void)?

  /// A valid chain under the authority's root, with new keys.
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
    if let leafEdit {
      leafDER = try DERNode.resigned(leafDER, by: above, leaf.digest, leafEdit)
    }
    let top = intermediateSigner ?? rootKey
    var intermediateDER = try intermediate.make(for: intermediateKey, signedBy: top)
    if let intermediateEdit {
      intermediateDER = try DERNode.resigned(
        intermediateDER, by: top, intermediate.digest, intermediateEdit)
    }
    return [leafDER, intermediateDER, rootDER]
  }
}

extension CertificateMaker {
  /// Replaces the extension with this identifier, or removes it if the replacement is nil.
  package mutating func replace(_ oid: String, by replacement: CertificateExtension?) {
    guard let index = extensions.firstIndex(where: { $0.oid == oid }) else { return }
    if let replacement { extensions[index] = replacement } else { extensions.remove(at: index) }
  }
}
