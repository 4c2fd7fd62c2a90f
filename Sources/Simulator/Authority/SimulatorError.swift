import Platform
public import SignedData

/// Why a simulation could not be run. Each text carries the next step.
public enum SimulatorError: Error, Sendable, CustomStringConvertible {
  /// The command line is wrong; names the word.
  case usage(String)
  /// A file or folder: what was attempted, where, and errno.
  case file(_ attempt: String, path: String, code: Int32)
  case exists(path: String)
  /// The authority's folder holds something that is not an authority.
  case authority(path: String, SigningError)
  case signing(SigningError)
  case network(_ attempt: String)

  public var description: String {
    switch self {
    case .usage(let text): "\(text); see: subledger simulate --help"
    case .file(let attempt, let path, let code):
      "\(PlatformError.system("\(attempt) \(path)", code)); check the path, who may use it, and "
        + "the space left"
    case .exists(let path): "\(path) exists and was left alone; name another one"
    case .authority(let path, let error):
      "\(path): \(error); make a new authority with: subledger simulate ca DIR"
    case .signing(let error): error.description
    case .network(let attempt): "could not \(attempt); is the daemon running there?"
    }
  }
}
