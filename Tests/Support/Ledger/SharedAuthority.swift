public import AppStoreSimulator
public import SignedData
public import StrictJSON

/// Signs in place of Apple, with one chain for all tests of a process.
public enum SharedAuthority {
  private static let authority = Result { try SimulatedAuthority.make() }

  public static var root: [UInt8] { (try? authority.get().root) ?? [] }

  /// The POST body of a decoded notification.
  public static func sign(_ notification: JSONValue) throws -> [UInt8] {
    try authority.get().sign(notification: notification)
  }

  /// The JWS of a payload, as a transaction is in Apple's answers.
  public static func sign(payload: JSONValue) throws -> [UInt8] {
    try authority.get().sign(payload: payload.bytes)
  }

  /// Signs what the simulator makes, receipts with both digests.
  public static func signer(v1Secret: String) throws -> MessageSigner {
    MessageSigner(
      try authority.get(), receipts: try receiptSigner.get(), digests: .both, v1Secret: v1Secret)
  }

  private static let receiptSigner = Result { try authority.get().makeReceiptSigner() }

  /// The receipt with this content.
  public static func receipt(
    _ content: ReceiptContent, digest: SigningKey.Digest = .sha256, attributed: Bool = false
  ) throws -> [UInt8] {
    try receiptSigner.get().sign(content.encoded, digest: digest, attributed: attributed)
  }
}
