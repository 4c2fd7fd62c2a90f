public import StrictJSON

/// The body of the POST in one of Apple's two forms, which are told apart by their members.
public enum NotificationEnvelope: Sendable {
  /// `responseBodyV2`: one compact JWS.
  case v2(signedPayload: ArraySlice<UInt8>)
  /// `responseBodyV1`, deprecated by Apple in 2023; authenticated by a shared secret alone.
  case v1(JSONElement)

  /// Returns nil if the body has members of neither form, or of both.
  public init?(_ document: JSONDocument) {
    let root = document.root
    guard root.kind == .object else { return nil }
    let isV1 = root["notification_type"] != nil || root["unified_receipt"] != nil
    switch (root["signedPayload"], isV1) {
    case (let payload?, false):
      guard let bytes = payload.plainBytes, !bytes.isEmpty else { return nil }
      self = .v2(signedPayload: bytes)
    case (nil, true): self = .v1(root)
    default: return nil
    }
  }
}
