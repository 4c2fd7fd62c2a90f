import LedgerAudit
import StrictJSON

/// What was found, for people and for programs.
enum Findings {
  private static let shown = 20

  /// The first ones, a line each, and how many more there are.
  static func lines(_ findings: [Verify.Finding], count: Int) -> [String] {
    var lines = findings.prefix(shown).map { finding in
      "promise \(finding.promise) broken"
        + (finding.seq.map { " at seq \($0)" } ?? "") + ": \(finding.what)"
    }
    if count > lines.count { lines.append("and \(count - lines.count) more") }
    return lines
  }

  static func json(_ findings: [Verify.Finding]) -> JSONValue {
    .array(
      findings.map { finding in
        .object([
          ("promise", .integer(Int64(finding.promise))), ("seq", .optional(finding.seq)),
          ("what", .string(finding.what)),
        ])
      })
  }
}
