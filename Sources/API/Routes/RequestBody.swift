import AppStore
import Ledger
import Platform
import Queries
import StrictJSON

/// The body of a request whose members this program defines. What is refused, with which words, and
/// the schema in the OpenAPI document follow from the list of its members.
struct RequestBody: Sendable {
  /// In the OpenAPI document.
  let name: String
  let meaning: String
  /// The first must be present.
  let members: [Parameter]
  /// The members that are absent if they are null; of another one, null is not valid.
  private(set) var nullable: Set<String> = []

  var schema: JSONSchema {
    .open(
      members.map { ($0.name, $0.schema.described($0.meaning)) },
      required: members.prefix(1).map(\.name), meaning)
  }

  /// The root of a body that is a JSON object.
  ///
  /// - Throws: `ParameterFault` for any other body.
  func root(_ body: [UInt8]) throws(ParameterFault) -> JSONElement {
    guard let root = try? JSONDocument(parsing: body, within: .unproven).root,
      root.kind == .object
    else { throw ParameterFault(.invalid, nil, expected: .named(name)) }
    return root
  }

  /// The values of the members.
  ///
  /// - Throws: `ParameterFault` for the first that is unknown, missing or not valid.
  func values(_ root: JSONElement) throws(ParameterFault) -> Values {
    var values = Values()
    for (name, value) in root.members where value.kind != .null || !nullable.contains(name) {
      guard let member = members.first(where: { $0.name == name }) else {
        throw ParameterFault(.unknown, nil, expected: .oneOf(members.map(\.name)))
      }
      guard let texts = member.texts(value) else { throw ParameterFault(.invalid, member) }
      values.texts[name] = texts
    }
    for member in members.prefix(1) where values.texts[member.name] == nil {
      throw ParameterFault(.missing, member)
    }
    return values
  }

  struct Values {
    fileprivate(set) var texts: [String: [String]] = [:]

    /// The text of a member; nil if it is absent.
    subscript(_ name: String) -> String? { texts[name]?.first }

    /// The texts of a list; none if it is absent.
    func list(_ name: String) -> [String] { texts[name] ?? [] }
  }
}

extension Parameter {
  /// The texts of a valid member of a body; nil if it is not valid. A number is as its digits.
  fileprivate func texts(_ value: JSONElement) -> [String]? {
    switch kind {
    case .list(let item, let count):
      let texts = value.elements.compactMap(\.string).filter(Parameter("", item, "").accepts)
      return texts.count == value.elements.count && count.contains(Int64(texts.count)) ? texts : nil
    case .time, .integer:
      return (value.string ?? value.integer.map(String.init)).flatMap { accepts($0) ? [$0] : nil }
    default: return value.string.flatMap { accepts($0) ? [$0] : nil }
    }
  }
}

// MARK: Bodies

extension RequestBody {
  typealias IdKind = LedgerReader.CustomerQuestion.IdKind

  /// Which customers to answer for.
  ///
  /// - Parameter kind: what the ids are; nil for what holds of all kinds.
  static func customerQuery(_ kind: IdKind?) -> RequestBody {
    RequestBody(
      name: "CustomerQuery", meaning: "Which customers to answer for.",
      members: [
        Parameter(
          "ids", .list(kind?.parameter ?? .text, 1...Int64(CustomerRoutes.maximumIds)),
          "The ids that you know the customers by."),
        Parameter("by", Parameter.by.kind, "What the ids are; app_account_token if absent."),
        .environment, .onlyBundleId, .asOf, .knownAt, .minSeq,
        Parameter("after", .cursor, "The next_page of an earlier answer to the same query."),
      ])
  }

  static let claim = RequestBody(
    name: "Claim", meaning: "A purchase without Apple's proof.",
    members: [
      Parameter("originalTransactionId", .identifier, Parameter.id.meaning), .environment,
      Parameter("bundleId", .text, Parameter.ownBundleId.meaning),
    ], nullable: ["bundleId"])

  /// - Parameter names: of entitlements; nil for what holds of all configurations.
  static func grant(_ names: [String]?) -> RequestBody {
    RequestBody(
      name: "NewGrant", meaning: "What is granted; without `until`, for ever.",
      members: [
        Parameter(
          "entitlement", names.map(Parameter.Kind.choice) ?? .text, "A name of the configuration."),
        Parameter("until", .time, "In the future."),
        Parameter(
          "reason", .prose(500),
          "For people, at most 500 characters. It stays in the journal for ever."),
      ], nullable: ["entitlement", "until", "reason"])
  }
}

extension LedgerReader.CustomerQuestion.IdKind {
  /// Account tokens are UUIDs: any other text is a mistake, not an unknown customer.
  var parameter: Parameter.Kind {
    switch self {
    case .appAccountToken: .uuid
    case .account: .name
    case .appTransactionId, .originalTransactionId: .identifier
    }
  }
}
