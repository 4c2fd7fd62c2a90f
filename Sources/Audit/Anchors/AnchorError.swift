import Platform
public import SignedData
public import Store

/// Why an anchor could not be made, or anchors could not be read. The description carries the next
/// step.
public enum AnchorError: Error, Sendable, CustomStringConvertible {
  case store(StoreError)
  /// A key's file, what is wrong with it, and what to do about it.
  case key(_ path: String, _ problem: String, _ next: String)
  /// A system call on the anchors' file or the key's failed: what was attempted, and errno.
  case platform(_ attempt: String, _ code: Int32)
  case signing(SigningError)

  public var description: String {
    switch self {
    case .store(let error): error.description
    case .key(let path, let problem, let next): "\(path) \(problem); \(next)"
    case .platform(let attempt, let code):
      "\(PlatformError.system(attempt, code)); check the path, its owner and its volume"
    case .signing(let error): "\(error); try again"
    }
  }

  init(_ error: PlatformError) {
    switch error {
    case .system(let attempt, let code): self = .platform(attempt, code)
    }
  }
}
