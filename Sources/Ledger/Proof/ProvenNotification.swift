import SignedData
import Store

/// A notification that was proven, with the body that its proof covers.
///
/// A class, because it passes through five layers on its way to the fold, and copying its 60
/// strings was 4 % of the time of a notification.
public final class ProvenNotification: Sendable {
  /// What was authenticated.
  enum Body: Sendable {
    /// V2: the signedPayload as received.
    case jws(CompactJWS)
    /// V1: the canonical body, without the secret.
    case canonical([UInt8])
    /// The whole receipt, of which the notification is a part.
    case receipt(ReceiptBody)
  }

  public let decoded: DecodedNotification
  let body: Body
  let bodySHA256: [UInt8]

  init(_ decoded: DecodedNotification, body: Body, bodySHA256: [UInt8]) {
    self.decoded = decoded
    self.body = body
    self.bodySHA256 = bodySHA256
  }
}
