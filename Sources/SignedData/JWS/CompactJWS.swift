import Encoding
import StrictJSON

/// A compact JWS (RFC 7515 section 7.1), cut into its parts and decoded; nothing in it is proven.
public struct CompactJWS: Sendable {
  /// The longest header segment that is read. Three certificates of Apple's take 4 to 6 KB; one of
  /// 100 KiB is still read as far as to say that it is none.
  public static let maximumHeaderBytes = 196_608

  /// All of it, as it came.
  public let text: ArraySlice<UInt8>
  /// The header as it came, in base64url.
  public let header: ArraySlice<UInt8>
  /// `header.payload`, what the signature covers.
  public let signingInput: ArraySlice<UInt8>
  /// The payload, decoded and unproven.
  public let payload: [UInt8]
  /// The signature, decoded; ES256 wants 64 bytes.
  public let signature: [UInt8]

  /// Cuts and decodes.
  ///
  /// - Throws: `ProofFailure.malformed` unless there are three segments of strict base64url, the
  ///   first not empty.
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

/// What the header of a JWS says: the certificates that shall explain its signature.
struct JWSHeader {
  /// Members that would change what is verified or where keys come from. Apple sends none of them,
  /// and RFC 7515 section 4.1.11 has `crit` refused by whoever does not implement its extensions.
  private static let unwanted = ["crit", "b64", "zip", "enc", "epk", "jwk", "jku", "x5u", "kid"]

  /// DER of leaf, intermediate and root.
  let certificates: [[UInt8]]

  init(parsing segment: ArraySlice<UInt8>) throws(ProofFailure) {
    guard let text = Base64URL.decode(segment) else { throw .malformed("jws_base64url") }
    let header = try Self.object(text)
    for name in Self.unwanted where header[name] != nil { throw .untrusted("jws_\(name)") }
    try Self.requireES256(header["alg"])
    certificates = try Self.chain(header["x5c"])
  }

  private static func object(_ text: [UInt8]) throws(ProofFailure) -> JSONElement {
    guard let root = try? JSONDocument(parsing: text).root, root.kind == .object else {
      throw .malformed("jws_header")
    }
    return root
  }

  private static func requireES256(_ algorithm: JSONElement?) throws(ProofFailure) {
    guard let algorithm else { throw .untrusted("jws_alg") }
    guard let name = algorithm.string else { throw .malformed("jws_alg_type") }
    guard name == "ES256" else { throw .untrusted("jws_alg") }
  }

  private static func chain(_ member: JSONElement?) throws(ProofFailure) -> [[UInt8]] {
    guard let member else { throw .untrusted("x5c_missing") }
    guard member.kind == .array else { throw .malformed("x5c_type") }
    let entries = member.elements
    for entry in entries where entry.kind != .string { throw .malformed("x5c_type") }
    guard entries.count == 3 else { throw .untrusted("x5c_length") }
    var certificates: [[UInt8]] = []
    for entry in entries {
      guard let text = entry.string, let der = Base64.decode(text) else {
        throw .untrusted("x5c_base64")
      }
      certificates.append(der)
    }
    return certificates
  }
}
