public import Platform
public import SignedData
import Store

/// Why an anchor could not be made, or anchors could not be read. The description carries the next
/// step.
public enum AnchorError: Error, Sendable, CustomStringConvertible {
  case store(LedgerError)
  /// A key's file, what is wrong with it, and what to do about it.
  case key(_ path: String, _ problem: String, _ next: String)
  /// A system call on the anchors' file or the key's failed.
  case file(LedgerError)
  case signing(SigningError)

  public var description: String {
    switch self {
    case .store(let error): error.description
    case .key(let path, let problem, let next): "\(path) \(problem); \(next)"
    case .file(let error):
      "\(error.detail); check the path, its owner and its volume"
    case .signing(let error): "\(error); try again"
    }
  }
}
