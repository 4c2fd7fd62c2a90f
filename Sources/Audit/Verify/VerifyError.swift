public import Ledger
public import Platform
import Store

/// Why a verification could not be made.
public enum VerifyError: Error, Sendable {
  case store(LedgerError)
  case configuration(ConfigurationError)
  /// The anchors, their key, or the bundle cannot be read.
  case anchors(AnchorError)
}
