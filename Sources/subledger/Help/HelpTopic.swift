/// A page of the documentation that `subledger help TOPIC` prints.
enum HelpTopic: String, CaseIterable {
  case configuration
  case http
  case sinks
  case operating
  case exitCodes = "exit-codes"

  var summary: String {
    switch self {
    case .configuration: "The configuration file: every key, with default and meaning."
    case .http: "The HTTP interface: routes, parameters, refusals."
    case .sinks: "Where changes are sent: configuration, messages, commands."
    case .operating: "Pages by task: install, recover, back up, monitor and more."
    case .exitCodes: "What the exit code of a command means."
    }
  }

  var document: Document {
    switch self {
    case .configuration: ConfigurationTopic.document
    case .http: HTTPTopic.document
    case .sinks: SinksTopic.document
    case .operating: OperatingPage.contents
    case .exitCodes:
      Document(
        blocks: [Document.Block.heading("Exit codes of every command")]
          + ExitCode.allCases.map { code -> Document.Block in
            .entry(.init(term: "\(code.rawValue)", text: code.meaning))
          })
    }
  }

  /// All topics in one sentence.
  static let list = "Topics: \(allCases.map(\.rawValue).joined(separator: ", "))."
}
