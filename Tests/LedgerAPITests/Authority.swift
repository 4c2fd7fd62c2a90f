import SignedData
import StrictJSON
import Support

extension Authority {
  /// A good notification nobody has seen.
  func fresh() throws -> [UInt8] { try signed(Sample.notification()) }

  /// A good notification under another header: the header, and the key that signs.
  func fresh(header: [UInt8], key: SigningKey? = nil) throws -> [UInt8] {
    let payload = try CompactJWS(parsing: try fresh()[...]).payload
    return try ForgedJWS.jws(header: header, payload: payload, key: key ?? leafKey)
  }

  /// A good notification under another chain, signed by that chain's leaf.
  func fresh(chain: [[UInt8]], key: SigningKey? = nil) throws -> [UInt8] {
    try fresh(header: ForgedJWS.header(chain), key: key)
  }
}

extension ChainForgery {
  func notification(_ authority: Authority) throws -> [UInt8] {
    try authority.fresh(chain: try chain(), key: leafKey)
  }
}
