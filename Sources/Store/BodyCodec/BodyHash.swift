import Platform
import SignedData

/// Computes the SHA-256 of consecutive bodies.
///
/// Apple signs with one certificate for months, and the header that contains it is a third of a
/// body. The hash state after the header is cached, so that a body with the same header only needs
/// the rest to be hashed.
public final class BodyHash {
  private var header: [UInt8] = []
  /// The last receipt: thousands of events that follow each other may have it.
  private var receipt: (body: [UInt8], hash: [UInt8]) = ([], [])
  private var start = SHA256()

  private static let dot = UInt8(ascii: ".")
  private static let brace = UInt8(ascii: "{")
  /// A SEQUENCE of DER.
  private static let sequence: UInt8 = 0x30

  public init() {}

  /// The 32 bytes of the digest.
  public func hash(_ body: [UInt8]) -> [UInt8] {
    if body.first == Self.sequence {
      if receipt.body != body { receipt = (body, SHA256.hash(body)) }
      return receipt.hash
    }
    if header.isEmpty || !ByteSearch.areEqual(body.prefix(header.count), header[...]) {
      // A V1 body is JSON and has no shared header.
      guard body.first != Self.brace, let dot = ByteSearch.first(Self.dot, in: body[...]) else {
        return SHA256.hash(body)
      }
      header = Array(body[...dot])
      start = SHA256()
      start.update(header)
    }
    var hash = start.fork()
    hash.update(body[header.count...])
    return hash.finish()
  }
}
