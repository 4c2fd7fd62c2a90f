import Ledger
import Platform
import StrictJSON

/// `version`: the program, its fold and its libraries.
enum VersionCommand {
  /// The members of `version --json` and of the answer to `GET /version`.
  static var members: [(String, JSONValue)] {
    [("version", .string(Subledger.version))] + ComponentVersions.all.map { ($0, .string($1)) }
  }

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    if arguments.has("--json") {
      Terminal.print(.object(members))
    } else {
      Terminal.print("subledger \(Subledger.version)")
      for (name, version) in ComponentVersions.all { Terminal.print("\(name) \(version)") }
    }
    return .good
  }
}
