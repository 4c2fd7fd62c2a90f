import AppStore
import Encoding
import Entitlements
import JournalStore
import LedgerEngine
import StrictJSON

extension LedgerReader {
  /// Why the row of an original transaction id is what it is; nil where there is none that may be
  /// shown.
  ///
  /// From the journal alone, whatever rows are live: what the rules of this program make of it.
  public func explain(
    _ originalTransactionId: String, environment: String, bundleId: String?,
    _ question: Question
  ) throws(Failure) -> Explanation? {
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    guard let key = try Self.only(keys) else { return nil }
    let events = try store { () throws(StoreError) in
      try journal.events(
        of: key, signedThrough: question.asOf ?? .max, receivedThrough: question.knownAt ?? .max)
    }
    var state = StreamState()
    for event in events {
      if let step = try? JournaledNotification.foldEvent(JournaledPayload(event)) {
        state.evolve(step)
      }
    }
    let row = EntitlementRow(state)
    guard let document = try document(key, row, question) else { return nil }
    return ExplanationBuilder(
      document: document, state: state, row: row, events: events, durations: durations
    ).explanation
  }
}

/// One customer's row, and what it was made of.
private struct ExplanationBuilder {
  let document: RowDocument
  let state: StreamState
  let row: EntitlementRow
  let durations: [String: Int64]
  private let sources: [NotificationUUID: Explanation.Source]

  init(
    document: RowDocument, state: StreamState, row: EntitlementRow, events: [StoredEvent],
    durations: [String: Int64]
  ) {
    self.document = document
    self.state = state
    self.row = row
    self.durations = durations
    let named = events.compactMap { event in
      NotificationUUID(event.notificationUUID).map { ($0, Explanation.Source(event)) }
    }
    sources = Dictionary(named, uniquingKeysWith: { $1 })
  }

  private var entitlement: Entitlement { document.entitlement }
  private var time: Int64 { entitlement.asOf }
  private var rule: StatusRule { StatusRule(state, at: time) }

  var explanation: Explanation {
    Explanation(
      row: document, verdict: verdict,
      fields: [status, transaction] + [expiry, revocation, renewal, gap].compactMap { $0 },
      next: next)
  }

  // MARK: The registers

  private typealias Register = StreamState.TransactionRegister

  private func register(_ transaction: Transaction?) -> Register? {
    transaction.flatMap { state.transactions[$0.transactionId] }
  }

  private var shown: Register? { register(entitlement.transaction) }

  private var head: Register? { register(row.head.map { row.transactions[$0] }) }

  private func source(_ uuid: NotificationUUID?) -> Explanation.Source? {
    uuid.flatMap { sources[$0] }
  }

  private func date(_ time: Int64) -> String { Timestamp.text(time) }

  // MARK: Status

  private var verdict: String {
    let word = entitlement.givesAccess ? "has access" : "has no access"
    return "At \(date(time)) this customer \(word): \(reason)."
  }

  /// Why the status is what it is, as the end of a sentence.
  private var reason: String {
    if let end = lasting, entitlement.status == .expired, rule == .oneTime {
      return "the non-renewing product lasts until \(date(end)) by the configuration"
    }
    return switch rule {
    case .noTransaction: "no notification told of a transaction"
    case .covered:
      shown.map { $0.transaction.purchaseDate > time } ?? false
        ? "the first period begins within a day, and Apple has charged it"
        : "a paid period covers that moment" + through
    case .paidWithoutTransaction(let end):
      "Apple says the subscription is active and renews at \(date(end)), though the transaction "
        + "that paid for it was never delivered"
    case .paidWithoutTransactionOver(let end):
      "the renewal date Apple named, \(date(end)), is past, and nothing came since"
    case .oneTime: "it is a one-time product, and nobody took it back" + lastingText
    case .revoked(let since): "the purchase was taken back as of \(date(since))"
    case .grace(let end):
      "the renewal could not be charged, and the grace period runs until \(date(end))"
    case .retry(let end):
      "the renewal could not be charged; Apple retries until \(date(end)), without access"
    case .over(let since):
      since <= time
        ? "the newest period ended at \(date(since))"
        : "the newest period had not begun, and no other one covers that moment"
    }
  }

  private var through: String {
    entitlement.expiresAt.map { ", paid through \(date($0))" } ?? ", and it has no end"
  }

  private var lasting: Int64? {
    guard let head, head.transaction.expiresDate == nil, let product = head.transaction.productId,
      durations[product] != nil
    else { return nil }
    return entitlement.expiresAt
  }

  private var lastingText: String {
    lasting.map { "; by the configuration it lasts until \(date($0))" } ?? ""
  }

