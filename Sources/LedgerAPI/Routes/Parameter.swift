import Encoding
import LedgerQueries

/// What a route takes in its path or query, and which values can be.
struct Parameter: Sendable {
  enum Kind: Sendable {
    /// An identifier of Apple's, in the path: letters, digits, `-` and `_`, 128 at most.
    case identifier
    case text
    case environment
    case status
    /// RFC 3339 or milliseconds since 1970.
    case time
    case boolean
    case integer(ClosedRange<Int64>, default: Int64)
    /// What an earlier answer gave as `next_page`.
    case cursor
  }

  let name: String
  let kind: Kind
  let meaning: String

  init(_ name: String, _ kind: Kind, _ meaning: String) {
    self.name = name
    self.kind = kind
    self.meaning = meaning
  }

  var isInPath: Bool {
    if case .identifier = kind { true } else { false }
  }

  static let environments = ["Production", "Sandbox"]
  static let statuses = LedgerReader.Filter.statuses

  /// Whether a value, decoded, can be. Cursors are looked at by who knows the token.
  func accepts(_ value: String) -> Bool {
    switch kind {
    case .identifier, .text, .cursor: true
    case .environment: Self.environments.contains(value)
    case .status: Self.statuses.contains(value)
    case .time: Timestamp.parse(value) != nil
    case .boolean: value == "true" || value == "false"
    // Digits alone: `Int64` takes a sign as well.
    case .integer(let range, _):
      value.first != "+" && Int64(value).map(range.contains) ?? false
    }
  }

  // MARK: Those that several routes take

  static let id = Parameter("otid", .identifier, "The original transaction id.")
  static let environment = Parameter(
    "environment", .environment, "Production where it is left out.")
  static let onlyEnvironment = Parameter(
    "environment", .environment, "Of this environment alone; both where it is left out.")
  static let bundleId = Parameter(
    "bundle_id", .text, "The app; needed only where two apps share the id.")
  static let onlyBundleId = Parameter("bundle_id", .text, "Of this app alone.")
  static let asOf = Parameter(
    "as_of", .time,
    "The answer at this time, by what Apple had signed by then: RFC 3339 or milliseconds.")
  static let knownAt = Parameter(
    "known_at", .time, "By what had arrived here by this time: RFC 3339 or milliseconds.")
  static func limit(_ maximum: Int64, default usual: Int64) -> Parameter {
    Parameter("limit", .integer(1...maximum, default: usual), "So many items at most.")
  }
  static let after = Parameter("after", .cursor, "What an earlier page gave as next_page.")
}
