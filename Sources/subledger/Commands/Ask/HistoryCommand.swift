import LedgerQueries
import StrictJSON

enum HistoryCommand {
  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    let id = try words.only("an original transaction id")
    let question = try QueryOptions.question(words)
    let environment = try words.environment() ?? "Production"
    let reader = try QueryOptions.reader(words)
    let history = try CommandError.read { () throws(LedgerReader.Failure) in
      try reader.history(
        id, environment: environment, bundleId: words["--bundle-id"], question,
        isRaw: words.has("--raw"))
    }
    guard let history else {
      throw .findings("no events of that id in \(environment); see: subledger events")
    }
    if words.has("--json") {
      for item in history.items { Terminal.print(item.json.text) }
    } else {
      print(history)
    }
    return .good
  }

  static func print(_ history: History) {
    Terminal.print(HistoryText.heading(history))
    for item in history.items { Terminal.print(HistoryText.block(item)) }
    if let ending = HistoryText.ending(history) { Terminal.print(ending) }
  }
}
