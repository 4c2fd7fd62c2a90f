import AppStore
import Encoding
import JournalStore
import LedgerEngine
import LedgerQueries
import Observability
import StrictJSON

/// A timeline as text: a heading and a block of lines for each item.
enum HistoryText {
  private static let indent = 4
  /// Fields that the heading shows.
  private static let headingFields: Set<String> = [
    "environment", "bundle_id", "original_transaction_id",
  ]

  static func heading(_ history: History) -> String {
    let key = history.key
    var paragraph = TextWrapper()
    paragraph.add(
      "\(key.environment.rawValue.isEmpty ? "–" : key.environment.rawValue)  "
        + "\(key.bundleId.isEmpty ? "–" : key.bundleId)  \(key.originalTransactionId)")
    let events = history.entries.count
    let others = history.quarantined
    let more = history.hasMoreQuarantined ? " or more" : ""
    paragraph.add(
      "\(events) \(events == 1 ? "event" : "events")"
        + (others == 0 ? "" : ", \(others)\(more) in quarantine") + ", as received; times are UTC")
    paragraph.addBlank()
    return paragraph.text
  }

  /// The lines after the last item; nil if there is nothing to add.
  static func closing(_ history: History) -> String? {
    var lines: [String] = []
    if let time = history.confirmedAt {
      lines.append("Apple, asked for it, last said the same at \(Timestamp.text(time)).")
    }
    if history.hasMoreQuarantined {
      lines.append("There are more quarantined notifications; see: subledger quarantine list")
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  static func block(_ item: History.Item) -> String {
    var paragraph = TextWrapper()
    switch item {
    case .event(let entry): add(entry, to: &paragraph)
    case .transition(let transition): add(transition, to: &paragraph)
    case .quarantined(let entry): add(entry, to: &paragraph)
    }
    paragraph.addBlank()
    return paragraph.text
  }

  // MARK: An event

  private static func add(_ entry: HistoryEntry, to paragraph: inout TextWrapper) {
    let event = entry.event
    // An event without a description is described by its type: print that once.
    let isNamed = entry.description != VisibleText.of(entry.typeAndSubtype)
    paragraph.add(
      "#\(event.seq)  \(entry.description)" + (isNamed ? "  (\(entry.typeAndSubtype))" : ""),
      hanging: indent)
    let version = event.source == .v1 ? ", version 1" : ""
    paragraph.add(
      "signed \(Timestamp.text(event.signedDate)), received \(Timestamp.text(event.receivedAt))"
        + version + arrival(entry.arrival), indent: indent)
    if let lateBy = entry.lateBy {
      paragraph.add(
        "late: an event signed \(DurationText.text(lateBy)) later was received before it",
        indent: indent)
    }
    if let again = entry.redeliveries {
      let times = again.count == 1 ? "once" : "\(again.count) times"
      let first = Timestamp.text(again.firstAt)
      let span = again.count == 1 ? first : "first \(first), last \(Timestamp.text(again.lastAt))"
      paragraph.add("delivered again \(times), \(span)", indent: indent)
    }
    if let transaction = entry.transactionId {
      let facts = ["transaction \(transaction)"] + MoneyText.facts(entry.money)
      paragraph.add(facts.joined(separator: ", "), indent: indent, hanging: indent + 2)
    }
    if let receipt = entry.receipt {
      paragraph.add(proof(receipt), indent: indent, hanging: indent + 2)
    }
    if entry.changes.isEmpty { paragraph.add("changed nothing", indent: indent) }
    add(entry.changes, to: &paragraph)
    add(entry.payload, to: &paragraph)
  }

  private static func add(_ changes: [HistoryEntry.Change], to paragraph: inout TextWrapper) {
    for change in changes where !headingFields.contains(change.field) {
      let before = FieldText.of(change.field, change.before)
      let after = FieldText.of(change.field, change.after)
      paragraph.add(
        "\(change.field): \(before) → \(after)", indent: indent, hanging: indent + 2)
    }
  }

  /// What the receipt in a version 1 notification proves.
  private static func proof(_ receipt: V1Receipt) -> String {
    if let reason = receipt.reason { return "the receipt in it is not proven: \(reason)" }
    let (all, proven) = (
      receipt.transactions.count, receipt.transactions.count { $0.word == .proven }
    )
    let differing = receipt.transactions.count { $0.word == .differs }
    let contradiction = differing == 0 ? "" : ", \(differing) differ from it"
    return "Apple's receipt in it proves \(proven) of \(all) transactions\(contradiction)"
  }

  /// How it arrived; nothing for what Apple posted, as it does by itself.
  private static func arrival(_ arrival: EventArrival?) -> String {
    switch arrival {
    case nil, .posted: ""
    case .history: ", from Apple's history"
    case .import: ", by import"
    case .asked: ", by asking Apple"
    case .submitted: ", from the app"
    }
  }

  private static func add(_ payload: JSONValue?, to paragraph: inout TextWrapper) {
    guard let payload else { return }
    if case .null = payload { return paragraph.add("the body cannot be read", indent: indent) }
    for line in payload.prettyText.split(separator: "\n") {
      paragraph.addVerbatim(line, indent: indent)
    }
  }

  // MARK: What time changed

  private static func add(_ transition: HistoryTransition, to paragraph: inout TextWrapper) {
    let access = transition.access.map { ": access \($0 ? "no → yes" : "yes → no")" } ?? ""
    paragraph.add(
      "\(Timestamp.text(transition.at))  \(transition.description)\(access)", hanging: indent)
    add(transition.changes.filter { $0.field != "gives_access" }, to: &paragraph)
  }

  // MARK: A quarantined notification

  private static func add(_ entry: QuarantinedEntry, to paragraph: inout TextWrapper) {
    let type = entry.notificationType.map { "  (\($0))" } ?? ""
    paragraph.add("in quarantine: \(entry.reason)\(type)", hanging: indent)
    let signed = entry.signedDate.map { "signed \(Timestamp.text($0)), " } ?? ""
    paragraph.add("\(signed)received \(Timestamp.text(entry.receivedAt))", indent: indent)
    let app = [entry.environment?.rawValue, entry.bundleId].compactMap { $0 }
    if !app.isEmpty {
      paragraph.add("of \(app.joined(separator: ", "))", indent: indent, hanging: indent + 2)
    }
    paragraph.add(
      "to ingest it again: subledger quarantine admit \(entry.id)", indent: indent)
    add(entry.payload, to: &paragraph)
  }
}
