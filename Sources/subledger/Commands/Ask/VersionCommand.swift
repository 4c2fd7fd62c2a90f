import LedgerEngine
import StrictJSON

enum VersionCommand {
  /// What `version` and `/version` say.
  static var members: [(String, JSONValue)] {
    [("version", .string(Subledger.version))] + ComponentVersions.all.map { ($0, .string($1)) }
  }

  static func run(_ words: Arguments) -> ExitCode {
    if words.has("--json") {
      Terminal.print(JSONValue.object(members).text)
    } else {
      Terminal.print("subledger \(Subledger.version)")
      for (name, version) in ComponentVersions.all { Terminal.print("\(name) \(version)") }
    }
    return .good
  }
}
