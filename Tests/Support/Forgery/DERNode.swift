import AppStoreSimulator
package import SignedData

/// DER as a tree, to change certificates.
package struct DERNode {
  package var tag: UInt8
  package var content: [UInt8] = []
  package var children: [DERNode] = []

  package init(tag: UInt8, content: [UInt8]) {
    (self.tag, self.content) = (tag, content)
  }

  /// Reads one well-formed value, as `CertificateMaker` writes it.
  package init(_ bytes: ArraySlice<UInt8>) { self = Self.read(bytes).node }

  private static func read(_ bytes: ArraySlice<UInt8>) -> (node: DERNode, end: Int) {
    let start = bytes.startIndex
    let first = Int(bytes[start + 1])
    let size = first < 0x80 ? 0 : first & 0x7F
    let count =
      size == 0 ? first : bytes[(start + 2)..<(start + 2 + size)].reduce(0) { $0 << 8 | Int($1) }
    let body = start + 2 + size
    var node = DERNode(tag: bytes[start], content: Array(bytes[body..<body + count]))
    if node.tag & 0x20 != 0 {
      var offset = body
      while offset < body + count {
        let (child, end) = read(bytes[offset..<body + count])
        node.children.append(child)
        offset = end
      }
    }
    return (node, body + count)
  }

  package var encoded: [UInt8] {
    let inside = children.isEmpty ? content : children.flatMap(\.encoded)
    return DERWriter.element(tag, inside)
  }

  /// Changes the TBSCertificate of a certificate, and signs it again.
  package static func resigned(
    _ certificate: [UInt8], by key: SigningKey, _ digest: SigningKey.Digest,
    _ edit: (inout DERNode) -> Void
  ) throws -> [UInt8] {
    var whole = DERNode(certificate[...])
    edit(&whole.children[0])
    let signature = try key.signDER(whole.children[0].encoded, digest: digest)
    whole.children[2] = DERNode(tag: 0x03, content: [0] + signature)
    return whole.encoded
  }
}
