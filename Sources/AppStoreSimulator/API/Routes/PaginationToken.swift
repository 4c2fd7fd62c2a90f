import Platform
import SignedData

/// The place where the next page begins. It is bound to the request that it was made for.
struct PaginationToken {
  let offset: Int
  /// When it was made, milliseconds since 1970.
  let made: Int64
  private let digest: [UInt8]

  init(offset: Int, made: Int64, for request: [UInt8]) {
    (self.offset, self.made) = (offset, made)
    digest = Array(SHA256.hash(request).prefix(8))
  }

  /// Returns nil if the text is no token.
  init?(_ text: String) {
    guard let bytes = Base64URL.decode(Array(text.utf8)) else { return nil }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: ".")
    guard parts.count == 3, let offset = Int(parts[0]), offset >= 0, let made = Int64(parts[1]),
      let digest = Hexadecimal.decode(String(parts[2]))
    else { return nil }
    (self.offset, self.made, self.digest) = (offset, made, digest)
  }

  var text: String {
    let parts = "\(offset).\(made).\(Hexadecimal.encode(digest))"
    return String(decoding: Base64URL.encode(Array(parts.utf8)), as: UTF8.self)
  }

  func isFor(_ request: [UInt8]) -> Bool { digest == Array(SHA256.hash(request).prefix(8)) }
}
