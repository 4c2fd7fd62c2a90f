import AppStore
import Clients
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The row that Apple's answer alone gives: what Apple says of each field. It is compared with the
/// row of the journal and goes no further, because Apple does not sign the status.
struct AnsweredRow {
  /// Apple's status; nil if it has no subscription with this id.
  let status: String?
  /// What Apple says of the row's members; without those about which the answer says nothing.
  private(set) var members: [String: JSONValue] = [:]

  /// developer.apple.com/documentation/appstoreserverapi/status
  private static let statuses: [Int64: Entitlement.Status] = [
    1: .active, 2: .expired, 3: .billingRetry, 4: .gracePeriod, 5: .revoked,
  ]
  /// The members that Apple can say something about.
  private static let purchaseMembers: Set<String> = [
    "transaction_id", "product_id", "product_type", "ownership", "starts_at", "expires_at",
    "revoked_at", "app_account_token", "app_transaction_id", "subscription_group_id", "offer",
    "price", "status", "gives_access",
  ]
  /// Those that follow from renewal information.
  private static let renewalMembers: Set<String> = [
    "auto_renew", "pending_product_id", "grace_period_expires_at", "price_increase", "commitment",
  ]

  /// - Parameters:
  ///   - outcomes: what became of the answer's evidence; what was not taken says nothing.
  ///   - time: that of the rows it is compared with, milliseconds since 1970.
  ///   - durations: those of the app.
  init(
    _ stream: StreamKey, _ answer: CustomerAnswer, _ outcomes: [Outcome], at time: Int64,
    durations: Durations, by fold: Fold
  ) {
    let subscription = answer.subscriptions.last {
      ByteSearch.areEqual($0.originalTransactionId, stream.originalTransactionId)
    }
    let known = subscription.flatMap { Self.statuses[$0.status] }
    status = subscription.map { known?.rawValue ?? "status \($0.status)" }
    let state = Self.state(stream, answer, outcomes, status: subscription?.status)
    if let entitlement = EntitlementRow(state, by: fold).entitlement(at: time, durations: durations)
    {
      let row = RowDocument(
        key: stream, entitlement: entitlement, eventCount: 0, lastEvent: nil, succeededBy: nil,
        knownAt: nil)
      if !state.transactions.isEmpty { take(row, Self.purchaseMembers) }
      if state.renewal != nil { take(row, Self.renewalMembers) }
    }
    guard let status else { return }
    members["status"] = .string(status)
    members["gives_access"] = known.map { .boolean(fold.givesAccess($0)) }
  }

  /// Folds the answer as if it had come as one notification, with Apple's status.
  private static func state(
    _ stream: StreamKey, _ answer: CustomerAnswer, _ outcomes: [Outcome], status: Int64?
  ) -> StreamState {
    var state = StreamState()
    for ((jws, source), outcome) in zip(answer.evidence, outcomes) {
      guard outcome.refusal == nil,
        let decoded = try? JournaledNotification.decode(
          signedPayload: ArraySlice(jws.utf8), of: source),
        let id = decoded.originalTransactionId,
        ByteSearch.areEqual(id, stream.originalTransactionId)
      else { continue }
      var event = decoded.foldEvent(seq: 0)
      if source == .renewal { event.status = status }
      state.evolve(event)
    }
    return state
  }

  private mutating func take(_ row: RowDocument, _ names: Set<String>) {
    guard case .object(let all) = row.json else { return }
    for (name, value) in all where names.contains(name) { members[name] = value }
  }
}
