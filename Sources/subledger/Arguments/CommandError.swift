import Ledger
import Platform
import Queries
import Store

/// Why a command failed. Texts carry the next step.
enum CommandError: Error {
  case usage(String)
  case configuration(ConfigurationError)
  case store(LedgerError)
  case unavailable(String)
  case findings(String)
  /// ^C ended it; the text says what is left.
  case interrupted(String)

  var text: String {
    switch self {
    case .usage(let text), .unavailable(let text), .findings(let text), .interrupted(let text):
      text
    case .configuration(let error): error.description
    case .store(let error): error.description
    }
  }

  /// For a query without a result.
  static func query(_ error: QueryError) -> CommandError {
    switch error {
    case .refused(let reason): .usage(reason)
    case .noProjection, .timeLimit, .memoryLimit, .filesChanged: .unavailable(error.description)
    case .interrupted: .interrupted("stopped")
    case .store(let error): .store(error)
    }
  }

  /// For a failed read.
  static func read(_ failure: LedgerReader.Failure) -> CommandError {
    switch failure {
    case .notReady: .unavailable("the projection is being built; try again")
    case .ambiguous: .usage("two apps have this id; choose one with --bundle-id ID")
    case .store(let error): .store(error)
    }
  }

  /// For an error of building a projection.
  static func building(_ error: LedgerError) -> CommandError {
    error.code == .locked
      ? .unavailable(
        "the daemon or another rebuild is building a projection here; run this again later")
      : .store(error)
  }
}
