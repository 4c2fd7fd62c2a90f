import Glibc
import Platform

/// `subledger <command> …`: runs the command and exits with its code.
@main
enum Subledger {
  static let version = "0.1.0"

  static func main() {
    ProcessLimits.keepPrivate()
    Signals.block()
    exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
  }

  private static func run(_ arguments: [String]) -> ExitCode {
    guard let name = arguments.first else {
      Terminal.error(CommandTable.help)
      return .usage
    }
    if ["--help", "-h"].contains(name) {
      Terminal.print(CommandTable.help)
      return .good
    }
    if name == "--version" { return VersionCommand.run(Arguments()) }
    guard let command = CommandTable.commands.first(where: { $0.name == name }) else {
      Terminal.error("subledger: unknown command '\(name)'; see: subledger --help")
      return .usage
    }
    return command.run(Array(arguments.dropFirst()))
  }
}
