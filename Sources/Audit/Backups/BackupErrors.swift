public import Platform

extension LedgerError.Code {
  /// The journal or the backup is damaged: the message is the findings.
  public static let brokenBackup = Self("broken_backup")
}

extension LedgerError {
  static func broken(_ findings: Findings) -> LedgerError {
    LedgerError(.brokenBackup, .damaged, findings.lines.joined(separator: "\n"))
  }
}
