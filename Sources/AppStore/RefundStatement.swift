public import StrictJSON

/// How the owner wants a request for a refund to end, or that nothing is to be sent.
public enum RefundPreference: String, Sendable, CaseIterable {
  case full = "GRANT_FULL"
  case prorated = "GRANT_PRORATED"
  case decline = "DECLINE"
  /// What is known is sent without a preference.
  case unstated = "NONE"
  /// Nothing is sent.
  case silent = "SILENT"

  /// As Apple has it; nil for none.
  public var apples: ConsumptionInformation.Preference? {
    ConsumptionInformation.Preference(rawValue: rawValue)
  }
}

/// What the owner's backend says about a purchase whose refund is asked for.
public struct RefundWord: Sendable, Hashable {
  /// Whether the customer consents that Apple is told.
  public var customerConsented: Bool
  public var delivery: ConsumptionInformation.Delivery?
  public var sampleContentProvided: Bool?
  /// How much was used, in thousandths of a percent.
  public var consumptionPercentage: Int64?
  /// Nil: the policies decide.
  public var preference: RefundPreference?

  public init(
    customerConsented: Bool, delivery: ConsumptionInformation.Delivery? = nil,
    sampleContentProvided: Bool? = nil, consumptionPercentage: Int64? = nil,
    preference: RefundPreference? = nil
  ) {
    self.customerConsented = customerConsented
    self.delivery = delivery
    self.sampleContentProvided = sampleContentProvided
    self.consumptionPercentage = consumptionPercentage
    self.preference = preference
  }
}

/// What the owner said and did about one request for a refund: none of it is Apple's word
/// (promise 3).
public struct RefundStatement: Sendable, Hashable {
  public enum Content: Sendable, Hashable {
    case said(RefundWord)
    /// It was decided that nothing is sent.
    case withheld(Withholding)
    /// This is about to be sent, as the policy of this name has it; nil: as the backend said.
    case sending(ConsumptionInformation, policy: String?)
    /// What Apple answered to a sending, by the UUID of that statement.
    case answered(NotificationUUID, Answer)
    /// A time came, of which whoever subscribed is told; nothing else depends on it.
    case reached(Milestone)
  }

  /// The raw value is for journals, in the place of Apple's notificationType.
  public enum Milestone: String, Sendable {
    /// Three hours are left, and nothing is decided.
    case due = "REFUND_DUE"
    /// The deadline passed before Apple took anything.
    case missed = "REFUND_MISSED"
  }

  /// Why nothing is sent.
  public enum Withholding: Sendable, Hashable {
    /// The customer has not consented, or no longer does.
    case noConsent
    /// A policy of this name says so; nil: the backend.
    case silent(policy: String?)
    case rule(ConsumptionInformation.Rule)
  }

  public enum Answer: Sendable, Hashable {
    case accepted
    /// For good; with Apple's code, if there was one.
    case refused(code: Int64?)
    /// It may be accepted later.
    case failed
  }

  /// Of the notification by which Apple asked.
  public var request: NotificationUUID
  public var content: Content

  public init(_ content: Content, about request: NotificationUUID) {
    (self.content, self.request) = (content, request)
  }
}

// MARK: JSON

extension RefundStatement {
  /// All that `notificationType` may be.
  public static let types: Set = [
    "REFUND_WORD", "REFUND_WITHHELD", "REFUND_SENDING", "REFUND_ANSWER",
    Milestone.due.rawValue, Milestone.missed.rawValue,
  ]

  /// In the place of Apple's notificationType.
  public var notificationType: String {
    switch content {
    case .said: "REFUND_WORD"
    case .withheld: "REFUND_WITHHELD"
    case .sending: "REFUND_SENDING"
    case .answered: "REFUND_ANSWER"
    case .reached(let milestone): milestone.rawValue
    }
  }

