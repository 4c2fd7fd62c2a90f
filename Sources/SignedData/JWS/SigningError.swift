/// Why something could not be signed. The proving half has its own verdicts; this is not one.
public enum SigningError: Error, Sendable, Equatable, CustomStringConvertible {
  /// OpenSSL refused; what was attempted.
  case failed(_ attempt: String)
  /// The text holds no private key of a kind that is used here.
  case unknownKey

  public var description: String {
    switch self {
    case .failed(let attempt): "OpenSSL could not \(attempt)"
    case .unknownKey: "not an unencrypted P-256, P-384, RSA or Ed25519 private key in PEM"
    }
  }
}
