import Ledger
import Platform
import StrictJSON

/// `version`: the program, its fold and its libraries.
enum VersionCommand {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let versions = ComponentVersions.all(of: Subledger.version)
    if arguments.has("--json") {
      Terminal.print(.object(versions.map { ($0.name, .string($0.version)) }))
    } else {
      Terminal.print("subledger \(Subledger.version)")
      for (name, version) in versions.dropFirst() { Terminal.print("\(name) \(version)") }
    }
    return .good
  }
}
