public import StrictJSON

/// A notification before it is signed.
public struct SimulatedNotification: Sendable {
  /// Apple's notificationUUID, in lower case.
  public let uuid: String
  /// Milliseconds since 1970; equal to that of the payload.
  public let signedDate: Int64
  public let type: String
  public let subtype: String?
  /// Apple's decoded payload. Its `data` has the objects `transaction` and `renewalInfo` in place
  /// of signedTransactionInfo and signedRenewalInfo.
  public let payload: JSONValue

  public init(
    uuid: String, signedDate: Int64, type: String, subtype: String?, payload: JSONValue
  ) {
    (self.uuid, self.signedDate) = (uuid, signedDate)
    (self.type, self.subtype, self.payload) = (type, subtype, payload)
  }

  /// The id of the stream it belongs to; nil if it is about no transaction.
  public var originalTransactionId: String? {
    guard case .string(let id) = payload["data"]?["transaction"]?["originalTransactionId"] else {
      return nil
    }
    return id
  }

  /// The order in which Apple signed them.
  public static func precedes(_ one: Self, _ other: Self) -> Bool {
    (one.signedDate, one.uuid) < (other.signedDate, other.uuid)
  }
}
