import Platform
import Store
import StrictJSON

/// `erase`: forgets an account of the owner.
enum EraseCommand {
  static let flags: [Command.Flag] = [
    .init("--account", "ID", "your own id of the user"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    guard let account = arguments["--account"], CustomerName.isValid(account) else {
      throw .usage("--account says which of your users to forget")
    }
    let writer = try StatementWriter(
      try arguments.journalFolder(), try arguments.configuration())
    defer { writer.stop() }
    guard try writer.erase(account) else { throw .findings("no account has this name") }
    Terminal.print(
      .object([("outcome", .string("erased"))]),
      or: "forgotten; backups that were made before still name it", arguments)
    return .good
  }
}
