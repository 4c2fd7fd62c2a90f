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

  /// A notification with its one object, such as `data` (responseBodyV2DecodedPayload). A missing
  /// subtype is left out, never empty.
  ///
  /// - Parameter signed: milliseconds since 1970.
  init(
    _ type: String, _ subtype: String?, uuid: String, signed: Int64, _ body: (String, JSONValue)
  ) {
    (self.type, self.subtype, self.uuid, signedDate) = (type, subtype, uuid, signed)
    var members = Members()
    members.add("notificationType", type)
    members.add("subtype", subtype)
    members.add("notificationUUID", uuid)
    members.list.append(body)
    members.add("version", "2.0")
    members.add("signedDate", signed)
    payload = .object(members.list)
  }

  /// JWSTransactionDecodedPayload; nil if it is about no transaction.
  var transaction: JSONValue? { payload["data"]?["transaction"] }
  /// Whom it is about; nil if it names no customer.
  package var appTransactionId: String? { transaction?.text("appTransactionId") }
  /// The id of the stream it belongs to; nil if it is about no transaction.
  public var originalTransactionId: String? { transaction?.text("originalTransactionId") }

  /// The order in which Apple signed them.
  static func precedes(_ one: Self, _ other: Self) -> Bool {
    (one.signedDate, one.uuid) < (other.signedDate, other.uuid)
  }
}
