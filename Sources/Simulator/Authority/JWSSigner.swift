import Encoding
public import SignedData
import StrictJSON

/// Signs payloads as compact JWS (RFC 7515 section 7.1), all with the same header, as Apple does.
public struct JWSSigner: Sendable {
  private let key: SigningKey
  private let header: [UInt8]

  /// Signs with the header `{"alg":"ES256","x5c":[…]}`.
  ///
  /// - Parameter chain: certificates in DER, the leaf first.
  public init(key: SigningKey, chain: [[UInt8]]) {
    let certificates = chain.map {
      JSONValue.string(String(decoding: Base64.encode($0), as: UTF8.self))
    }
    self.init(
      key: key,
      header: JSONValue.object([("alg", .string("ES256")), ("x5c", .array(certificates))]).bytes)
  }

  /// Signs with any header, to test what a verifier must refuse.
  public init(key: SigningKey, header: [UInt8]) {
    self.key = key
    self.header = Base64URL.encode(header)
  }

  /// `header.payload.signature`, in ASCII.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  public func sign(_ payload: [UInt8]) throws(SigningError) -> [UInt8] {
    var text = header
    text.append(UInt8(ascii: "."))
    text += Base64URL.encode(payload)
    let signature = try key.sign(text)
    text.append(UInt8(ascii: "."))
    return text + Base64URL.encode(signature)
  }
}
