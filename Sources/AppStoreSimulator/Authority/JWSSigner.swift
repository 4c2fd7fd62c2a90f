import Platform
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
    var memory = SignatureMemory()
    return try sign(payload, memory: &memory)
  }

  /// As `sign`, with the next signature in `memory` if there is one, which must be of the same
  /// payload.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  func sign(_ payload: [UInt8], memory: inout SignatureMemory) throws(SigningError) -> [UInt8] {
    var text = header
    text.append(UInt8(ascii: "."))
    text += Base64URL.encode(payload)
    let signature = try memory.next { () throws(SigningError) in try key.sign(text) }
    text.append(UInt8(ascii: "."))
    return text + Base64URL.encode(signature)
  }
}

/// The signatures of one notification and its parts, in the order in which they are made. With them
/// the same text can be made again: ECDSA gives another signature at each call.
struct SignatureMemory: Sendable {
  private var signatures: [[UInt8]] = []
  private var used = 0

  init() {}

  /// Begins again with the first signature.
  mutating func rewind() { used = 0 }

  fileprivate mutating func next(
    _ make: () throws(SigningError) -> [UInt8]
  ) throws(SigningError) -> [UInt8] {
    if used == signatures.count { signatures.append(try make()) }
    defer { used += 1 }
    return signatures[used]
  }
}
