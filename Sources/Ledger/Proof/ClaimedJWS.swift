import Platform
public import StrictJSON

/// What a JWS says of itself. Nothing of it is proven: it serves the words of a refusal alone.
public struct ClaimedJWS: Sendable {
  public enum Kind: Sendable { case notification, transaction, renewal, appTransaction }

  /// Nil for a payload that Apple's documents do not describe.
  public let kind: Kind?
  /// Whether Xcode signed it, for a local test.
  public let isOfXcode: Bool
  /// Whether the payload has a member `environment`, as all of today have.
  public let hasEnvironment: Bool

  /// The `kid` in the header of what Xcode signs.
  private static let xcodeKey = "Apple_Xcode_Key"
  private static let xcodeEnvironments: Set = ["Xcode", "LocalTesting"]

  /// Returns nil for a text that has not the form of a JWS with JSON in it.
  public init?(_ text: ArraySlice<UInt8>) {
    let dot = UInt8(ascii: ".")
    let parts = text.split(separator: dot, maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let payload = Self.object(parts[1])
    else { return nil }
    kind = Self.kind(payload)
    hasEnvironment = payload["environment"] != nil
    let environment = payload["environment"]?.string ?? payload["receiptType"]?.string ?? ""
    isOfXcode =
      header["kid"]?.isString(Self.xcodeKey) == true
      || Self.xcodeEnvironments.contains(environment)
  }

  private static func object(_ part: ArraySlice<UInt8>) -> JSONElement? {
    guard let bytes = Base64URL.decode(part),
      let root = try? JSONDocument(parsing: bytes, within: .unproven).root, root.kind == .object
    else { return nil }
    return root
  }

  /// What a decoded payload is, by the members that no other has; nil if it is none of Apple's.
  public static func kind(_ payload: JSONElement) -> Kind? {
    if payload["notificationType"] != nil { return .notification }
    if payload["autoRenewStatus"] != nil { return .renewal }
    if payload["transactionId"] != nil { return .transaction }
    if payload["receiptCreationDate"] != nil { return .appTransaction }
    return nil
  }
}
