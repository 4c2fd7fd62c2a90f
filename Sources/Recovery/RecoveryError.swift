public import Clients
public import Platform
import Store

/// Why a recovery did not come to its end. What it journaled until then stays.
public enum RecoveryError: Error, Sendable, CustomStringConvertible {
  case appStore(AppStoreError)
  case store(LedgerError)
  /// What was recovered could not be journaled.
  case unavailable(String)
  case cancelled

  init(_ error: AppStoreError) { self = error.reason == .cancelled ? .cancelled : .appStore(error) }

  public var description: String {
    switch self {
    case .appStore(let error): error.description
    case .store(let error): error.description
    case .unavailable(let text): text
    case .cancelled: "stopped"
    }
  }
}
