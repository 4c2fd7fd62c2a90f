import Delivery
import Ledger

/// Where changes are sent, written from the tables of configuration keys and of messages.
enum SinksTopic {
  static var document: Document {
    Document(blocks: first + keys(.sink) + mirrors + keys(.mirror) + messages + commands)
  }

  private static let first: [Document.Block] = [
    .heading("Sinks"),
    .paragraph(
      "A sink is told of every change at least once, in order for each customer: a webhook gets "
        + "signed messages, forward passes Apple's POST on, a mirror keeps rows in PostgreSQL. "
        + "Make a secret, add the sink to the configuration, reload, and try it:"),
    .code(
      """
      subledger sink secret > backend.whsec && chmod 600 backend.whsec
      \(ConfigurationKey.example("sinks") ?? "")
      systemctl reload subledger && subledger sink test backend
      """), .heading("Keys of a sink"),
  ]

  private static let mirrors: [Document.Block] = [.heading("Keys of a mirror")]

  private static func keys(_ parent: ConfigurationKey.Parent) -> [Document.Block] {
    ConfigurationKey.table.filter { $0.parent == parent }.map {
      .entry(ConfigurationTopic.entry($0))
    }
  }

  private static var messages: [Document.Block] {
    [
      .heading("Types of messages"),
      .paragraph(
        "/openapi.json of a running daemon describes the body, which is the same for all. Types "
          + "that Apple adds flow by themselves."),
    ] + MessageType.all.map { .entry(.init(term: $0.name, text: $0.meaning)) }
  }

  private static let commands: [Document.Block] = [
    .heading("Commands"),
    .paragraph(
      "sink list and sink show NAME say how far each is, and what is held; sink test NAME sends a "
        + "message without content to a webhook or forward. See: subledger help sink"),
  ]
}
