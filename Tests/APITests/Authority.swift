import SignedData
import StrictJSON
import Support

extension Authority {
  /// A valid notification with a new UUID.
  func fresh() throws -> [UInt8] { try signed(Sample.notification()) }

  /// A valid notification with another header, signed by `key`.
  func fresh(header: [UInt8], key: SigningKey? = nil) throws -> [UInt8] {
    let payload = try CompactJWS(parsing: try fresh()[...]).payload
    return try ForgedJWS.jws(header: header, payload: payload, key: key ?? leafKey)
  }

  /// A valid notification with another chain, signed by the key of its leaf.
  func fresh(chain: [[UInt8]], key: SigningKey? = nil) throws -> [UInt8] {
    try fresh(header: ForgedJWS.header(chain), key: key)
  }
}

extension ChainForgery {
  func notification(_ authority: Authority) throws -> [UInt8] {
    try authority.fresh(chain: try chain(), key: leafKey)
  }
}
