import Platform
import StrictJSON

/// A compact JWS (RFC 7515 section 7.1), split and decoded. Nothing in it is proven yet.
public struct CompactJWS: Sendable {
  /// The longest header segment that is accepted, in bytes. Three of Apple's certificates take 4 to
  /// 6 KB. The limit admits a certificate of 100 KiB, which is then refused as too long.
  public static let maximumHeaderBytes = 196_608

  /// The whole text, as received.
  public let text: ArraySlice<UInt8>
  /// The header segment, in base64url.
  public let header: ArraySlice<UInt8>
  /// `header.payload`: the bytes that the signature covers.
  public let signingInput: ArraySlice<UInt8>
  /// The decoded payload, not proven.
  public let payload: [UInt8]
  /// The decoded signature; that of ES256 has 64 bytes.
  public let signature: [UInt8]

  /// Splits the text and decodes payload and signature.
  ///
  /// - Throws: `ProofFailure.malformed` unless there are three segments, the header segment is not
  ///   empty and not too long, and the others are strict base64url.
  public init(parsing text: ArraySlice<UInt8>) throws(ProofFailure) {
    let dot = UInt8(ascii: ".")
    guard let first = ByteSearch.first(dot, in: text),
      let second = ByteSearch.first(dot, in: text, from: first + 1),
      ByteSearch.first(dot, in: text, from: second + 1) == nil
    else { throw .malformed("jws_segments") }
    self.text = text
    header = text[..<first]
    signingInput = text[..<second]
    guard !header.isEmpty, header.count <= Self.maximumHeaderBytes else {
      throw .malformed("jws_header")
    }
    guard let payload = Base64URL.decode(text[(first + 1)..<second]),
      let signature = Base64URL.decode(text[(second + 1)...])
    else { throw .malformed("jws_base64url") }
    self.payload = payload
    self.signature = signature
  }
}

/// The header of a JWS: the certificates for its signature.
struct JWSHeader {
  /// Members that would change what the signature covers (RFC 7797, RFC 7516) or offer another key
  /// for it. Apple's libraries do not read them. RFC 7515 section 4.1.11 requires that `crit` is
  /// refused unless its extensions are implemented.
  ///
  /// All other members are ignored (RFC 7515 section 4), also `kid` and `typ`: no key is looked up
  /// by them, and a member that Apple adds must not end in the refusal of every notification.
  private static let unwanted = ["crit", "b64", "zip", "enc", "epk", "jwk", "jku", "x5u"]

  /// The three entries of `x5c`, for leaf, intermediate and root: base64, not decoded.
  let certificates: [ArraySlice<UInt8>]

  init(parsing segment: ArraySlice<UInt8>) throws(ProofFailure) {
    guard let text = Base64URL.decode(segment) else { throw .malformed("jws_base64url") }
    let header = try Self.object(text)
    for name in Self.unwanted where header[name] != nil { throw .untrusted("jws_\(name)") }
    try Self.requireES256(header["alg"])
    certificates = try Self.chain(header["x5c"])
  }

  private static func object(_ text: [UInt8]) throws(ProofFailure) -> JSONElement {
    guard let root = try? JSONDocument(parsing: text, within: .unproven).root,
      root.kind == .object
    else {
      throw .malformed("jws_header")
    }
    return root
  }

  private static func requireES256(_ algorithm: JSONElement?) throws(ProofFailure) {
    guard let algorithm else { throw .untrusted("jws_alg") }
    guard let name = algorithm.string else { throw .malformed("jws_alg_type") }
    guard name == "ES256" else { throw .untrusted("jws_alg") }
  }

  private static func chain(
    _ member: JSONElement?
  ) throws(ProofFailure) -> [ArraySlice<UInt8>] {
    guard let member else { throw .untrusted("x5c_missing") }
    guard member.kind == .array else { throw .malformed("x5c_type") }
    let entries = member.elements
    for entry in entries where entry.kind != .string { throw .malformed("x5c_type") }
    guard entries.count == 3 else { throw .untrusted("x5c_length") }
    return entries.map { $0.plainBytes ?? Array(($0.string ?? "").utf8)[...] }
  }
}
