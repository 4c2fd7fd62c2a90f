public import Platform

extension LedgerError.Code {
  /// The configuration is wrong.
  public static let configuration = Self("configuration")
}

extension LedgerError {
  /// What is wrong with the configuration, and what to do about it.
  ///
  /// - Parameters:
  ///   - problem: with the file and the key.
  ///   - next: what to do about it.
  public static func configuration(_ problem: String, next: String) -> LedgerError {
    LedgerError(.configuration, .usage, problem, next: next)
  }
}
