import AppStore
import Clients
import Ledger
import Store
import StrictJSON

/// What Apple says now of one customer: every subscription with its status, and every transaction.
/// Nothing in it is proven.
public struct CustomerAnswer: Sendable {
  let bundleId: String
  let environment: Environment
  let subscriptions: [SubscriptionStatus]
  /// JWS.
  let transactions: [String]

  /// Every JWS of it: transactions first, because renewal information belongs to the app of its
  /// transaction.
  var evidence: [(jws: String, source: EventSource)] {
    transactions.map { ($0, .transaction) }
      + subscriptions.map { ($0.signedTransactionInfo, .transaction) }
      + subscriptions.compactMap { $0.signedRenewalInfo }.map { ($0, .renewal) }
  }

  /// The purchases that an id names: a transaction, its original, or a download of the app.
  func purchases(of id: String) -> Set<StreamKey> {
    var found: Set<StreamKey> = []
    for (jws, source) in evidence where source == .transaction {
      guard
        let decoded = try? JournaledNotification.decode(
          signedPayload: ArraySlice(jws.utf8), of: source),
        let original = decoded.originalTransactionId
      else { continue }
      let named = decoded.transactions.flatMap { [$0.transactionId, $0.appTransactionId] }
      guard ([original] + named).contains(id) else { continue }
      found.insert(
        StreamKey(
          environment: environment, bundleId: bundleId, originalTransactionId: original))
    }
    return found
  }

  /// The lines that hand the evidence over, in its order, as `BatchReceive` reads them.
  func lines(_ arrival: EventArrival) -> [[UInt8]] {
    let origin = Receiver.EvidenceOrigin(bundleId: bundleId, environment: environment)
    return evidence.map { jws, source in
      JSONValue.object([
        ("arrival", .string(arrival.rawValue)),
        ("body", EvidenceLine.body(jws, source, from: origin)),
      ]).bytes
    }
  }
}
