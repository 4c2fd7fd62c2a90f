import Platform
public import SignedData

/// Why a simulation could not be run. Each description names the next step.
public enum SimulatorError: Error, Sendable, CustomStringConvertible {
  /// The command line is wrong; the text names the argument.
  case usage(String)
  /// An operation on a file or folder failed: what was attempted, where, and errno.
  case file(_ attempt: String, path: String, code: Int32)
  /// A file or folder that was to be made exists already.
  case exists(path: String)
  /// The folder holds something else than an authority.
  case authority(path: String, SigningError)
  case signing(SigningError)
  /// The service cannot be reached, or no thread could be started; the text says what was
  /// attempted.
  case network(_ attempt: String)

  public var description: String {
    switch self {
    case .usage(let text): text
    case .file(let attempt, let path, let code):
      "\(LedgerError.system("\(attempt) \(path)", code).detail); check the path, its permissions "
        + "and the free space"
    case .exists(let path): "\(path) exists and was not changed; name another one"
    case .authority(let path, let error):
      "\(path): \(error); make a new authority with: subledger simulate ca DIR"
    case .signing(let error): error.description
    case .network(let attempt): "could not \(attempt); is the daemon running there?"
    }
  }
}
