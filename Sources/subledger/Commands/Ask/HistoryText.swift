import AppStore
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// A timeline as text: a heading, and for each item a line with number, date and description, and
/// lines of details below it.
enum HistoryText {
  /// Fields that the heading shows.
  private static let headingFields: Set<String> = [
    "environment", "bundle_id", "original_transaction_id",
  ]

  /// - Parameters:
  ///   - shown: how many entries follow.
  ///   - isByDate: whether they follow by their dates, not as they came.
  static func heading(_ history: History, shown: Int, isByDate: Bool) -> String {
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
        + (others == 0 ? "" : ", \(others)\(more) in quarantine")
        + (isByDate ? ", by date" : ", as received") + "; times are UTC"
        + (shown == history.items.count ? "" : "; \(shown) of \(history.items.count) entries shown")
    )
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

  /// Columns that the numbers of the events take.
  static func numberWidth(_ history: History) -> Int {
    history.entries.map { String($0.event.seq).count + 1 }.max() ?? 1
  }

  /// - Parameter numberWidth: columns of the numbers; details are indented by two more.
  static func block(_ item: History.Item, _ numberWidth: Int) -> String {
    var details = Details(indent: numberWidth + 2)
    switch item {
    case .event(let entry): add(entry, to: &details)
    case .transition(let transition): add(transition, to: &details)
    case .quarantined(let entry): add(entry, to: &details)
    case .mapping(let mapping):
      details.begin(mapping.at, mapping.description, number: "#\(mapping.seq)")
    }
    details.paragraph.addBlank()
    return details.paragraph.text
  }

  /// A block while it is made.
  private struct Details {
    let indent: Int
    var paragraph = TextWrapper()

    init(indent: Int) { self.indent = indent }

    /// The first line: number, date, what happened.
    ///
    /// - Parameter number: nil for what is no event.
    mutating func begin(_ time: Int64, _ text: String, number: String? = nil) {
      let line = "\(Timestamp.text(time))  \(text)"
      let hanging = indent + line.count - text.count
      guard let number else { return paragraph.add(line, indent: indent, hanging: hanging) }
      paragraph.add(number.padded(to: indent) + line, hanging: hanging)
    }

    mutating func add(_ text: String) {
      paragraph.add(text, indent: indent, hanging: indent + 2)
    }

    /// Fields with what they were and what they became, in columns.
    mutating func add(_ changes: [HistoryEntry.Change]) {
      let changes = changes.filter { !headingFields.contains($0.field) }
      let width = (changes.map(\.field.count).max() ?? 0) + 2
      for change in changes {
        let before = FieldText.of(change.field, change.before)
        let after = FieldText.of(change.field, change.after)
        add("\(change.field.padded(to: width))\(before) → \(after)")
      }
    }

    mutating func add(payload: JSONValue?) {
      guard let payload else { return }
      if case .null = payload { return add("the body cannot be read") }
      for line in payload.prettyText.split(separator: "\n") {
        paragraph.addVerbatim(line, indent: indent)
      }
    }
  }

  // MARK: An event

  private static func add(_ entry: HistoryEntry, to details: inout Details) {
    let event = entry.event
    // An event without a description is described by its type: print that once.
    let isNamed = entry.description != VisibleText.of(entry.typeAndSubtype)
    details.begin(
      event.signedDate, entry.description + (isNamed ? "  (\(entry.typeAndSubtype))" : ""),
      number: "#\(event.seq)")
    let version = event.source == .v1 ? ", version 1" : ""
    details.add(
      "received \(Timestamp.text(event.receivedAt))\(version)\(arrival(entry.arrival))")
    for rule in entry.rules { details.add(rule) }
    if let lateBy = entry.lateBy {
      details.add("late: an event signed \(DurationText.text(lateBy)) later was received before it")
    }
    if let again = entry.redeliveries {
      let times = again.count == 1 ? "once" : "\(again.count) times"
      let first = Timestamp.text(again.firstAt)
      let span = again.count == 1 ? first : "first \(first), last \(Timestamp.text(again.lastAt))"
      details.add("delivered again \(times), \(span)")
    }
    if let transaction = entry.transactionId {
      let facts = ["transaction \(transaction)"] + MoneyText.facts(entry.money)
      details.add(facts.joined(separator: ", "))
    }
    if let receipt = entry.receipt { details.add(proof(receipt)) }
    if entry.changes.isEmpty {
      let known = entry.isLate ? ": events signed later, received before it, had told it" : ""
      details.add("changed nothing" + known)
    }
    details.add(entry.changes)
    details.add(payload: entry.payload)
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

  // MARK: What time changed

  private static func add(_ transition: HistoryTransition, to details: inout Details) {
    let access = transition.access.map { ": access \($0 ? "no → yes" : "yes → no")" } ?? ""
    details.begin(transition.at, transition.description + access)
    details.add(transition.changes.filter { $0.field != "gives_access" })
  }

  // MARK: A quarantined notification

  private static func add(_ entry: QuarantinedEntry, to details: inout Details) {
    let type = entry.notificationType.map { "  (\($0))" } ?? ""
    details.begin(
      entry.signedDate ?? entry.receivedAt, "in quarantine: \(entry.reason)\(type)")
    details.add("received \(Timestamp.text(entry.receivedAt))")
    let app = [entry.environment?.rawValue, entry.bundleId].compactMap { $0 }
    if !app.isEmpty { details.add("of \(app.joined(separator: ", "))") }
    details.add("to ingest it again: subledger quarantine admit \(entry.id)")
    details.add(payload: entry.payload)
  }
}
