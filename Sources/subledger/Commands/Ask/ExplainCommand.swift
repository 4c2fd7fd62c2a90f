import AppStore
import Encoding
import LedgerQueries
import Platform
import StrictJSON

/// `explain`: the event and the rule behind each field of a row.
enum ExplainCommand {
  static func run(_ arguments: Arguments) throws(CommandError) -> ExitCode {
    let id = try arguments.operand("an original transaction id")
    let question = try QueryOptions.question(arguments)
    let environment = try arguments.environment() ?? .production
    let reader = try QueryOptions.reader(arguments)
    func explanation(_ environment: Environment) throws(CommandError) -> Explanation? {
      try mapError(
        CommandError.read,
        try reader.explain(
          id, environment: environment, bundleId: arguments["--bundle-id"], question))
    }
    guard let explanation = try explanation(environment) else {
      throw try QueryOptions.absent("entitlement", in: environment) {
        (other) throws(CommandError) in try explanation(other) != nil
      }
    }
    Terminal.print(explanation.json, or: text(explanation), arguments)
    return .good
  }

  static func text(_ explanation: Explanation) -> String {
    var lines = TextWrapper()
    lines.add(explanation.verdict)
    lines.addBlank()
    for field in explanation.fields {
      lines.add("\(field.name)  \(QueryOptions.plain(field.name, field.value))")
      lines.add(field.why, indent: 4)
      if let event = field.event {
        let type = [event.notificationType, event.subtype].compactMap { $0 }
        let signed = Timestamp.text(event.signedDate)
        let received = Timestamp.text(event.receivedAt)
        lines.add("set by #\(event.seq)  \(type.joined(separator: " / "))", indent: 4)
        lines.add("signed \(signed), received \(received)", indent: 4)
      }
      lines.addBlank()
    }
    return lines.text + "\n" + text(explanation.next)
  }

  private static func text(_ next: Explanation.Transition?) -> String {
    guard let next else { return "No further change follows from time alone." }
    let access = next.givesAccess ? "with access" : "without access"
    let time = Timestamp.text(next.at)
    return "Without further events: \(next.status), \(access), from \(time)."
  }
}
