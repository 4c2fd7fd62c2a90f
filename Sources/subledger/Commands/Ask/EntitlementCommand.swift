import Configuration
import Encoding
import JournalStore
import LedgerQueries
import Platform
import StrictJSON

enum EntitlementCommand {
  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    let id = try words.only("an original transaction id")
    let question = try QueryOptions.question(words)
    let environment = try words.environment() ?? "Production"
    let reader = try QueryOptions.reader(words)
    let document = try CommandError.read { () throws(LedgerReader.Failure) in
      try reader.entitlement(
        id, environment: environment, bundleId: words["--bundle-id"], question)
    }
    guard let document else {
      throw .findings("no entitlement of that id in \(environment); see: subledger events")
    }
    Terminal.print(words.has("--json") ? document.json.text : QueryOptions.table(document.json))
    return .good
  }
}

/// What commands that ask about customers share.
enum QueryOptions {
  static func question(
    _ words: Arguments
  ) throws(CommandError) -> LedgerReader.Question {
    LedgerReader.Question(
      asOf: try words.time("--as-of"), knownAt: try words.time("--known-at"), now: Clock.now())
  }

  static func reader(_ words: Arguments) throws(CommandError) -> LedgerReader {
    let configuration = try words.configuration()
    let folder = words.folder(configuration)
    return try CommandError.store { () throws(StoreError) in
      try LedgerReader(folder, durations: configuration.nonRenewingDurations)
    }
  }

  /// An object as lines of name and value, for people.
  static func table(_ value: JSONValue) -> String {
    guard case .object(let members) = value else { return value.text }
    return members.map { $0.0.padded(to: 26) + plain($0.0, $0.1) }.joined(separator: "\n")
  }

  /// Times in RFC 3339, nothing as a dash.
  static func plain(_ name: String, _ value: JSONValue) -> String {
    switch value {
    case .null: return "–"
    case .string(let text): return text
    case .boolean(let isTrue): return isTrue ? "yes" : "no"
    case .integer(let time) where name.hasSuffix("_at") || name == "as_of":
      return Timestamp.text(time)
    default: return value.text
    }
  }
}
