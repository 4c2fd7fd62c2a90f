public import AppStore
public import AppStoreClient
public import JournalStore
import LedgerEngine
import StrictJSON

/// What Apple says now of one customer: every subscription with its status, and every transaction.
/// Nothing in it is proven.
public struct CustomerAnswer: Sendable {
  public let bundleId: String
  public let environment: Environment
  public let subscriptions: [SubscriptionStatus]
  /// JWS.
  public let transactions: [String]

  /// The lines that hand it over, as `BatchReceive` reads them: transactions first, because renewal
  /// information belongs to the app of its transaction.
  public func lines(_ arrival: EventArrival) -> [[UInt8]] {
    let origin = Receiver.EvidenceOrigin(bundleId: bundleId, environment: environment)
    func line(_ jws: String, _ source: EventSource) -> [UInt8] {
      JSONValue.object([
        ("arrival", .string(arrival.rawValue)),
        ("body", EvidenceLine.body(jws, source, from: origin)),
      ]).bytes
    }
    return transactions.map { line($0, .transaction) }
      + subscriptions.map { line($0.signedTransactionInfo, .transaction) }
      + subscriptions.compactMap { $0.signedRenewalInfo }.map { line($0, .renewal) }
  }
}
