public import Clients
public import HTTPServer
public import Platform
public import SignedData

/// Why the simulated App Store cannot do something. Each description names the next step.
public enum SimulatorError: Error, Sendable, CustomStringConvertible {
  /// An operation on a file or folder failed: what was attempted, where, and errno.
  case file(_ attempt: String, path: String, code: Int32)
  /// A file or folder that was to be made exists already.
  case exists(path: String)
  /// The folder holds something else than an authority.
  case authority(path: String, SigningError)
  case signing(SigningError)
  /// Nothing can be sent.
  case client(ClientError)
  /// The service does not listen.
  case server(HTTPServerError)
  /// The kernel refused a thread.
  case platform(LedgerError)

  public var description: String {
    switch self {
    case .file(let attempt, let path, let code):
      "\(LedgerError.system("\(attempt) \(path)", code).detail); check the path, its permissions "
        + "and the free space"
    case .exists(let path): "\(path) exists and was not changed; name another one"
    case .authority(let path, let error):
      "\(path): \(error); make a new authority with: subledger simulate ca DIR"
    case .signing(let error): error.description
    case .client(let error): error.description
    case .server(let error): error.description
    case .platform(let error): error.detail
    }
  }

  /// The error of an attempt at a file.
  public static func file(_ attempt: String, _ path: String, _ error: LedgerError) -> Self {
    .file(attempt, path: path, code: error.number)
  }
}
