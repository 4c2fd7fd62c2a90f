import Audit
import StrictJSON

/// Findings as text and as JSON.
enum Findings {
  private static let shown = 20

  /// The code of a signature under a root that is not trusted, and what to do about it.
  static let untrusted = "chain_root"
  static let untrustedHint =
    "\(untrusted): signed under a root that is not trusted here; for simulated data give the "
    + "--config that names the root in \"trustRoots\""

  /// The first findings, one per line, and the number of the others.
  static func lines(_ findings: [Finding], count: Int) -> [String] {
    var lines = findings.prefix(shown).map { finding in
      "promise \(finding.promise) broken"
        + (finding.seq.map { " at seq \($0)" } ?? "") + ": \(finding.what)"
    }
    if count > lines.count { lines.append("and \(count - lines.count) more") }
    if findings.contains(where: { $0.what.hasSuffix(untrusted) }) { lines.append(untrustedHint) }
    return lines
  }

  static func json(_ findings: [Finding]) -> JSONValue {
    .array(
      findings.map { finding in
        .object([
          ("promise", .integer(Int64(finding.promise))), ("seq", .optional(finding.seq)),
          ("what", .string(finding.what)),
        ])
      })
  }
}
