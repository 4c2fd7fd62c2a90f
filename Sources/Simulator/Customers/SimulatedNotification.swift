public import StrictJSON

/// One notification before it is signed.
public struct SimulatedNotification: Sendable {
  /// Apple's notificationUUID, in lower case.
  public let uuid: String
  /// Milliseconds since 1970; the payload carries the same.
  public let signedDate: Int64
  public let type: String
  public let subtype: String?
  /// Apple's decoded payload, with objects `transaction` and `renewalInfo` in `data` where the
  /// signed one has signedTransactionInfo and signedRenewalInfo.
  public let payload: JSONValue

  /// The stream it belongs to; nil for those that are about no transaction.
  public var originalTransactionId: String? {
    guard case .string(let id) = payload["data"]?["transaction"]?["originalTransactionId"] else {
      return nil
    }
    return id
  }

  /// The order Apple signed them in.
  public static func precedes(_ one: Self, _ other: Self) -> Bool {
    (one.signedDate, one.uuid) < (other.signedDate, other.uuid)
  }
}
