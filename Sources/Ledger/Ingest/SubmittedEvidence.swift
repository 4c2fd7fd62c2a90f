public import AppStore
import Platform
public import Store
public import StrictJSON

/// What an app hands over through the user's backend, proven: a transaction or a receipt.
///
/// `environment` is what the backend expects, Production if it is left out: anybody can make
/// genuine sandbox purchases.
public struct SubmittedEvidence: Sendable {
  public let bundleId: String
  public let environment: Environment
  /// The customers that it is about, those who bought last first.
  public let streams: [StreamKey]
  /// For the writer: of a transaction that, its renewal information, and the claim of an account;
  /// of a receipt one for each customer, one for quarantine, or none if it has no in-app records.
  public let parts: [Receiver.Received]

  public static let transactionMember = "signedTransaction"
  static let receiptMember = "receipt"

  /// What became of the whole: it failed if any part did, and is news if any part is.
  static func combined(_ outcomes: [Outcome]) -> Outcome {
    outcomes.min { rank($0) < rank($1) } ?? .skipped
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
  /// What Apple signed, of what an app hands over, and the environment that is expected.
  ///
  /// - Parameter members: that it may have; the first is what Apple signed.
  /// - Throws: `Refusal.malformed` for another form.
  func signed(
    in root: JSONElement, _ members: [String]
  ) throws(Refusal) -> (text: ArraySlice<UInt8>, environment: Environment) {
    let unknown = root.members.contains { !members.contains($0.0) }
    guard root.kind == .object, !unknown, let text = Self.text(root[members[0]]) else {
      throw .malformed("envelope")
    }
    let expected = root["environment"].map { $0.string.map(Environment.init(rawValue:)) }
    guard let environment = expected ?? .production, Environment.all.contains(environment) else {
      throw .malformed("environment")
    }
    return (text, environment)
  }

  /// Receives a transaction that Apple signed for StoreKit 2, and perhaps its renewal information.
  ///
  ///     {"signedTransaction":"…","signedRenewalInfo":"…","environment":"Sandbox"}
  ///
  /// `account` is the owner's own id of the user, who has the purchase from now on. A transaction
  /// names its app. Renewal information names none, so it must be about the same customer, whose
  /// transaction is proven.
  ///
  /// - Parameters:
  ///   - now: our clock, milliseconds since 1970; becomes the receive time.
  ///   - token: the name of who claims an account.
  /// - Throws: `Refusal.malformed` for another form, `.untrusted` for what Apple did not sign and
  ///   for what Xcode signed, `.notAdmitted` for another app or environment. None goes to
  ///   quarantine.
  public func receive(
    submitted root: JSONElement, at now: Int64, from token: String
  ) throws(Refusal) -> SubmittedEvidence {
    let (jws, environment) = try signed(
      in: root,
      [SubmittedEvidence.transactionMember, "signedRenewalInfo", "environment", "account"])
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
    return SubmittedEvidence(
      bundleId: stream.bundleId, environment: environment, streams: [stream], parts: evidence)
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
