import AppStore
import Entitlements
import Platform
import Store
import StrictJSON

/// Explains one row from the registers of the fold and the events they come from.
struct ExplanationBuilder {
  let document: RowDocument
  let state: StreamState
  let row: EntitlementRow
  let durations: Durations
  private let replacements: [Replacement]
  /// What was in force for the app.
  private let mapping: StoredStatement?
  private let requests: [RefundRequest]
  /// The stream's events by UUID: the keys of registers name them.
  private let sources: [NotificationUUID: Explanation.Source]
  private let rule: StatusRule
  private let inForce: StreamState.RenewalRegister?

  init(
    document: RowDocument, state: StreamState, row: EntitlementRow, events: [StoredEvent],
    durations: Durations, replacements: [Replacement], mapping: StoredStatement?,
    requests: [RefundRequest]
  ) {
    self.document = document
    self.state = state
    self.row = row
    self.durations = durations
    self.replacements = replacements
    self.mapping = mapping
    self.requests = requests
    // Each evaluates all transactions, and several fields ask for it.
    rule = StatusRule(state, at: document.entitlement.asOf)
    inForce = RenewalInForce(state).register
    sources = Dictionary(
      events.map { ($0.notificationUUID, Explanation.Source($0)) }, uniquingKeysWith: { $1 })
  }

  private var entitlement: Entitlement { document.entitlement }
  private var time: Int64 { entitlement.asOf }

  var explanation: Explanation {
    Explanation(
      row: document, verdict: verdict,
      fields: [status, transaction] + [expiry, revocation, renewal, gap, names].compactMap { $0 }
        + rules + refunds,
      next: next)
  }

  // MARK: The registers

  private typealias Register = StreamState.TransactionRegister

  private var shown: Register? {
    entitlement.purchase.flatMap { state.transactions[$0.transactionId] }
  }

  private var head: Register? {
    state.newestTransactionId.flatMap { state.transactions[$0] }
  }

  private func source(_ uuid: NotificationUUID?) -> Explanation.Source? {
    uuid.flatMap { sources[$0] }
  }

  private func date(_ time: Int64) -> String { Timestamp.text(time) }

  // MARK: Status

  private var verdict: String {
    let access = entitlement.givesAccess ? "has access" : "has no access"
    return "At \(date(time)) this customer \(access): \(reason)."
  }

  /// Why the status is what it is, as the end of a sentence.
  private var reason: String {
    if let end = configuredEnd, entitlement.status == .expired, rule == .oneTime {
      return "the non-renewing product lasted until \(date(end)) by the configuration"
    }
    return switch rule {
    case .noTransaction: "no notification contains a transaction"
    case .covered:
      shown.map { $0.transaction.purchaseDate > time } ?? false
        ? "the next period begins within a day, and Apple has charged for it"
        : "a paid period includes this time" + paidThrough
    case .paidWithoutTransaction(let end):
      "Apple says that the subscription is active and renews at \(date(end)), but the transaction "
        + "that paid for it was never delivered"
    case .paidWithoutTransactionOver(let end):
      "the renewal date that Apple gave, \(date(end)), has passed, and no event came since"
    case .oneTime where !entitlement.givesAccess:
      "it is a consumable, which is delivered and not kept"
    case .oneTime: "it is a one-time product, and it was not revoked" + configuredEndText
    case .revoked(let since):
      "the purchase was \(replacement(since) ?? "revoked") as of \(date(since))"
    case .grace(let end):
      "the renewal could not be charged, and the grace period runs until \(date(end))"
    case .shortestGrace(let end):
      "the renewal could not be charged, and Apple says that there is a grace period, but not "
        + "until when: the shortest that Apple offers runs until \(date(end))"
    case .earlierGrace(let end):
      "the renewal could not be charged then, and the grace period ran until \(date(end))"
    case .retry(let end):
      "the renewal could not be charged; Apple retries until \(date(end)), without access"
    case .over(let since):
      since <= time
        ? "the newest period ended at \(date(since))"
        : "the newest period had not begun, and no other paid period includes this time"
    }
  }

  /// Nil unless another stream replaced this one when it was revoked.
  private func replacement(_ revoked: Int64) -> String? {
    Replacement.of(revoked, among: replacements).map { "replaced by \($0.originalTransactionId)" }
  }

