import Encoding
import LedgerQueries
import StrictJSON

enum ExplainCommand {
  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    let id = try words.only("an original transaction id")
    let question = try QueryOptions.question(words)
    let environment = try words.environment() ?? "Production"
    let reader = try QueryOptions.reader(words)
    let explanation = try CommandError.read { () throws(LedgerReader.Failure) in
      try reader.explain(
        id, environment: environment, bundleId: words["--bundle-id"], question)
    }
    guard let explanation else {
      throw .findings("no entitlement of that id in \(environment); see: subledger events")
    }
    Terminal.print(words.has("--json") ? explanation.json.text : text(explanation))
    return .good
  }

  private static let columns = 100

  static func text(_ explanation: Explanation) -> String {
    var lines = wrapped(explanation.verdict, indent: 0) + [""]
    for field in explanation.fields {
      lines.append("\(field.name)  \(QueryOptions.plain(field.name, field.value))")
      lines += wrapped(field.why, indent: 4)
      if let event = field.event {
        let words = [event.notificationType, event.subtype].compactMap { $0 }
        let signed = Timestamp.text(event.signedDate)
        let received = Timestamp.text(event.receivedAt)
        lines.append("    set by #\(event.seq)  \(words.joined(separator: " / "))")
        lines.append("    signed \(signed), received \(received)")
      }
      lines.append("")
    }
    return lines.joined(separator: "\n") + "\n" + coming(explanation.next)
  }

  private static func coming(_ turn: Explanation.Transition?) -> String {
    guard let turn else { return "Time alone changes nothing any more." }
    let access = turn.givesAccess ? "with access" : "without access"
    let time = Timestamp.text(turn.at)
    return "Unless something else comes: \(turn.status), \(access), from \(time)."
  }

  private static func wrapped(_ text: String, indent: Int) -> [String] {
    var lines: [String] = []
    var line = String(repeating: " ", count: indent)
    for word in text.split(separator: " ") {
      if line.count + word.count + 1 > columns {
        lines.append(line)
        line = String(repeating: " ", count: indent)
      }
      line += (line.count > indent ? " " : "") + word
    }
    return lines + [line]
  }
}
