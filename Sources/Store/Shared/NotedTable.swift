/// A table whose rows travel between copies as notes. Together with the tables in
/// `ChangeRecorder`, these are all that `Journal.write` writes; the head of `Note.swift` says why.
struct NotedTable: Sendable {
  let name: String
  /// The column that is the row id.
  let key: String
  /// All others, in the order of the table; `stream_id` travels as the stream's key, because a
  /// stream's id is the copy's own.
  let columns: [String]
  /// Whether ids are never used again, also of rows that came and went.
  var isAutoincrement = false
  /// What `verify` compares the rows with.
  var digest: RunningDigest?

  static let quarantine = NotedTable(
    name: "quarantine", key: "id",
    columns: [
      "reason", "is_foreign", "source", "notification_uuid", "environment", "bundle_id",
      "notification_type", "signed_date_ms", "received_at_ms", "body_sha256", "dictionary_id",
      "body", "original_transaction_id",
    ], isAutoincrement: true, digest: .quarantine)

  static let heldEvidence = NotedTable(
    name: "held_evidence", key: "id",
    columns: [
      "notification_uuid", "source", "stream_id", "transaction_id", "signed_date_ms",
      "received_at_ms", "body_sha256", "arrival", "dictionary_id", "body",
    ], isAutoincrement: true, digest: .held)

  static let receipt = NotedTable(
    name: "receipt", key: "id", columns: ["sha256", "is_journaled", "body"])

  static let account = NotedTable(
    name: "account", key: "id", columns: ["kind", "name", "key", "mac"], isAutoincrement: true)

  static let redelivery = NotedTable(
    name: "redelivery", key: "seq", columns: ["count", "first_at_ms", "last_at_ms"],
    digest: .redeliveries)

  static let arrival = NotedTable(
    name: "arrival", key: "seq", columns: ["how"], digest: .arrivals)

  static let all = [quarantine, heldEvidence, receipt, account, redelivery, arrival]

  static func named(_ name: String) -> NotedTable? { all.first { $0.name == name } }

  /// Tables of which the other copies derive the rows, or get them in another form.
  static let derived: Set = ["event", "dictionary", "app", "stream", "kind", "statement", "claim"]

  /// Tables about what was followed: each copy has its own.
  static let local: Set = ["broken_event", "unproven_event", "skipped_note"]

  /// Values of `meta` that travel as notes.
  static let noted: [Meta.Key] = [.foreignOverflow, .unnamedThrough]

  var hasStream: Bool { columns.contains("stream_id") }
}
