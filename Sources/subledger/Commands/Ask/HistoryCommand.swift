import AppStore
import Platform
import Queries
import StrictJSON

/// `history`: one customer's timeline.
enum HistoryCommand {
  static let flags: [Command.Flag] =
    [.environment, .bundle, .asOf, .knownAt]
    + TimelineFilter.flags("entries")
    + [
      .init("--by", "signed", "in the order of the dates of Apple, not as entries arrived"),
      .init("--raw", "add what Apple's notifications say, decoded"), .json,
    ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let id = try arguments.operand("an original transaction id")
    let question = try QueryOptions.question(arguments)
    let environment = try arguments.environment() ?? .production
    let reader = try QueryOptions.reader(about: id, question, arguments)
    func history(_ environment: Environment) throws(LedgerError) -> History? {
      try reader.history(
        id, environment: environment, bundleId: arguments["--bundle-id"], question,
        isRaw: arguments.has("--raw"))
    }
    guard let history = try history(environment) else {
      throw try QueryOptions.absent("history", in: environment, arguments) {
        (other) throws(LedgerError) in try history(other) != nil
      }
    }
    let filter = try TimelineFilter(arguments)
    let items = filter.selected(from: history.items)
    if arguments.has("--json") {
      for item in items { Terminal.print(item.json) }
      if let time = history.confirmedAt {
        Terminal.print(
          .object([("object", .string("confirmation")), ("confirmed_at", .integer(time))]))
      }
      return .good
    }
    Terminal.print(HistoryText.heading(history, shown: items.count, isByDate: filter.isByDate))
    let width = HistoryText.numberWidth(history)
    for item in items { Terminal.print(HistoryText.block(item, width)) }
    if let closing = HistoryText.closing(history) { Terminal.print(closing) }
    return .good
  }
}
