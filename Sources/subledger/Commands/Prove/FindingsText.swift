import Audit
import Platform
import StrictJSON

/// The report of checks: text, JSON and exit code.
extension Findings {
  /// The code of a signature under a root that is not trusted, and what to do about it.
  static let untrusted = "chain_root"
  static let untrustedHint =
    "\(untrusted): signed under a root that is not trusted here; for simulated data give the "
    + "--config that names the root in \"trustRoots\""

  /// Prints what was found, then what was checked.
  func report(
    _ facts: [(String, JSONValue)], _ text: [String], _ arguments: Arguments
  ) -> ExitCode {
    let hint = contains { $0.what.hasSuffix(Self.untrusted) } ? [Self.untrustedHint] : []
    Terminal.print(
      .object(facts + members), or: (lines + hint + text).joined(separator: "\n"), arguments)
    return isEmpty ? .good : .findings
  }
}
