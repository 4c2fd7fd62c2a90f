import AppStore
public import Entitlements
public import Platform
public import StrictJSON

/// What would be done about a request for a refund, and what is known of its customer.
public struct RefundOutlook: Sendable {
  public let decision: RefundDecision
  let facts: RefundFacts
  let request: RefundRequest
}

extension LedgerReader {
  /// What the daemon would do now; nil if the journal lacks the request.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: what SQLite reports.
  public func outlook(
    of line: RefundLine, _ policies: [RefundPolicy], at now: Int64
  ) throws(LedgerError) -> RefundOutlook? {
    guard let (request, facts) = try refundFacts(of: line) else { return nil }
    return RefundOutlook(
      decision: RefundDecision(on: request, facts, policies, at: now), facts: facts,
      request: request)
  }
}

extension RefundOutlook {
  public static let object = JSONObject<RefundOutlook>(
    "RefundOutlook",
    [
      JSONMember(
        "action",
        .oneOf(
          ["send", "withhold", "wait", "none"],
          "send: Apple is told. withhold: nothing is sent. wait: until then you may say more. "
            + "none: nobody decides, and it is missed if you say nothing.")
      ) { $0.decision.action },
      JSONMember("policy", .text("The policy that decides; null: your backend, or nobody.")) {
        $0.decision.policy
      },
      JSONMember("preference", .text("The refundPreference that Apple is told; null: none.")) {
        $0.decision.information?.preference?.rawValue
      },
      JSONMember("withheld", .text("Why nothing is sent, as `withheld` of a request.")) {
        $0.decision.withholding?.name
      },
      JSONMember("until", .time("Until when it waits.")) {
        $0.decision.waitsUntil
      },
      JSONMember(
        "customer_consented",
        .boolean("Whether the customer consents, by what you said last; null: you said nothing.")
      ) { $0.facts.consent(for: $0.request) },
      JSONMember("refunds_before", .integer("How many refunds the customer got before.")) {
        $0.facts.refundsBefore
      },
    ])
}

extension RefundDecision {
  fileprivate var action: String {
    switch self {
    case .send: "send"
    case .withhold: "withhold"
    case .wait: "wait"
    case .open: "none"
    }
  }

  fileprivate var policy: String? {
    switch self {
    case .send(_, let policy, _), .withhold(.silent(let policy)): policy
    case .withhold, .wait, .open: nil
    }
  }

  fileprivate var information: ConsumptionInformation? {
    if case .send(let information, _, _) = self { information } else { nil }
  }

  fileprivate var withholding: RefundStatement.Withholding? {
    if case .withhold(let reason) = self { reason } else { nil }
  }

  fileprivate var waitsUntil: Int64? {
    if case .wait(let time) = self { time } else { nil }
  }

  /// What is done, and by whom, for people.
  public var title: String {
    switch self {
    case .send(let information, let policy, _):
      "\(policy ?? "backend"): \(information.preference?.rawValue ?? "NONE")"
    case .withhold(.silent(let policy)): "\(policy ?? "backend"): SILENT"
    case .withhold(let reason): "nothing is sent: \(reason.name)"
    case .wait(let time): "waits until \(Timestamp.text(time))"
    case .open: "nobody decides"
    }
  }
}

/// A request for a refund as it is answered: with what would be done now, where that is asked for.
public struct RefundDocument: Sendable {
  public let line: RefundLine
  let outlook: RefundOutlook?

  public init(_ line: RefundLine, _ outlook: RefundOutlook? = nil) {
    (self.line, self.outlook) = (line, outlook)
  }

  public var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<RefundDocument>(
    "RefundRequest",
    [.type("refund_request")]
      + RefundField.members(of: RefundField.all).map { field in
        JSONMember<RefundDocument>(field.name, field.schema) { field.json(of: $0.line) }
      } + [outlook])

  private static let outlook = JSONMember<RefundDocument>.ifAny(
    "outlook", RefundOutlook.object.schema
  ) { $0.outlook.map(RefundOutlook.object.json) }
}
