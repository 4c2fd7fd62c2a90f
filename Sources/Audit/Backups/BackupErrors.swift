public import Platform

extension LedgerError.Code {
  /// The journal or the backup is damaged: the message is the findings.
  public static let brokenBackup = Self("broken_backup")
}

extension LedgerError {
  static func broken(_ findings: [Finding], _ count: Int) -> LedgerError {
    LedgerError(.brokenBackup, .damaged, Finding.text(findings, count))
  }
}

extension Finding {
  /// The first findings, one per line.
  ///
  /// - Parameter count: how many there are.
  public static func text(_ findings: [Finding], _ count: Int) -> String {
    let shown = findings.prefix(20)
    var lines = shown.map { ($0.seq.map { "seq \($0): " } ?? "") + $0.what }
    if count > shown.count { lines.append("and \(count - shown.count) more") }
    return lines.joined(separator: "\n")
  }
}
