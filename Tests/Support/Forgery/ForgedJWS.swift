import Platform
package import SignedData

/// Makes JWS as Apple would sign them, and as an attacker would.
package enum ForgedJWS {
  /// The POST body with the payload unchanged, even if it is not valid in JSON.
  package static func body(_ signedPayload: [UInt8]) -> [UInt8] {
    Array(#"{"signedPayload":""#.utf8) + signedPayload + Array(#""}"#.utf8)
  }

  package static func base64(_ bytes: [UInt8]) -> String {
    String(decoding: Base64.encode(bytes), as: UTF8.self)
  }

  package static func url(_ bytes: [UInt8]) -> [UInt8] { Base64URL.encode(bytes) }

  /// Three segments, already encoded, joined.
  package static func joined(_ parts: [UInt8]...) -> [UInt8] {
    Array(parts.joined(separator: [UInt8(ascii: ".")]))
  }

  package static func parts(_ jws: [UInt8]) -> [[UInt8]] {
    jws.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
  }

  /// The header `{"alg":"ES256","x5c":[…]}`, optionally with another `alg` and with more members.
  package static func header(
    _ chain: [[UInt8]], alg: String = #""ES256""#, extra: String = ""
  ) -> [UInt8] {
    let x5c = chain.map { "\"\(base64($0))\"" }.joined(separator: ",")
    return Array("{\"alg\":\(alg),\"x5c\":[\(x5c)]\(extra)}".utf8)
  }

  /// Signs any header over any payload.
  package static func jws(
    header: [UInt8], payload: [UInt8], key: SigningKey
  ) throws -> [UInt8] {
    let input = joined(url(header), url(payload))
    return joined(input, url(try key.sign(input)))
  }

  /// The same JWS with another signature.
  package static func resigned(_ jws: [UInt8], _ signature: [UInt8]) -> [UInt8] {
    let parts = parts(jws)
    return joined(parts[0], parts[1], url(signature))
  }

  package static func signature(_ jws: [UInt8]) -> [UInt8] {
    Base64URL.decode(parts(jws)[2]) ?? []
  }
}
