import CVersion
import Glibc
import Platform
import SignedData

/// `subledger <command> …`: runs the command and exits with its code.
public enum Subledger {
  /// The release and, where it is known, the commit (semver.org, section 10).
  static let version = commit.isEmpty ? release : "\(release)+\(commit)"

  private static let release = "0.2.0"
  private static let commit = String(cString: subledger_commit())

  public static func main() {
    ProcessLimits.keepPrivate()
    Signals.block()
    CryptographyLibrary.keepUntilExit()
    let code = run(Array(CommandLine.arguments.dropFirst()))
    Terminal.clearProgress()
    exit(code.rawValue)
  }

  private static func run(_ arguments: [String]) -> ExitCode {
    guard let name = arguments.first else {
      Terminal.error(CommandTable.help)
      return .usage
    }
    // Flags in place of a command are other names of two commands.
    let named = ["--help": "help", "-h": "help", "--version": "version"][name] ?? name
    guard let command = CommandTable.command(named) else {
      let suggestion = Suggestion.text(for: name, among: CommandTable.commands.map(\.name))
      Terminal.error("subledger: unknown command '\(name)'\(suggestion)", .red)
      Terminal.error("see: subledger --help")
      return .usage
    }
    return command.run(Array(arguments.dropFirst()))
  }
}
