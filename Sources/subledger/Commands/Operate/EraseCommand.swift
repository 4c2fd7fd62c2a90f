import Platform
import Store
import StrictJSON

/// `erase`: forgets an account of the owner.
enum EraseCommand {
  static let flags: [Command.Flag] = [
    .init("--account", "ID", "your own id of the user"),
    .init("--yes", "do not ask: it cannot be undone"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    guard let account = arguments["--account"], CustomerName.isValid(account) else {
      throw .usage("--account says which of your users to forget")
    }
    let (folder, configuration) = (try arguments.journalFolder(), try arguments.configuration())
    // Before the folder is locked: a person takes long.
    if !arguments.has("--yes") {
      try Terminal.requireYes("Forget this account for ever, in all files of \(folder.path)?")
    }
    let ledger = try LocalLedger(folder, configuration)
    defer { ledger.stop() }
    switch try ledger.post("/control/erase", Array(account.utf8)).status {
    case 200: break
    case 404: throw .findings("no account has this name")
    default: throw .unavailable("the journal could not be written, or a reader uses it; try again")
    }
    Terminal.print(
      .object([("outcome", .string("erased"))]),
      or: "forgotten; backups that were made before still name it", arguments)
    return .good
  }
}
