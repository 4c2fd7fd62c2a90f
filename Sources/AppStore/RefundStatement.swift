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
