public import AppStore
import Platform
public import Store
public import StrictJSON

/// What an app hands over through the user's backend: a transaction that Apple signed for StoreKit
/// 2, and perhaps its renewal information.
///
///     {"signedTransaction":"…","signedRenewalInfo":"…","environment":"Sandbox"}
///
/// `account` is the owner's own id of the user, who has the purchase from now on. `environment` is
/// what the backend expects, Production if it is left out: anybody can make
/// genuine sandbox purchases.
public struct SubmittedTransaction: Sendable {
  /// The customer that it is about.
  public let stream: StreamKey
  /// The transaction, then the renewal information, then the claim of an account.
  public let evidence: [Receiver.Received]

  public static let transactionMember = "signedTransaction"
  fileprivate static let members = [
    transactionMember, "signedRenewalInfo", "environment", "account",
  ]

  /// What became of the whole: it failed if any part did, and is news if any part is.
  static func combined(_ outcomes: [Outcome]) -> Outcome {
    let ranked = outcomes.min { rank($0) < rank($1) }
    return ranked ?? .skipped
  }

  private static func rank(_ outcome: Outcome) -> Int {
    switch outcome {
    case .refused(.unavailable): 0
    case .refused, .quarantined, .quarantineFull, .conflict, .skipped: 1
    case .accepted: 2
    case .held(isNew: true): 3
    case .duplicate, .held(isNew: false), .noPurchases: 4
    }
  }
}

extension Receiver {
  /// Receives what an app handed over.
  ///
  /// A transaction names its app. Renewal information names none, so it must be about the same
  /// customer, whose transaction is proven.
  ///
  /// - Parameters:
  ///   - now: our clock, milliseconds since 1970; becomes the receive time.
  ///   - token: the name of who claims an account.
  /// - Throws: `Refusal.malformed` for another form, `.untrusted` for what Apple did not sign and
  ///   for what Xcode signed, `.notAdmitted` for another app or environment. None goes to
  ///   quarantine.
  public func receive(
    submitted root: JSONElement, at now: Int64, from token: String
  ) throws(Refusal) -> SubmittedTransaction {
    let unknown = root.members.contains { !SubmittedTransaction.members.contains($0.0) }
    guard root.kind == .object, !unknown,
      let jws = Self.text(root[SubmittedTransaction.transactionMember])
    else { throw .malformed("envelope") }
    let expected = root["environment"].map { $0.string.map(Environment.init(rawValue:)) }
    guard let environment = expected ?? .production, Environment.all.contains(environment) else {
      throw .malformed("environment")
    }
    let transaction = try receive(transaction: jws, environment, at: now)
    guard let stream = transaction.stream else { throw .notAdmitted("nested_payload") }
    var evidence = [transaction]
    if let member = root["signedRenewalInfo"], member.kind != .null {
      guard let jws = Self.text(member) else { throw .malformed("envelope") }
      let renewal = try receive(
        evidence: jws, .renewal,
        from: EvidenceOrigin(bundleId: stream.bundleId, environment: environment), at: now)
      guard renewal.stream == stream else { throw .notAdmitted("no_transaction") }
      evidence.append(renewal)
    }
    evidence = evidence.map { $0.arriving(.submitted) }
    if let member = root["account"], member.kind != .null {
      guard let account = member.string, CustomerName.isValid(account) else {
        throw .malformed("account")
      }
      evidence.append(
        Received(
          NewStatement(
            .claim(originalTransactionId: stream.originalTransactionId),
            of: CustomerName(.account, account), environment: stream.environment,
            bundleId: stream.bundleId, token: token, receivedAt: now)))
    }
    return SubmittedTransaction(stream: stream, evidence: evidence)
  }

  /// The bytes of a string, nearly always without a copy; nil for any other value.
  private static func text(_ member: JSONElement?) -> ArraySlice<UInt8>? {
    member?.plainBytes ?? member?.string.map { Array($0.utf8)[...] }
  }

  private func receive(
    transaction jws: ArraySlice<UInt8>, _ environment: Environment, at now: Int64
  ) throws(Refusal) -> Received {
    do throws(Refusal) {
      return try receive(evidence: jws, .transaction, of: nil, in: environment, at: now)
    } catch {
      if case .notAdmitted = error { throw error }
      // Xcode signs purchases of local tests with a certificate of its own.
      throw ClaimedJWS(jws)?.isOfXcode == true ? .untrusted("xcode_signature") : error
    }
  }
}
