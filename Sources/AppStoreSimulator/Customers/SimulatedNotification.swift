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

  /// JWSTransactionDecodedPayload; nil if it is about no transaction.
  var transaction: JSONValue? { payload["data"]?["transaction"] }
  /// Whom it is about; nil if it names no customer.
  package var appTransactionId: String? { transaction?.text("appTransactionId") }
  /// The id of the stream it belongs to; nil if it is about no transaction.
  public var originalTransactionId: String? { transaction?.text("originalTransactionId") }

  /// The order in which Apple signed them.
  public static func precedes(_ one: Self, _ other: Self) -> Bool {
    (one.signedDate, one.uuid) < (other.signedDate, other.uuid)
  }
}
