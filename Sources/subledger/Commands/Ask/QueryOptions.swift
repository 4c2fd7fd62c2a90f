import AppStore
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// What the commands that ask about one customer share.
enum QueryOptions {
  /// The moment that is asked about.
  ///
  /// - Throws: `LedgerError.usage` if a flag is not a time.
  static func question(
    _ arguments: Arguments
  ) throws(LedgerError) -> LedgerReader.Question {
    var question = LedgerReader.Question(
      asOf: try arguments.time("--as-of"), knownAt: try arguments.time("--known-at"),
      now: Clock.now())
    guard ["now", nil].contains(arguments["--knowledge"]) else {
      throw .usage("--knowledge takes now")
    }
    question.usesPresentKnowledge = arguments["--knowledge"] != nil
    return question
  }

  /// A reader of the configured data folder.
  ///
  /// - Throws: `LedgerError.configuration`, or what the store throws if the folder has no journal
  ///   that can be read.
  static func reader(_ configuration: Configuration) throws(LedgerError) -> LedgerReader {
    let reader = try LedgerReader(
      DataFolder(path: configuration.data), durations: configuration.durations)
    reader.receipts = try ReceiptProof(configuration.trustRoots)
    return reader
  }

  /// A reader for questions about one original transaction id, also where the configuration is
  /// refused. Receipts are not proven then unless the roots are known.
  ///
  /// - Throws: as `reader(_:)`; `LedgerError.configuration` where the answer may depend on a
  ///   duration that is not known.
  static func reader(
    about id: String, _ question: LedgerReader.Question, _ arguments: Arguments
  ) throws(LedgerError) -> LedgerReader {
    let readable = try arguments.readable([.data])
    let reader = try reader(readable.configuration)
    if readable.missing.contains(.trustRoots) { reader.receipts = nil }
    guard readable.missing.contains(.nonRenewingDurations) else { return reader }
    if try reader.mayLast(id, question) {
      throw .configuration(
        "this purchase has no end of its own, and nonRenewingDurations could not be read",
        next: "correct the configuration: without it the answer could be wrong")
    }
    return reader
  }

  /// The error for an id about which nothing is found in an environment: it names the other one
  /// if that has it.
  ///
  /// - Parameters:
  ///   - what: what was looked for, such as "entitlement".
  ///   - isIn: whether an environment has it.
  static func absent(
    _ what: String, in environment: Environment, _ arguments: Arguments,
    _ isIn: (Environment) throws(LedgerError) -> Bool
  ) throws(LedgerError) -> LedgerError {
    for other in Environment.all where other != environment {
      guard try isIn(other) else { continue }
      return .findings(
        "no \(what) in \(environment); there is one in \(other): add --environment \(other)")
    }
    if let moment = arguments["--as-of"] ?? arguments["--known-at"] {
      return .findings(
        "no \(what) with this id in \(environment) at \(moment), by what Apple had signed by then; "
          + "without a moment it may have one, and with --knowledge now what is known since counts")
    }
    return .findings("no \(what) with this id in \(environment); see: subledger events")
  }

  /// An object as text: one line per member, with name and value.
  static func table(_ value: JSONValue) -> String {
    guard case .object(let members) = value else { return value.text }
    return members.map { $0.0.padded(to: 26) + FieldText.of($0.0, $0.1) }.joined(separator: "\n")
  }

  /// A value as text: times in RFC 3339, null as a dash.
  static func plain(_ name: String, _ value: JSONValue) -> String {
    switch value {
    case .null: return "–"
    case .string(let text): return VisibleText.of(text)
    case .boolean(let isTrue): return isTrue ? "yes" : "no"
    case .integer(let time) where name.hasSuffix("_at") || ["as_of", "deadline"].contains(name):
      return Timestamp.text(time)
    default: return value.text
    }
  }
}