  private var paidThrough: String {
    entitlement.expiresAt.map { ", paid through \(date($0))" } ?? ", and it has no end"
  }

  /// The end of a non-renewing product that the configuration gives a duration; nil for others.
  private var configuredEnd: Int64? {
    guard let head, head.transaction.expiresDate == nil, let product = head.transaction.productId,
      durations.duration(of: product, at: time) != nil
    else { return nil }
    return entitlement.expiresAt
  }

  private var configuredEndText: String {
    configuredEnd.map { "; by the configuration it lasts until \(date($0))" } ?? ""
  }

  private var status: Explanation.Field {
    let event: NotificationUUID? =
      switch rule {
      case .noTransaction, .retry, .paidWithoutTransaction, .paidWithoutTransactionOver:
        inForce?.key.uuid
      case .grace, .shortestGrace: state.status?.uuid ?? inForce?.key.uuid
      case .covered: shown?.key.uuid
      case .oneTime, .revoked, .over, .earlierGrace: head?.key.uuid
      }
    return Explanation.Field(
      name: "status", value: .string(entitlement.status.rawValue), event: source(event),
      since: beginning, why: reason.capitalizedFirst + ".")
  }

  /// When the rule that gives the status began to apply, where a date of Apple's says it.
  private var beginning: Int64? {
    let since: Int64? =
      switch rule {
      case .covered: shown?.transaction.purchaseDate
      case .revoked(let since), .paidWithoutTransactionOver(let since), .over(let since): since
      case .noTransaction, .paidWithoutTransaction, .oneTime, .grace, .shortestGrace, .earlierGrace,
        .retry:
        nil
      }
    return since.flatMap { $0 <= time ? $0 : nil }
  }

  // MARK: The transaction

  private var transaction: Explanation.Field {
    guard let shown else {
      return Explanation.Field(
        name: "transaction_id", value: .null, event: nil,
        why: "No notification up to this time contains a transaction.")
    }
    return Explanation.Field(
      name: "transaction_id", value: .string(shown.transaction.transactionId),
      event: source(shown.key.uuid),
      why: chosen + " " + newest("this transaction", isSigned: shown.key.isSigned)
        + " Product, price, offer, start and account token come from it.")
  }

  private var chosen: String {
    guard rule == .covered else {
      return "No paid period includes this time; this transaction is the newest."
    }
    let start = shown?.transaction.purchaseDate ?? 0
    return start > time
      ? "No period that has begun includes this time; this one begins within a day."
      : "Of the paid periods that include this time, this one began last."
  }

  private func newest(_ what: String, isSigned: Bool) -> String {
    isSigned
      ? "Of all notifications about \(what), Apple signed this one last."
      : "Only V1 notifications name \(what); the evidence in this one is the newest."
  }

  /// At most this many transactions are explained, the newest.
  private static let maximumRules = 10

  /// What rules made of single transactions.
  private var rules: [Explanation.Field] {
    state.appliedRules.suffix(Self.maximumRules).map { rule in
      Explanation.Field(
        name: "transaction", value: .string(rule.transactionId),
        event: source(state.transactions[rule.transactionId]?.key.uuid),
        why: rule.words.capitalizedFirst + ".")
    }
  }

  /// The newest requests for refunds.
  private var refunds: [Explanation.Field] {
    requests.suffix(Self.maximumRules).map { request in
      Explanation.Field(
        name: "refund_request", value: .string(request.transactionId),
        event: source(request.uuid), why: request.words(at: time).capitalizedFirst + ".")
    }
  }

  private var expiry: Explanation.Field? {
    guard let end = entitlement.expiresAt else { return nil }
    let field = { (event: NotificationUUID?, why: String) in
      Explanation.Field(
        name: "expires_at", value: .integer(end), event: source(event), why: why)
    }
    if entitlement.hasGap {
      return field(inForce?.key.uuid, "The renewal date Apple gave last, as there is a gap.")
    }
    if configuredEnd != nil {
      return field(head?.key.uuid, "The purchase date plus the configured duration.")
    }
    let ending = state.transactions.values.filter { $0.transaction.expiresDate == end }
    if let last = ending.max(by: Register.beginsEarlier) {
      let id = last.transaction.transactionId
      return field(
        last.key.uuid,
        id != shown?.transaction.transactionId
          ? "Paid periods are uninterrupted up to transaction \(id)."
          : "The expiration date that Apple gives for the transaction.")
    }
    return field(
      shown?.key.uuid, "Earlier than Apple's date: a purchase or a refund shortened the period.")
  }

