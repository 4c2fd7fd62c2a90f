import Encoding
import JournalStore
import LedgerQueries
import Observability
import StrictJSON

/// A timeline for people: a heading, and a block for each thing that happened.
enum HistoryText {
  private static let indent = 4
  /// Fields that the heading has.
  private static let headed: Set<String> = [
    "environment", "bundle_id", "original_transaction_id",
  ]

  static func heading(_ history: History) -> String {
    let key = history.key
    var paragraph = TextWrapper()
    paragraph.add(
      "\(key.environment.isEmpty ? "–" : key.environment)  "
        + "\(key.bundleId.isEmpty ? "–" : key.bundleId)  \(key.originalTransactionId)")
    let events = history.entries.count
    let others = history.items.count - events
    let more = history.hasMoreQuarantined ? " or more" : ""
    paragraph.add(
      "\(events) \(events == 1 ? "event" : "events")"
        + (others == 0 ? "" : ", \(others)\(more) in quarantine") + ", as they came; times are UTC")
    paragraph.addBlank()
    return paragraph.text
  }

  /// What is said behind the last one; nil: nothing.
  static func ending(_ history: History) -> String? {
    guard history.hasMoreQuarantined else { return nil }
    return "More of this customer is in quarantine; see: subledger quarantine list"
  }

  static func block(_ item: History.Item) -> String {
    var paragraph = TextWrapper()
    switch item {
    case .event(let entry): add(entry, to: &paragraph)
    case .quarantined(let relative): add(relative, to: &paragraph)
    }
    paragraph.addBlank()
    return paragraph.text
  }

  // MARK: An event

  private static func add(_ entry: HistoryEntry, to paragraph: inout TextWrapper) {
    let event = entry.event
    // What has no words is said by its type.
    let isNamed = entry.words != VisibleText.of(entry.typeAndSubtype)
    paragraph.add(
      "#\(event.seq)  \(entry.words)" + (isNamed ? "  (\(entry.typeAndSubtype))" : ""),
      hanging: indent)
    let version = event.source == "v1" ? ", version 1" : ""
    paragraph.add(
      "signed \(Timestamp.text(event.signedDate)), received \(Timestamp.text(event.receivedAt))"
        + version, indent: indent)
    if let lateBy = entry.lateBy {
      paragraph.add(
        "late: something signed \(Lapse.text(lateBy)) later had come before it", indent: indent)
    }
    if let again = entry.redeliveries {
      let times = again.count == 1 ? "once" : "\(again.count) times"
      let first = Timestamp.text(again.firstAt)
      let until = again.count == 1 ? "" : ", last \(Timestamp.text(again.lastAt))"
      paragraph.add("came again \(times), \(first)\(until): refused", indent: indent)
    }
    if let transaction = entry.transactionId {
      let facts = ["transaction \(transaction)"] + Money.facts(entry.money)
      paragraph.add(facts.joined(separator: ", "), indent: indent, hanging: indent + 2)
    }
    if entry.changes.isEmpty { paragraph.add("changed nothing", indent: indent) }
    for change in entry.changes where !headed.contains(change.field) {
      let before = FieldText.of(change.field, change.before)
      let after = FieldText.of(change.field, change.after)
      paragraph.add(
        "\(change.field): \(before) → \(after)", indent: indent, hanging: indent + 2)
    }
    add(entry.payload, to: &paragraph)
  }

  private static func add(_ payload: JSONValue?, to paragraph: inout TextWrapper) {
    guard let payload else { return }
    if case .null = payload { return paragraph.add("the body cannot be read", indent: indent) }
    for line in payload.prettyText.split(separator: "\n") {
      paragraph.addVerbatim(line, indent: indent)
    }
  }

  // MARK: What is in quarantine

