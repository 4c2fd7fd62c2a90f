public import AppStore
import SignedData

/// The chain that makes any change to a journaled event visible (promise 5).
///
///     hash[0]   = 32 zero bytes
///     hash[seq] = SHA-256( "subledger.journal.v1" 0x00 ‖ hash[seq-1] ‖ be64(seq)
///                          ‖ be64(received_at_ms) ‖ lp(notification_uuid) ‖ lp(source)
///                          ‖ SHA-256(body) )
///     lp(x)     = be32(length of x in bytes) ‖ x in UTF-8
public enum ChainHash {
  /// hash[0].
  public static let origin = [UInt8](repeating: 0, count: 32)

  private static let label = Array("subledger.journal.v1".utf8) + [0]

  /// hash[seq].
  ///
  /// - Parameters:
  ///   - previous: hash[seq-1], 32 bytes.
  ///   - receivedAt: milliseconds since 1970 UTC.
  ///   - notificationUUID: lower-case text with hyphens.
  ///   - bodySHA256: SHA-256 of the exact body, 32 bytes.
  public static func next(
    after previous: [UInt8], seq: Int64, receivedAt: Int64, notificationUUID: NotificationUUID,
    source: EventSource, bodySHA256: [UInt8]
  ) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(192)
    message += label
    message += previous
    append(seq, to: &message)
    append(receivedAt, to: &message)
    append(notificationUUID.description, to: &message)
    append(source.rawValue, to: &message)
    message += bodySHA256
    return SHA256.hash(message)
  }

  private static func append(_ number: some FixedWidthInteger, to message: inout [UInt8]) {
    withUnsafeBytes(of: number.bigEndian) { message.append(contentsOf: $0) }
  }

  private static func append(_ text: String, to message: inout [UInt8]) {
    append(UInt32(text.utf8.count), to: &message)
    message.append(contentsOf: text.utf8)
  }
}