  private var status: Explanation.Field {
    let event: NotificationUUID? =
      switch rule {
      case .noTransaction, .retry, .paidWithoutTransaction, .paidWithoutTransactionOver:
        state.renewal?.key.uuid
      case .grace: state.status?.uuid ?? state.renewal?.key.uuid
      case .covered: shown?.key.uuid
      case .oneTime, .revoked, .over: head?.key.uuid
      }
    return Explanation.Field(
      name: "status", value: .string(entitlement.status.rawValue), event: source(event),
      why: reason.capitalizedFirst + ".")
  }

  // MARK: The transaction

  private var transaction: Explanation.Field {
    guard let shown else {
      return Explanation.Field(
        name: "transaction_id", value: .null, event: nil,
        why: "No notification up to then told of a transaction.")
    }
    return Explanation.Field(
      name: "transaction_id", value: .string(shown.transaction.transactionId),
      event: source(shown.key.uuid),
      why: chosen + " " + newest("this transaction", version: shown.key.version)
        + " Product, price, offer, start and account token are its own.")
  }

  private var chosen: String {
    guard rule == .covered else { return "No paid period covers that moment; it is the newest." }
    let start = shown?.transaction.purchaseDate ?? 0
    return start > time
      ? "Nothing has begun yet; it is the first to begin within a day."
      : "Of the paid periods that run at that moment it began last."
  }

  private func newest(_ what: String, version: Int64) -> String {
    version == 1
      ? "Of all notifications about \(what) Apple signed this one last."
      : "Only V1 spoke of \(what); this is the one that tells of the newest happenings."
  }

  private var expiry: Explanation.Field? {
    guard let end = entitlement.expiresAt else { return nil }
    let field = { (event: NotificationUUID?, why: String) in
      Explanation.Field(
        name: "expires_at", value: .integer(end), event: source(event), why: why)
    }
    if entitlement.hasGap {
      return field(state.renewal?.key.uuid, "The renewal date Apple named last, as there is a gap.")
    }
    if lasting != nil {
      return field(head?.key.uuid, "Purchase date and the duration the configuration gives.")
    }
    if let last = row.transactions.last(where: { $0.expiresDate == end }) {
      let isChain = last.transactionId != shown?.transaction.transactionId
      return field(
        register(last)?.key.uuid,
        isChain
          ? "Paid periods follow each other without a hole up to transaction \(last.transactionId)."
          : "The end Apple gives for the transaction.")
    }
    return field(
      shown?.key.uuid, "An earlier end than Apple's: a purchase or a refund cut it short.")
  }

  private var revocation: Explanation.Field? {
    if let revoked = entitlement.revokedAt {
      let taken = state.transactions.values.first {
        ($0.key.version == 1 ? $0.transaction.revocationDate : $0.cancel) == revoked
      }
      return Explanation.Field(
        name: "revoked_at", value: .integer(revoked), event: source(taken?.key.uuid),
        why: "Apple took the purchase back, and nothing signed later gave it back.")
    }
    guard let head, let clear = head.clear else { return nil }
    return Explanation.Field(
      name: "revoked_at", value: .null, event: source(head.key.uuid),
      why: "A refund was reversed: revocations dated up to \(date(clear)) are void.")
  }

  // MARK: The renewal

  private var renewal: Explanation.Field? {
    guard let register = state.renewal else { return nil }
    let info = register.renewal
    var parts: [String] = []
    if let status = info.autoRenewStatus { parts.append("renews: \(status == 1 ? "yes" : "no")") }
    if let next = entitlement.pendingProductId { parts.append("then \(next)") }
    if let end = info.gracePeriodExpiresDate { parts.append("grace until \(date(end))") }
    if info.isInBillingRetryPeriod == true { parts.append("in billing retry") }
    return Explanation.Field(
      name: "auto_renew", value: .optional(entitlement.autoRenew), event: source(register.key.uuid),
      why: newest("what renews", version: register.key.version)
        + (parts.isEmpty ? "" : " It says: \(parts.joined(separator: ", "))."))
  }

  private var gap: Explanation.Field? {
    guard entitlement.hasGap else { return nil }
    return Explanation.Field(
      name: "gap", value: .boolean(true), event: source(state.renewal?.key.uuid),
      why: "Apple's newest status is active, and its renewal date lies past every period that was "
        + "delivered: at least one paid period never was.")
  }

  // MARK: What comes next

  /// The next time at which status, access or product change if nothing else comes.
  private var next: Explanation.Transition? {
    let ends = [lasting].compactMap { $0 }
    let times = (row.spans.map(\.from) + ends).filter { $0 > time }.sorted()
    for at in times {
      guard let then = row.entitlement(at: at, durations: durations),
        then.status != entitlement.status || then.productId != entitlement.productId
      else { continue }
      return Explanation.Transition(
        at: at, status: then.status.rawValue, givesAccess: then.givesAccess,
        productId: then.productId)
    }
    return nil
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