  private static func add(_ relative: QuarantinedEntry, to paragraph: inout TextWrapper) {
    let type = relative.notificationType.map { "  (\($0))" } ?? ""
    paragraph.add("in quarantine: \(relative.reason)\(type)", hanging: indent)
    let signed = relative.signedDate.map { "signed \(Timestamp.text($0)), " } ?? ""
    paragraph.add("\(signed)received \(Timestamp.text(relative.receivedAt))", indent: indent)
    let whose = [relative.environment, relative.bundleId].compactMap { $0 }
    if !whose.isEmpty {
      paragraph.add("of \(whose.joined(separator: ", "))", indent: indent, hanging: indent + 2)
    }
    paragraph.add(
      "once it may come in: subledger quarantine admit \(relative.id)", indent: indent)
    add(relative.payload, to: &paragraph)
  }
}

/// A length of time in its greatest unit and the next one.
private enum Lapse {
  static func text(_ milliseconds: Int64) -> String {
    let units: [(Int64, String)] = [
      (86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"),
    ]
    guard let first = units.firstIndex(where: { milliseconds >= $0.0 }) else { return "0 ms" }
    let (length, name) = units[first]
    let whole = "\(milliseconds / length) \(name)"
    guard first + 1 < units.count else { return whole }
    let (part, partName) = units[first + 1]
    let rest = milliseconds % length / part
    return rest == 0 ? whole : "\(whole) \(rest) \(partName)"
  }
}

/// What was paid and given back, as people write it; nothing is rounded.
private enum Money {
  static func facts(_ money: JSONValue) -> [String] {
    var facts: [String] = []
    if let price = number(money["price"]) {
      facts.append(amount(price, text(money["currency"])))
    }
    if let quantity = number(money["quantity"]), quantity != 1 { facts.append("\(quantity) of it") }
    let offer = ["offer_discount_type", "offer_identifier", "offer_period"]
      .compactMap { text(money[$0]) }
    if let type = number(money["offer_type"]) {
      facts.append((["offer \(type)"] + offer).joined(separator: " "))
    }
    return facts + refund(money)
  }

  private static func refund(_ money: JSONValue) -> [String] {
    guard let date = number(money["revocation_date"]) else { return [] }
    var facts = ["taken back as of \(Timestamp.text(date))"]
    if let type = text(money["revocation_type"]) { facts.append(type) }
    if let reason = number(money["revocation_reason"]) { facts.append("reason \(reason)") }
    if let share = number(money["revocation_percentage"]) {
      facts.append("\(thousandths(share)) %")
    }
    return facts
  }

  /// Milliunits: thousandths of the currency.
  static func amount(_ milliunits: Int64, _ currency: String?) -> String {
    thousandths(milliunits, atLeast: 2) + (currency.map { " \($0)" } ?? "")
  }

  private static func thousandths(_ value: Int64, atLeast places: Int = 0) -> String {
    var digits = String(value.magnitude % 1000)
    digits = String(repeating: "0", count: 3 - digits.count) + digits
    while digits.count > places, digits.hasSuffix("0") { digits.removeLast() }
    let whole = (value < 0 ? "-" : "") + String(value.magnitude / 1000)
    return digits.isEmpty ? whole : "\(whole).\(digits)"
  }

  private static func number(_ value: JSONValue?) -> Int64? {
    if case .integer(let number)? = value { number } else { nil }
  }

  private static func text(_ value: JSONValue?) -> String? {
    if case .string(let text)? = value { text } else { nil }
  }
}

/// The value of a row's field for people: objects as their parts, times as dates.
private enum FieldText {
  static func of(_ field: String, _ value: JSONValue) -> String {
    guard case .object(let members) = value else { return QueryOptions.plain(field, value) }
    if case .integer(let price)? = value["milliunits"] {
      guard case .string(let currency)? = value["currency"] else {
        return Money.amount(price, nil)
      }
      return Money.amount(price, currency)
    }
    let parts = members.compactMap { name, value -> String? in
      if case .null = value { return nil }
      return "\(name) \(QueryOptions.plain(name, value))"
    }
    return parts.isEmpty ? "–" : parts.joined(separator: ", ")
  }
}
