import AppStore
import Ledger
import Platform
import Queries
import StrictJSON

/// The body of a request. What is refused, with which words, the schema in the OpenAPI document and
/// the page of `help http` follow from the list of its members.
struct RequestBody: Sendable {
  /// In the OpenAPI document.
  let name: String
  let meaning: String
  let members: [Parameter]
  /// How many must be present, from the first.
  private(set) var required = 1
  /// The members that are absent if they are null; of another one, null is not valid.
  private(set) var nullable: Set<String> = []

  var schema: JSONSchema {
    .open(
      members.map { ($0.name, $0.schema.described($0.meaning)) },
      required: members.prefix(required).map(\.name), meaning)
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
    for member in members.prefix(required) where values.texts[member.name] == nil {
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
    case .boolean: return value.boolean.map { ["\($0)"] }
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
        .environment, .onlyBundleId, .asOf, .knownAt, .knowledge, .mapping, .minSeq,
        Parameter("after", .cursor, "The next_page of an earlier answer to the same query."),
      ])
  }

  static let claim = RequestBody(
    name: "Claim", meaning: "A purchase without Apple's proof.",
    members: [
      Parameter("originalTransactionId", .identifier, Parameter.id.meaning), .environment,
      claimedApp,
    ], nullable: ["bundleId"])

  static let claimedApp = Parameter("bundleId", .text, Parameter.ownBundleId.meaning)

  /// - Parameter names: of entitlements; nil for what holds of all configurations.
  static func grant(_ names: [String]?) -> RequestBody {
    RequestBody(
      name: "NewGrant", meaning: "What is granted; without `until`, for ever.",
      members: [
        Parameter(
          "entitlement", names.map(Parameter.Kind.choice) ?? .text, "A name of the configuration."),
        Parameter("until", .time, "In the future."),
        .reason,
      ], nullable: ["entitlement", "until", "reason"])
  }
}

extension RequestBody {
  static let refundWord = RequestBody(
    name: "RefundWord", meaning: "What you know of a purchase for which a refund is asked.",
    members: [
      Parameter(
        "customer_consented", .boolean,
        "Whether the customer consents that Apple is told. Without consent nothing is sent."),
      Parameter(
        "delivery_status", .choice(ConsumptionInformation.Delivery.allCases.map(\.rawValue)),
        "Apple's deliveryStatus."),
      Parameter(
        "sample_content_provided", .boolean,
        "Whether there was a trial, a sample, or enough information before the purchase."),
      Parameter(
        "consumption_percentage", .integer(0...ConsumptionInformation.wholePercentage, default: 0),
        "How much was used, in thousandths of a percent; not said if left out."),
      Parameter(
        "refund_preference", .choice(RefundPreference.allCases.map(\.rawValue)),
        "What you want; SILENT: nothing is sent. The policies decide if it is left out."),
    ],
    nullable: [
      "delivery_status", "sample_content_provided", "consumption_percentage", "refund_preference",
    ])

  static let consent = RequestBody(
    name: "Consent", meaning: "Whether a customer consents that Apple is told of purchases.",
    members: [
      Parameter("granted", .boolean, "Whether the customer does; false withdraws it."),
      Parameter("at", .time, "When the customer said so; now if left out."),
    ], nullable: ["at"])
}

/// The bodies whose members Apple defines, or that hand over what Apple signed.
extension RequestBody {
  static let notificationV2 = RequestBody(
    name: "NotificationV2", meaning: "App Store Server Notifications, version 2.",
    members: [
      Parameter(
        "signedPayload", .signed, "A JWS in compact form that contains its certificates.")
    ])

  static let notificationV1 = RequestBody(
    name: "NotificationV1",
    meaning: "App Store Server Notifications, version 1, of an app whose secret is configured.",
    members: [
      Parameter("notification_type", .text, "Apple's type."),
      Parameter("password", .text, "The app's shared secret."),
      Parameter("unified_receipt", .object, "The receipt, decoded by Apple."),
    ], required: 2)

  static let signedTransaction = RequestBody(
    name: "SignedTransaction", meaning: "A transaction of StoreKit 2, as the app received it.",
    members: [
      Parameter(
        SubmittedEvidence.transactionMember, .signed,
        "The JWS of a StoreKit 2 transaction, in compact form."),
      Parameter("signedRenewalInfo", .signed, "The JWS of its renewal information."),
      expectedEnvironment,
      Parameter(
        "account", .name, "Your own id of the user, who has the purchase from now on."),
    ])

  static let appReceipt = RequestBody(
    name: "AppReceipt",
    meaning: "A receipt of the app, with 5,000 in-app records at most.",
    members: [
      Parameter("receipt", .signed, "The receipt in base64: PKCS#7 in DER, 2 MiB at most."),
      expectedEnvironment,
    ])

  private static let expectedEnvironment = Parameter(
    "environment", .environment, "What is expected; Production if left out.")
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
