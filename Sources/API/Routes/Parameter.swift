import AppStore
import Platform
import Queries
import Store

/// A parameter in the path or the query of a route, or a member of its body, and the values it can
/// have.
struct Parameter: Sendable {
  enum Kind: Sendable {
    /// One of Apple's identifiers, in the path: at most 128 letters, digits, `-` and `_`.
    case identifier
    /// A customer's id as the owner writes it, percent-encoded in the path: 128 characters at most.
    case name
    case text
    /// A text for people, in a body: this many characters at most, of any kind.
    case prose(Int)
    /// What Apple signed, in a body: the proof decides what is valid.
    case signed
    /// An object in a body, as Apple wrote it.
    case object
    /// A list in a body.
    indirect case list(Kind, ClosedRange<Int64>)
    /// Some texts, separated by commas.
    case texts
    case uuid
    case environment
    /// One of these words.
    case choice([String])
    /// RFC 3339 or milliseconds since 1970.
    case time
    case boolean
    case integer(ClosedRange<Int64>, default: Int64)
    /// The `next_page` of an earlier response.
    case cursor
    /// What a report may be asked for.
    case report(Report.Parameter)
    /// A place in the feed.
    case place
    /// Some of these words, separated by commas.
    case words([String])
  }

  let name: String
  let kind: Kind
  let meaning: String
  private let isNeeded: Bool

  init(_ name: String, _ kind: Kind, _ meaning: String, isRequired: Bool = false) {
    (self.name, self.kind, self.meaning) = (name, kind, meaning)
    isNeeded = isRequired
  }

  /// Whether a request without it is refused; of a body the members say so.
  var isRequired: Bool { isNeeded || isInPath }

  var isInPath: Bool {
    switch kind {
    case .identifier, .name: true
    default: false
    }
  }

  static let environments = Environment.all.map(\.rawValue)
  static let statuses = LedgerReader.Filter.statusNames

  /// Whether a decoded value, or an item of a list, is valid. Cursors are checked later, against
  /// the token.
  func accepts(_ value: String) -> Bool {
    switch kind {
    case .list(let item, _): Parameter(name, item, meaning).accepts(value)
    case .identifier: Route.isIdentifier(value.utf8)
    case .name: CustomerName.isValid(value)
    case .text, .cursor: !value.isEmpty && value.utf8.allSatisfy { $0 >= 0x20 }
    case .signed, .object: true
    case .prose(let maximum): (1...maximum).contains(value.count)
    case .texts: !value.split(separator: ",", omittingEmptySubsequences: false).contains("")
    case .uuid: NotificationUUID(value) != nil
    case .choice(let words): words.contains(value)
    case .words(let words):
      value.split(separator: ",", omittingEmptySubsequences: false)
        .allSatisfy { words.contains(String($0)) }
    case .place: Feed.place(value) != nil
    case .report(let parameter): parameter.accepts(value)
    case .environment: Self.environments.contains(value)
    case .time: Timestamp.parse(value) != nil
    case .boolean: value == "true" || value == "false"
    // `Int64` accepts a plus sign, which is not valid here.
    case .integer(let range, _):
      value.first != "+" && Int64(value).map(range.contains) ?? false
    }
  }

  /// The identifier that a segment of the path is; nil if it is none.
  func id(_ segment: ArraySlice<UInt8>) -> String? {
    guard case .name = kind else {
      return Route.isIdentifier(segment) ? String(decoding: segment, as: UTF8.self) : nil
    }
    return QueryString.decode(segment).flatMap { CustomerName.isValid($0) ? $0 : nil }
  }

  // MARK: Parameters of several routes

  static let id = Parameter("otid", .identifier, "The original transaction id.")
  static let account = Parameter("account", .name, "Your own id of the user, percent-encoded.")
  static let grantId = Parameter("grant", .identifier, "The id of the grant.")
  static let order = Parameter("order", .identifier, "The order id, with its letters.")
  static let reason = Parameter(
    "reason", .prose(500),
    "For people, at most 500 characters. It stays in the journal for ever.")
  static let customerName = Parameter(
    "by", .choice(CustomerName.Kind.allCases.map(\.rawValue)),
    "What the id is; app_account_token if absent.")
  static let customerId = Parameter(
    "id", .name, "The id that you know the customer by; `by` says which.")
  static let by = Parameter(
    "by", .choice(LedgerReader.CustomerQuestion.IdKind.allCases.map(\.rawValue)),
    "What the id is; app_account_token if absent.")
  static let environment = Parameter(
    "environment", .environment, "The environment; Production if absent.")
  static let onlyEnvironment = Parameter(
    "environment", .environment, "Only this environment; both if absent.")
  static let bundleId = Parameter(
    "bundle_id", .text, "The app; needed only if two apps have the same id.")
  static let ownBundleId = Parameter(
    "bundle_id", .text, "The app; needed only if the token covers several.")
  static let onlyBundleId = Parameter("bundle_id", .text, "Only this app.")
  static let asOf = Parameter(
    "as_of", .time,
    "Answers for this time, from what Apple had signed by then; RFC 3339 or milliseconds.")
  static let knownAt = Parameter(
    "known_at", .time,
    "Answers from what had been received by this time, by the receive times in the journal; RFC "
      + "3339 or milliseconds."
  )
  static let knowledge = Parameter(
    "knowledge", .choice(["now"]),
    "now: answers for the time of as_of from all that is known now, whenever Apple signed it, as "
      + "entitlement_span_v1 does. By default what Apple had signed by then counts.")
  static let mapping = Parameter(
    "mapping", .choice(["now"]),
    "now: answers about the past by the mapping of products to entitlements that is in force now. "
      + "By default the one counts that was in force then.")
  static let minSeq = Parameter(
    "min_seq", .integer(0...Int64.max, default: 0),
    "Waits until the rows have the event with this seq, for two seconds at most.")
  static func limit(_ maximum: Int64, default usual: Int64) -> Parameter {
    Parameter("limit", .integer(1...maximum, default: usual), "The maximum number of items.")
  }
  static let after = Parameter("after", .cursor, "The next_page of an earlier page.")
}
