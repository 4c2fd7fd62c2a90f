import AppStore
import LedgerQueries
import Platform
import StrictJSON

/// `history`: one customer's timeline.
enum HistoryCommand {
  static func run(_ arguments: Arguments) throws(CommandError) -> ExitCode {
    let id = try arguments.operand("an original transaction id")
    let question = try QueryOptions.question(arguments)
    let environment = try arguments.environment() ?? .production
    let reader = try QueryOptions.reader(arguments)
    func history(_ environment: Environment) throws(CommandError) -> History? {
      try mapError(
        CommandError.read,
        try reader.history(
          id, environment: environment, bundleId: arguments["--bundle-id"], question,
          isRaw: arguments.has("--raw")))
    }
    guard let history = try history(environment) else {
      throw try QueryOptions.absent("history", in: environment) {
        (other) throws(CommandError) in try history(other) != nil
      }
    }
    if arguments.has("--json") {
      for item in history.items { Terminal.print(item.json) }
      if let time = history.confirmedAt {
        Terminal.print(
          .object([("object", .string("confirmation")), ("confirmed_at", .integer(time))]))
      }
    } else {
      print(history)
    }
    return .good
  }

  static func print(_ history: History) {
    Terminal.print(HistoryText.heading(history))
    for item in history.items { Terminal.print(HistoryText.block(item)) }
    if let closing = HistoryText.closing(history) { Terminal.print(closing) }
  }
}
