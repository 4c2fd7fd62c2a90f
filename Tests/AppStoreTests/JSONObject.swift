import StrictJSON

/// Members of a JSON object, which tests change one at a time.
typealias Members = [String: JSONValue]

extension [String: JSONValue] {
  /// The object as a parsed document.
  func parsed() throws -> JSONElement { try JSONDocument(parsing: value.bytes).root }

  /// The object, with its members in ascending order of their names.
  var value: JSONValue { .object(sorted { $0.key < $1.key }.map { ($0.key, $0.value) }) }

  /// The object with one member set, or removed if `value` is nil.
  func with(_ name: String, _ value: JSONValue?) -> Members {
    var members = self
    members[name] = value
    return members
  }
}
