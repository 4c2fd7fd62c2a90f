import Foundation
import SignedData
import StrictJSON
import Support

extension Authority {
  /// A valid notification with a new UUID.
  func fresh() throws -> [UInt8] { try signed(Sample.fresh()) }

  /// A valid notification with another chain, signed by the key of its leaf.
  func fresh(chain: [[UInt8]], key: SigningKey? = nil) throws -> [UInt8] {
    try ForgedJWS.jws(
      header: ForgedJWS.header(chain), payload: try CompactJWS(parsing: try fresh()[...]).payload,
      key: key ?? leafKey)
  }
}

extension Sample {
  /// A notification with a new UUID.
  static func fresh(otid: String = "7000") -> JSONValue {
    notification(1, otid: otid)
      .setting("notificationUUID", .string(UUID().uuidString.lowercased()))
  }
}
