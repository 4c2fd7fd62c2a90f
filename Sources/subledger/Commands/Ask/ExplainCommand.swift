import AppStore
import Platform
import Queries
import StrictJSON

/// `explain`: the event and the rule behind each field of a row.
enum ExplainCommand {
  static let flags: [Command.Flag] =
    [.environment, .bundle, .asOf, .knownAt] + TimelineFilter.flags("fields") + [.json]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let id = try arguments.operand("an original transaction id")
    let question = try QueryOptions.question(arguments)
    let environment = try arguments.environment() ?? .production
    let reader = try QueryOptions.reader(about: id, question, arguments)
    func explanation(_ environment: Environment) throws(LedgerError) -> Explanation? {
      try reader.explain(
        id, environment: environment, bundleId: arguments["--bundle-id"], question)
    }
    guard let explanation = try explanation(environment) else {
      throw try QueryOptions.absent("entitlement", in: environment, arguments) {
        (other) throws(LedgerError) in try explanation(other) != nil
      }
    }
    let filter = try TimelineFilter(arguments)
    let selected = explanation.with(fields: filter.selected(from: explanation.fields))
    Terminal.print(selected.json, or: text(selected), arguments)
    return .good
  }

  /// For each field a line with its value and what decided it, then the rule.
  private static func text(_ explanation: Explanation) -> String {
    var lines = TextWrapper()
    lines.add(explanation.verdict)
    lines.addBlank()
    let values = explanation.fields.map { QueryOptions.plain($0.name, $0.value) }
    let nameWidth = (explanation.fields.map(\.name.count).max() ?? 0) + 2
    // A long value moves only its own line.
    let valueWidth = min(values.map(\.count).max() ?? 0, 26) + 2
    for (field, value) in zip(explanation.fields, values) {
      lines.add(
        field.name.padded(to: nameWidth) + value.padded(to: valueWidth) + source(field), hanging: 4)
      if let event = field.event {
        let last = field.since == nil ? "" : "after #\(event.seq), "
        let signed = Timestamp.text(event.signedDate)
        let received = Timestamp.text(event.receivedAt)
        lines.add("\(last)signed \(signed), received \(received)", indent: 4)
      }
      lines.add(field.why, indent: 4)
      lines.addBlank()
    }
    return lines.text + "\n" + text(explanation.next)
  }

  /// What decided a field: an event, or after it the passing of time alone.
  private static func source(_ field: Explanation.Field) -> String {
    if let since = field.since { return "by time alone, \(Timestamp.text(since))" }
    guard let event = field.event else { return "by no event" }
    let type = [event.notificationType, event.subtype].compactMap { $0 }
    return "by #\(event.seq)  \(type.joined(separator: " / "))"
  }

  private static func text(_ next: Explanation.Transition?) -> String {
    guard let next else { return "No further change follows from time alone." }
    let access = next.givesAccess ? "with access" : "without access"
    let time = Timestamp.text(next.at)
    return "Without further events: \(next.status), \(access), from \(time)."
  }
}
