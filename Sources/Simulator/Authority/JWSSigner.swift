import Encoding
public import SignedData
import StrictJSON

/// Signs payloads as compact JWS (RFC 7515 section 7.1) under one header, as Apple does.
public struct JWSSigner: Sendable {
  private let key: SigningKey
  private let header: [UInt8]

  /// Header `{"alg":"ES256","x5c":[…]}`; the chain is leaf first, in DER.
  public init(key: SigningKey, chain: [[UInt8]]) {
    let certificates = chain.map {
      JSONValue.string(String(decoding: Base64.encode($0), as: UTF8.self))
    }
    self.init(
      key: key,
      header: JSONValue.object([("alg", .string("ES256")), ("x5c", .array(certificates))]).bytes)
  }

  /// Any header at all, for tests of what a verifier must refuse.
  public init(key: SigningKey, header: [UInt8]) {
    self.key = key
    self.header = Base64URL.encode(header)
  }

  /// `header.payload.signature`, in ASCII.
  public func sign(_ payload: [UInt8]) throws(SigningError) -> [UInt8] {
    var text = header
    text.append(UInt8(ascii: "."))
    text += Base64URL.encode(payload)
    let signature = try key.sign(text)
    text.append(UInt8(ascii: "."))
    return text + Base64URL.encode(signature)
  }

  /// The bytes of a base64 text; nil where it is none.
  static func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
    Base64URL.decode(
      text.filter { $0 != UInt8(ascii: "=") }.map {
        switch $0 {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: $0
        }
      })
  }
}
