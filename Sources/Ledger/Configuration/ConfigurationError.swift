/// What is wrong with the configuration, and what to do about it.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
  /// What is wrong, with the file and the key.
  public let problem: String
  /// What to do about it.
  public let next: String

  public init(_ problem: String, next: String) {
    self.problem = problem
    self.next = next
  }

  public var description: String { "\(problem); \(next)" }
}
