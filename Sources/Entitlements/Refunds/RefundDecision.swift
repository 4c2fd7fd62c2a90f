public import AppStore

/// What is known beside a request for a refund. Times are milliseconds since 1970.
public struct RefundFacts: Sendable {
  public var environment: Environment
  /// The purchase as it is known now.
  public var transaction: Transaction
  /// What was said last of the customer's consent, apart from the request, and when.
  public var consent: (isGranted: Bool, at: Int64)?
  /// Refunds of the customer before the request.
  public var refundsBefore: Int64 = 0
  /// How long a purchase of the product lasts, of one that does not renew.
  public var duration: ProductDuration?

  public init(_ transaction: Transaction, in environment: Environment) {
    (self.transaction, self.environment) = (transaction, environment)
  }
}

/// What is to be done about a request for a refund.
public enum RefundDecision: Sendable, Equatable {
  /// By the policy of this name; nil: by the backend. With Apple's rules that refused more.
  case send(ConsumptionInformation, policy: String?, refusals: [ConsumptionInformation.Rule])
  /// Nothing is sent.
  case withhold(RefundStatement.Withholding)
  /// Until then the backend may say more, in milliseconds since 1970.
  case wait(until: Int64)
  /// Nobody decides, or all is decided.
  case open

  /// Decides: first by the preference of the backend, then by the first policy that matches, then
  /// by what the backend said without a preference.
  ///
  /// - Parameter now: milliseconds since 1970; nil: as if the request were new, and nothing more
  ///   would be said.
  public init(
    on request: RefundRequest, _ facts: RefundFacts, _ policies: [RefundPolicy], at now: Int64?
  ) {
    let consent = facts.consent(for: request)
    if let now, request.state(at: now) != .waiting {
      self = .open
    } else if let rule = ConsumptionInformation.exclusion(of: facts.transaction) {
      self = .withhold(.rule(rule))
    } else if consent == false {
      self = .withhold(.noConsent)
    } else if let choice = Choice(request, facts, policies) {
      let end = request.openedAt.advanced(orBoundBy: choice.waitSeconds * 1000)
      if let now, now < end {
        self = .wait(until: end)
      } else if choice.preference == .silent {
        self = .withhold(.silent(policy: choice.policy))
      } else if consent == nil {
        // That nobody asked the customer is shown as such, and not as a missed deadline.
        let isLate = now.map { $0 >= request.lastTry } ?? true
        self = isLate ? .withhold(.noConsent) : .wait(until: request.lastTry)
      } else {
        self = choice.decision(request, facts)
      }
    } else {
      self = .open
    }
  }
}

/// Who decides, and what.
private struct Choice {
  var preference: RefundPreference
  /// Nil: the backend.
  var policy: String?
  /// What is sent, without preference and percentage.
  var information: ConsumptionInformation?
  var waitSeconds: Int64 = 0

  /// Nil: nobody decides.
  init?(_ request: RefundRequest, _ facts: RefundFacts, _ policies: [RefundPolicy]) {
    let word = request.word
    // As a policy without conditions.
    let backend = RefundPolicy("", word?.preference ?? .unstated)
    if word?.preference != nil {
      guard backend.matches(request, facts) else { return nil }
      self.init(backend, named: nil, word)
    } else if let policy = policies.first(where: { $0.matches(request, facts) }) {
      self.init(policy, named: policy.name, word)
      if word == nil { waitSeconds = policy.waitSeconds }
    } else if backend.matches(request, facts) {
      self.init(backend, named: nil, word)
    } else {
      return nil
    }
  }

  private init(_ policy: RefundPolicy, named name: String?, _ word: RefundWord?) {
    (preference, self.policy) = (policy.preference, name)
    information = policy.information(word)
  }

  func decision(_ request: RefundRequest, _ facts: RefundFacts) -> RefundDecision {
    guard var information else { return .open }
    information.preference = preference.apples
    information.consumptionPercentage =
      request.word?.consumptionPercentage
      ?? (information.delivery == .delivered ? facts.usedPercentage(at: request.openedAt) : nil)
    let (allowed, refusals) = information.allowed(for: facts.transaction)
    guard let allowed else { return refusals.last.map { .withhold(.rule($0)) } ?? .open }
    return .send(allowed, policy: policy, refusals: refusals)
  }
}

extension RefundFacts {
  /// Whether the customer consents, by what was said last; nil: nobody has said it.
  public func consent(for request: RefundRequest) -> Bool? {
    let said = request.word.map { ($0.customerConsented, request.wordAt ?? .min) }
    guard let said else { return consent?.isGranted }
    guard let consent, consent.at != said.1 else {
      return said.0 && self.consent?.isGranted ?? true
    }
    return consent.at > said.1 ? consent.isGranted : said.0
  }

  /// The share of a non-renewing purchase that had passed at the request: what is sent again says
  /// the same. Nil for other products, and without a duration.
  fileprivate func usedPercentage(at time: Int64) -> Int64? {
    guard transaction.type == ProductType.nonRenewing, let duration else { return nil }
    let passed = time.subtracting(orBoundBy: transaction.purchaseDate)
    let length = max(duration.milliseconds, 1)
    let (high, low) = min(max(passed, 0), length)
      .multipliedFullWidth(by: ConsumptionInformation.wholePercentage)
    return length.dividingFullWidth((high, low)).quotient
  }
}
