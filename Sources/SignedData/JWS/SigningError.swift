/// Why a key could not be made, read or used to sign. Failed proofs are `ProofFailure`.
public enum SigningError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A call of OpenSSL failed; the text says what was attempted, worded to follow "could not".
  case failed(_ attempt: String)
  /// The text is no unencrypted private key of a supported kind.
  case unknownKey

  public var description: String {
    switch self {
    case .failed(let attempt): "OpenSSL could not \(attempt)"
    case .unknownKey: "not an unencrypted P-256, P-384, RSA or Ed25519 private key in PEM"
    }
  }
}
