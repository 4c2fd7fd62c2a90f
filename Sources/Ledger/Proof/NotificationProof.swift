public import AppStore
public import Platform
public import SignedData
public import Store
public import StrictJSON

/// Proves a V2 notification: the outer JWS, and each nested one on its own (promise 3).
///
/// The receiver and `verify` prove notifications this way and no other. One per thread.
public final class NotificationProof {
  private let prover: Prover
  /// For receipts, which are no JWS.
  public let receipts: ReceiptProof

  var chainHits: Int { prover.chainHits }
  var chainMisses: Int { prover.chainMisses }

  /// - Throws: `LedgerError` if a trust root is not a certificate.
  public init(_ roots: TrustRoots) throws(LedgerError) {
    prover = try mapError(Self.unusableRoot, try Prover(roots: roots))
    receipts = try ReceiptProof(roots)
  }

  static func unusableRoot(_: ProofFailure) -> LedgerError {
    LedgerError.configuration("a trust root is not a certificate", next: "check trustRoots")
  }

  /// A signedPayload whose outer signature is proven; the JWS nested in it are not.
  public struct ProvenJWS {
    let jws: CompactJWS
    /// The payload; nil if it is not JSON.
    public let document: JSONDocument?
    /// SHA-256 of the whole signedPayload.
    public let bodySHA256: [UInt8]
    /// SHA-256 of the bytes that the signature covers.
    let signingInputSHA256: [UInt8]
  }

  /// Proves the outer signature of a signedPayload.
  ///
  /// The certificate chain must be valid at the date that the payload claims: the signature covers
  /// the claim, Apple repeats a notification for days, and a journal is verified years later. If
  /// the payload claims no usable date, the chain must be valid at `now`.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: `Refusal.malformed` for a text that is not a JWS, `Refusal.untrusted` if no root of
  ///   ours leads to the signature.
  public func prove(_ signedPayload: ArraySlice<UInt8>, at now: Int64) throws(Refusal) -> ProvenJWS
  {
    let jws = try mapError(Self.malformed, try CompactJWS(parsing: signedPayload))
    do throws(ProofFailure) {
      var document: JSONDocument?
      let proof = try prove(jws, dateMember: "signedDate", at: now, &document)
      return ProvenJWS(
        jws: jws, document: document, bodySHA256: proof.bodySHA256(),
        signingInputSHA256: proof.signingInputSHA256)
    } catch {
      switch error {
      case .malformed(let code): throw .malformed(code)
      // An empty payload is a missing segment, not a forged one.
      case .untrusted where jws.payload.isEmpty: throw .malformed("jws_segments")
      case .untrusted(let code): throw .untrusted(code)
      }
    }
  }

  /// Proves a JWS as of the date that its payload claims.
  ///
  /// A payload that holds more than any of Apple's is only parsed once its signature is proven:
  /// until then anyone may have written it.
  ///
  /// - Parameter document: becomes the payload; nil if it is not JSON.
  @discardableResult
  private func prove(
    _ jws: CompactJWS, dateMember: String, at now: Int64, _ document: inout JSONDocument?
  ) throws(ProofFailure) -> Prover.Proof {
    document = try? JSONDocument(parsing: jws.payload, within: .unproven)
    if let document {
      return try prover.prove(jws, at: document.root[dateMember]?.integer ?? now)
    }
    let proof = try prover.prove(jws, at: nil)
    document = try? JSONDocument(parsing: jws.payload)
    try proof.requireValid(at: document?.root[dateMember]?.integer ?? now)
    return proof
  }

  private static func malformed(_ failure: ProofFailure) -> Refusal { .malformed(failure.code) }

  /// Decodes a proven payload, proves and decodes what is nested in it.
  ///
  /// - Parameters:
  ///   - source: `v2`, or that of evidence.
  ///   - filed: as `NotificationPayload` takes it.
  ///   - now: milliseconds since 1970, for nested JWS that claim no usable date.
  /// - Throws: `Refusal.notAdmitted` if the payload has another shape, its parts do not belong
  ///   together, or an identifier contains NUL; `Refusal.untrusted` if a nested JWS is not proven.
  public func notification(
    in proven: ProvenJWS, of source: EventSource = .v2,
    filed: NotificationPayload.Filed? = nil, at now: Int64
  ) throws(Refusal) -> ProvenNotification {
    guard let document = proven.document else { throw .notAdmitted("payload_json") }
    if source.isEvidence {
      // As `CompactJWS.uuid`.
      let uuid = NotificationUUID(digest: proven.signingInputSHA256)
      return ProvenNotification(
        try DecodedNotification(document.root, source, uuid: uuid),
        body: .jws(proven.jws), bodySHA256: proven.bodySHA256)
    }
    let payload = try DecodedNotification.payload(document.root, filed: filed)
    let nested = NestedPayloads(
      transaction: try proveNested(
        payload.signedTransactionInfo, dateMember: "signedDate", at: now),
      renewal: try proveNested(payload.signedRenewalInfo, dateMember: "signedDate", at: now),
      appTransaction: try proveNested(
        payload.signedAppTransactionInfo, dateMember: "receiptCreationDate", at: now))
    try DecodedNotification.requireAgreement(payload, nested)
    return ProvenNotification(
      try DecodedNotification(payload, nested), body: .jws(proven.jws),
      bodySHA256: proven.bodySHA256)
  }

  /// A transaction that Apple signed, outside of a notification.
  public struct SignedTransaction {
    public let transaction: Transaction
    public let bundleId: String?
    public let environment: Environment?
  }

  /// Proves a signed transaction that Apple answered with, and decodes it.
  ///
  /// - Parameter now: milliseconds since 1970, for a transaction that claims no usable date.
  /// - Throws: `Refusal.untrusted` if no root of ours leads to the signature;
  ///   `Refusal.notAdmitted` if the payload has another shape.
  public func transaction(
    _ jws: [UInt8], at now: Int64
  ) throws(Refusal) -> SignedTransaction {
    guard let payload = try proveNested(jws[...], dateMember: "signedDate", at: now),
      let transaction = try? Transaction(payload, outerSignedDate: now)
    else { throw .notAdmitted("nested_payload") }
    return SignedTransaction(
      transaction: transaction, bundleId: payload["bundleId"]?.string,
      environment: payload["environment"]?.string.map(Environment.init(rawValue:)))
  }

  /// Proves a nested JWS as of its own date, and returns its payload; nil for nil.
  ///
  /// A text that is not a JWS is untrusted too: the outer signature does not vouch for it.
  private func proveNested(
    _ text: ArraySlice<UInt8>?, dateMember: String, at now: Int64
  ) throws(Refusal) -> JSONElement? {
    guard let text else { return nil }
    var document: JSONDocument?
    do throws(ProofFailure) {
      try prove(try CompactJWS(parsing: text), dateMember: dateMember, at: now, &document)
    } catch {
      throw .untrusted("nested_\(error.code)")
    }
    guard let document else { throw .notAdmitted("nested_payload") }
    return document.root
  }
}
