import Glibc
import Platform

/// `subledger <command> …`: runs the command and exits with its code.
@main
enum Subledger {
  static let version = "0.1.0"

  static func main() {
    ProcessLimits.keepPrivate()
    Signals.block()
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
