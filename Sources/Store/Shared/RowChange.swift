import AppStore
import Platform
import StrictJSON

/// What a note says: the new content of one row, or that it was removed.
struct RowChange: Equatable {
  /// A value of `meta`, or a row of a table.
  enum Content: Equatable {
    case value(Int64)
    /// The columns by name, and the stream that the row is about.
    case row([String: QueryValue], stream: StreamKey?)
    case removed
  }

  let table: String
  /// The row id, or the key in `meta`.
  let key: String
  let content: Content

  /// A removal has another subject than the contents of its row: those are cleared when the row is
  /// removed, and earlier removals of the same row id are not.
  var subject: String { content == .removed ? "\(row)/\(Self.removed)" : row }
  /// The subject of the row's contents.
  var row: String { "\(table)/\(key)" }
  static let meta = "meta"
  private static let removed = "removed"

  init(_ table: String, _ key: String, _ content: Content) {
    (self.table, self.key, self.content) = (table, key, content)
  }

  var rowID: Int64? { Int64(key) }

  /// JSON in UTF-8: `{"value":3}`, `{"removed":true}`, or
  /// `{"columns":{"reason":"other_app","body":{"base64":"…"}},"stream":{…}}`.
  var body: [UInt8] {
    switch content {
    case .value(let value): return JSONValue.object([("value", .integer(value))]).bytes
    case .removed: return JSONValue.object([("removed", .boolean(true))]).bytes
    case .row(let columns, let stream):
      let names = columns.keys.sorted()
      var members: [(String, JSONValue)] = [
        ("columns", .object(names.map { ($0, Self.json(columns[$0] ?? .null)) }))
      ]
      if let stream {
        members.append(
          (
            "stream",
            .object([
              ("environment", .string(stream.environment.rawValue)),
              ("bundle_id", .string(stream.bundleId)),
              ("original_transaction_id", .string(stream.originalTransactionId)),
            ])
          ))
      }
      return JSONValue.object(members).bytes
    }
  }

  private static func json(_ value: QueryValue) -> JSONValue {
    switch value {
    case .null: .null
    case .integer(let integer): .integer(integer)
    case .text(let text): .string(text)
    case .blob(let bytes):
      .object([("base64", .string(String(decoding: Base64.encode(bytes), as: UTF8.self)))])
    // No noted table has a column of this type.
    case .real: .null
    }
  }

  /// What the subject of a note says: its row, as if it was removed; nil for none.
  init?(subject: String) {
    let parts = subject.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 || (parts.count == 3 && parts[2] == Self.removed) else { return nil }
    self.init(String(parts[0]), String(parts[1]), .removed)
  }

  /// What a note says; nil for one that no program of ours wrote.
  init?(_ note: Note) {
    guard let named = RowChange(subject: note.subject),
      let root = try? JSONDocument(parsing: note.body).root
    else {
      return nil
    }
    (table, key) = (named.table, named.key)
    if note.subject == named.subject {
      content = .removed
    } else if let value = root["value"]?.integer {
      content = .value(value)
    } else if let members = root["columns"]?.members {
      var columns: [String: QueryValue] = [:]
      for member in members {
        guard let value = Self.value(member.value) else { return nil }
        columns[member.name] = value
      }
      content = .row(columns, stream: root["stream"].flatMap(Self.stream))
    } else {
      return nil
    }
  }

  private static func value(_ element: JSONElement) -> QueryValue? {
    switch element.kind {
    case .null: .null
    case .number: element.integer.map(QueryValue.integer)
    case .string: element.string.map(QueryValue.text)
    case .object: element["base64"]?.string.flatMap(Base64.decode).map(QueryValue.blob)
    case .boolean, .array: nil
    }
  }

  private static func stream(_ element: JSONElement) -> StreamKey? {
    guard let environment = element["environment"]?.string,
      let bundleId = element["bundle_id"]?.string,
      let id = element["original_transaction_id"]?.string
    else { return nil }
    return StreamKey(
      environment: Environment(rawValue: environment), bundleId: bundleId,
      originalTransactionId: id)
  }
}