  /// As it is journaled, with Apple's names.
  public var members: [(String, JSONValue)] {
    var members: [(String, JSONValue?)] = [("request", .string(request.description))]
    switch content {
    case .said(let word):
      members += [
        ("customerConsented", .boolean(word.customerConsented)),
        ("deliveryStatus", word.delivery.map { .string($0.rawValue) }),
        ("sampleContentProvided", word.sampleContentProvided.map(JSONValue.boolean)),
        ("consumptionPercentage", word.consumptionPercentage.map(JSONValue.integer)),
        ("refundPreference", word.preference.map { .string($0.rawValue) }),
      ]
    case .withheld(let reason):
      members.append(("withheld", .string(reason.name)))
      if case .silent(let policy) = reason {
        members.append(("policy", policy.map(JSONValue.string)))
      }
    case .sending(let information, let policy):
      if case .object(let all) = information.json { members += all.map { ($0, $1) } }
      members.append(("policy", policy.map(JSONValue.string)))
    case .answered(let sending, let answer):
      members += [
        ("sending", .string(sending.description)), ("answer", .string(answer.name)),
        ("code", answer.code.map(JSONValue.integer)),
      ]
    case .reached: break
    }
    return members.compactMap { name, value in value.map { (name, $0) } }
  }

  /// Nil for what `members` does not give; what it gives otherwise is left to the caller.
  public init?(_ root: JSONElement) {
    guard let request = root["request"]?.string.flatMap(NotificationUUID.init) else { return nil }
    let (policy, word) = (root["policy"]?.string, RefundWord(root))
    let content: Content?
    switch root["type"]?.string {
    case "REFUND_WORD": content = word.map { .said($0) }
    case "REFUND_WITHHELD":
      let reason = root["withheld"]?.string.flatMap { Withholding.named($0, policy: policy) }
      content = reason.map { .withheld($0) }
    case "REFUND_SENDING":
      content = word.flatMap { word in
        guard let delivery = word.delivery, let sample = word.sampleContentProvided else {
          return nil
        }
        return .sending(
          ConsumptionInformation(
            delivery, sampleContentProvided: sample,
            consumptionPercentage: word.consumptionPercentage,
            preference: word.preference?.apples), policy: policy)
      }
    case "REFUND_ANSWER":
      let answer = root["answer"]?.string.flatMap { Answer.named($0, code: root["code"]?.integer) }
      let sending = root["sending"]?.string.flatMap(NotificationUUID.init)
      content = sending.flatMap { sending in answer.map { .answered(sending, $0) } }
    case let type: content = type.flatMap(Milestone.init).map { .reached($0) }
    }
    guard let content else { return nil }
    self.init(content, about: request)
  }
}

extension RefundWord {
  fileprivate init?(_ root: JSONElement) {
    guard let isConsented = root["customerConsented"]?.boolean else { return nil }
    self.init(
      customerConsented: isConsented,
      delivery: root["deliveryStatus"]?.string.flatMap(ConsumptionInformation.Delivery.init),
      sampleContentProvided: root["sampleContentProvided"]?.boolean,
      consumptionPercentage: root["consumptionPercentage"]?.integer,
      preference: root["refundPreference"]?.string.flatMap(RefundPreference.init))
  }
}

extension RefundStatement.Withholding {
  /// For journals and answers.
  public var name: String {
    switch self {
    case .noConsent: "no_consent"
    case .silent: "silent"
    case .rule(let rule): rule.rawValue
    }
  }

  fileprivate static func named(_ name: String, policy: String?) -> Self? {
    ([.noConsent, .silent(policy: policy)] + ConsumptionInformation.Rule.allCases.map(Self.rule))
      .first { $0.name == name }
  }
}

extension RefundStatement.Answer {
  /// For journals and answers.
  public var name: String {
    switch self {
    case .accepted: "accepted"
    case .refused: "refused"
    case .failed: "failed"
    }
  }

  /// Apple's code of a refusal.
  public var code: Int64? {
    if case .refused(let code) = self { code } else { nil }
  }

  fileprivate static func named(_ name: String, code: Int64?) -> Self? {
    [.accepted, .refused(code: code), .failed].first { $0.name == name }
  }
}
