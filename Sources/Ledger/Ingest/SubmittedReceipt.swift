import AppStore
import Platform
import SignedData
public import Store
public import StrictJSON

extension SubmittedEvidence {
  /// The longest line or body with a receipt, in bytes: base64 takes a third more.
  public static let maximumBytes = 3 << 20

  /// Bytes of a text, or of a body, up to which a refusal says all that is wrong with it: more than
  /// a column of 64 KiB keeps of a receipt. Of more the first bytes tell, because looking at it all
  /// would cost many times what a genuine notification does.
  public static let explainedBytes = 80 << 10
}

extension Receiver {
  /// Receives the receipt of an app, in base64, perhaps with line breaks.
  ///
  ///     {"receipt":"…","environment":"Sandbox"}
  ///
  /// - Parameter now: our clock, milliseconds since 1970; becomes the receive time.
  /// - Throws: `Refusal.malformed` for another form, `.untrusted` for what Apple did not sign,
  ///   `.notAdmitted("wrong_environment")` for another environment than expected; none of these is
  ///   stored. A genuine receipt that is not admitted is returned for quarantine.
  public func receive(
    submittedReceipt root: JSONElement, at now: Int64
  ) throws(Refusal) -> SubmittedEvidence {
    let (bytes, environment) = try signed(
      in: root, [SubmittedEvidence.receiptMember, "environment"])
    try requireReceipt(bytes)
    guard let der = Base64.decode(bytes) ?? Base64.decode(ByteSearch.packed(bytes)[...]) else {
      throw .malformed("receipt_base64")
    }
    return try receive(receipt: der, in: environment, arriving: .submitted, at: now)
  }

  /// - Throws: `Refusal.malformed` for a long text that does not begin as a receipt.
  private func requireReceipt(_ text: ArraySlice<UInt8>) throws(Refusal) {
    guard text.count > SubmittedEvidence.explainedBytes else { return }
    let start = ByteSearch.packed(text.prefix(64)).prefix(SignedMessage.startBytes / 3 * 4)
    guard let bytes = Base64.decode(start) else { throw .malformed("receipt_base64") }
    guard !SignedMessage.isLikely(bytes) else { return }
    let longest = SignedMessage.maximumBytes / 3 * 4
    throw .malformed(text.count > longest ? "receipt_too_long" : "receipt_der")
  }

  /// Receives a receipt.
  ///
  /// - Parameters:
  ///   - environment: the one that is expected; nil for any that is configured.
  ///   - originalTransactionIds: those about which the journal it comes from has events; nil for
  ///     all.
  /// - Throws: as `receive(submittedReceipt:at:)`.
  func receive(
    receipt der: [UInt8], in environment: Environment? = nil,
    only originalTransactionIds: [String]? = nil, arriving arrival: EventArrival = .posted,
    at now: Int64,
    preservesReceivedAt: Bool = false
  ) throws(Refusal) -> SubmittedEvidence {
    let message = try proof.receipts.prove(der, at: now)
    var receipt: ReceiptBody?
    // It is genuine: from here on only another environment than expected is refused (promise 2).
    do throws(Refusal) {
      let body = try proof.receipts.body(of: message)
      receipt = body
      let found = try admit(body.content, expecting: environment)
      let ids = originalTransactionIds ?? Self.newestFirst(body.content)
      var parts: [Received] = []
      for id in ids {
        let proven = ProvenNotification(
          try DecodedNotification(body, of: id), body: .receipt(body), bodySHA256: body.sha256)
        parts.append(
          accept(proven, of: body.content.bundleId, at: now, preservesReceivedAt)
            .arriving(arrival))
      }
      return SubmittedEvidence(
        bundleId: body.content.bundleId, environment: found, streams: parts.compactMap(\.stream),
        parts: parts)
    } catch {
      guard case .notAdmitted(let code) = error, code != Self.wrongEnvironment else { throw error }
      let claims = QuarantineClaims(receipt: receipt?.content)
      let item = NewQuarantine(
        reason: code, owner: owner(claims.bundleId), source: .receipt, claims: claims,
        receivedAt: now, body: der, bodySHA256: SHA256.hash(der))
      return SubmittedEvidence(
        bundleId: claims.bundleId ?? "",
        environment: claims.environment ?? Environment(rawValue: ""),
        streams: [], parts: [Received(item, refusal: error)])
    }
  }

  private static let wrongEnvironment = "wrong_environment"

  /// Checks that a receipt is for one of our apps, as configured, and returns its environment.
  private func admit(
    _ content: AppReceipt, expecting expected: Environment?
  ) throws(Refusal) -> Environment {
    guard let app = apps[exactly: content.bundleId] else { throw .notAdmitted("other_app") }
    guard let environment = content.environment else { throw .notAdmitted("receipt_type") }
    guard expected == nil || expected == environment else {
      throw .notAdmitted(Self.wrongEnvironment)
    }
    guard app.environments.contains(environment) else { throw .notAdmitted("other_environment") }
    return environment
  }

  /// The original transaction ids of a receipt, those with the newest purchase first.
  private static func newestFirst(_ content: AppReceipt) -> [String] {
    var newest: [ExactText: Int64] = [:]
    for record in content.records {
      let id = ExactText(record.originalTransactionId)
      newest[id] = max(newest[id] ?? .min, record.purchaseDate)
    }
    // Sorted by bytes: a stable order among equals.
    let ids = content.originalTransactionIds.enumerated().map { place, id in
      (place, newest[ExactText(id)] ?? .min, id)
    }
    return ids.sorted { $0.1 == $1.1 ? $0.0 < $1.0 : $0.1 > $1.1 }.map(\.2)
  }
}
