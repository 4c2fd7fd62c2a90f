import Encoding
import SignedData

/// Computes the SHA-256 of consecutive bodies.
///
/// Apple signs with one certificate for months, and the header that contains it is a third of a
/// body. The hash state after the header is cached, so that a body with the same header only needs
/// the rest to be hashed.
public final class BodyHash {
  private var header: [UInt8] = []
  private var start = SHA256()

  private static let dot = UInt8(ascii: ".")
  private static let brace = UInt8(ascii: "{")

  public init() {}

  /// The 32 bytes of the digest.
  public func hash(_ body: [UInt8]) -> [UInt8] {
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