  private var revocation: Explanation.Field? {
    if let revoked = entitlement.revokedAt {
      let revoking = state.transactions.values.filter {
        $0.transaction.revocationDate == revoked || $0.cancel == revoked
      }.max(by: Register.beginsEarlier)
      // A cancellation that V1 or a receipt told has no register of its own that names its event.
      let isNamed = revoking?.transaction.revocationDate == revoked
      let words = revoking?.transaction.revocationType.flatMap {
        ValueDescriptions.revocationType[$0]
      }
      return Explanation.Field(
        name: "revoked_at", value: .integer(revoked),
        event: source(isNamed ? revoking?.key.uuid : nil),
        why: (replacement(revoked).map { "The purchase was \($0), " }
          ?? "Apple revoked the purchase\(words.map { " (\($0))" } ?? ""), ")
          + "and nothing signed later restored it.")
    }
    guard let head, let clear = head.clear else { return nil }
    return Explanation.Field(
      name: "revoked_at", value: .null, event: source(head.key.uuid),
      why: "A refund was reversed: revocations dated up to \(date(clear)) have no effect.")
  }

  // MARK: The renewal

  private var renewal: Explanation.Field? {
    guard let register = inForce else {
      guard let old = state.renewal ?? state.renewalV1 else { return nil }
      return Explanation.Field(
        name: "auto_renew", value: .null, event: source(old.key.uuid),
        why: "The renewal information that is known is of before the newest purchase, and says "
          + "nothing about it.")
    }
    let info = register.renewal
    var parts: [String] = []
    if let status = info.autoRenewStatus {
      parts.append(status == 1 ? "auto-renew on" : "auto-renew off")
    }
    if let next = entitlement.pendingProductId { parts.append("next product \(next)") }
    if let end = info.gracePeriodExpiresDate { parts.append("grace period until \(date(end))") }
    if info.isInBillingRetryPeriod == true { parts.append("in billing retry") }
    return Explanation.Field(
      name: "auto_renew", value: .optional(entitlement.autoRenew), event: source(register.key.uuid),
      why: chosenRenewal(register)
        + (parts.isEmpty ? "" : " It says: \(parts.joined(separator: ", "))."))
  }

  private func chosenRenewal(_ register: StreamState.RenewalRegister) -> String {
    let isNewerV1 = !register.key.isSigned && state.renewal != nil
    let chosen =
      isNewerV1
      ? "A V1 notification is provably newer than what Apple signed."
      : newest("the renewal", isSigned: register.key.isSigned)
    guard let renewed = row.renewedProductId, entitlement.autoRenew == true else { return chosen }
    return renewed == row.renewalProductId
      ? chosen + " What was pending has come." : chosen + " It is about a later period."
  }

  private var gap: Explanation.Field? {
    guard entitlement.hasGap else { return nil }
    return Explanation.Field(
      name: "gap", value: .boolean(true), event: source(inForce?.key.uuid),
      why: "Apple's newest status is active, and its renewal date is after every period that was "
        + "delivered: at least one paid period was never delivered.")
  }

  // MARK: The entitlements by name

  /// Which names the product gives; nil if no mapping was journaled.
  private var names: Explanation.Field? {
    guard let mapping, let given = mapping.mapping,
      let product = entitlement.productId
    else { return nil }
    let names = given.names.names(givenBy: product)
    return Explanation.Field(
      name: "names", value: .array(names.map(JSONValue.string)),
      event: Explanation.Source(mapping),
      why: "By the mapping of products that was in force, \(product) gives "
        + (names.isEmpty ? "no entitlement." : names.joined(separator: ", ") + "."))
  }

  // MARK: The next transition

  /// The next time at which status, access or product change unless another event arrives.
  private var next: Explanation.Transition? {
    row.transitions(after: time, durations: durations).first.map { then in
      Explanation.Transition(
        at: then.asOf, status: then.status.rawValue, givesAccess: then.givesAccess,
        productId: then.productId)
    }
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
