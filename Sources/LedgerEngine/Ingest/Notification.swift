public import AppStore
import Entitlements
import SignedData
import StrictJSON

/// A V2 notification with what is nested in it, read; whether it is proven is the opener's affair.
public struct Notification {
  public let payload: NotificationPayload
  let transaction: Transaction?
  let renewal: RenewalInfo?

  /// Reads an outer payload.
  ///
  /// - Parameter open: turns a nested JWS into its payload, named by the member with its date; at
  ///   the door it proves it first, on what is journaled it need not.
  /// - Throws: `notAdmitted` for another shape, `malformed` for NUL in an identifier, and whatever
  ///   `open` throws.
  init(
    _ root: JSONElement,
    open: (ArraySlice<UInt8>, _ dateMember: String) throws(Refusal) -> JSONElement
  ) throws(Refusal) {
    let payload = try Self.shaped { () throws(PayloadFault) in try NotificationPayload(root) }
    self.payload = payload
    switch payload.content {
    case .data(let signedTransaction, let signedRenewal, _):
      let transaction = try signedTransaction.map { (jws) throws(Refusal) in
        try open(jws, "signedDate")
      }
      let renewal = try signedRenewal.map { (jws) throws(Refusal) in try open(jws, "signedDate") }
      try Self.requireAgreement(payload, transaction, renewal)
      self.transaction = try Self.shaped { () throws(PayloadFault) in
        guard let transaction else { return nil }
        return try Transaction(transaction, outerSignedDate: payload.signedDate)
      }
      self.renewal = try Self.shaped { () throws(PayloadFault) in
        guard let renewal else { return nil }
        return try RenewalInfo(renewal, outerSignedDate: payload.signedDate)
      }
      identifier = try Self.stream(transaction, renewal)
    case .appData(let signedTransaction):
      if let signedTransaction {
        let appTransaction = try open(signedTransaction, "receiptCreationDate")
        try Self.require(appTransaction, payload, environment: "receiptType")
      }
      (transaction, renewal, identifier) = (nil, nil, nil)
    case .summary, .externalPurchaseToken:
      (transaction, renewal, identifier) = (nil, nil, nil)
    }
  }

  /// The stream: original transaction id of what is nested, nil where nothing names one.
  public let identifier: String?

  /// What the fold takes of it; `seq` is its place in the journal.
  func foldEvent(seq: Int64) -> FoldEvent {
    var status: Int64?
    if case .data(_, _, let code) = payload.content { status = code }
    return FoldEvent(
      seq: seq, uuid: payload.notificationUUID, notificationType: payload.notificationType,
      subtype: payload.subtype, signedDate: payload.signedDate, status: status,
      transactions: transaction.map { [$0] } ?? [], renewal: renewal)
  }

  static func shaped<Part>(
    _ read: () throws(PayloadFault) -> Part
  ) throws(Refusal) -> Part {
    do throws(PayloadFault) {
      return try read()
    } catch {
      switch error {
      case .shape(let code): throw .notAdmitted(code)
      case .forbiddenCharacter: throw .malformed("nul_in_identifier")
      }
    }
  }

  /// Bytes of an original transaction id.
  private static let maximumIdentifier = 128

  private static func stream(
    _ transaction: JSONElement?, _ renewal: JSONElement?
  ) throws(Refusal) -> String? {
    guard let identifier = original(transaction) ?? original(renewal) else { return nil }
    guard !identifier.utf8.contains(0) else { throw .malformed("nul_in_identifier") }
    // Apple's have 16 digits; one that no route and no page could name is looked at by people.
    guard identifier.utf8.count <= maximumIdentifier else {
      throw .notAdmitted("original_transaction_id")
    }
    return identifier
  }

  private static func original(_ nested: JSONElement?) -> String? {
    guard let identifier = nested?["originalTransactionId"]?.string, !identifier.isEmpty else {
      return nil
    }
    return identifier
  }

  /// Each part is signed on its own; that they speak of one subscription is checked here.
  private static func requireAgreement(
    _ payload: NotificationPayload, _ transaction: JSONElement?, _ renewal: JSONElement?
  ) throws(Refusal) {
    if let transaction { try require(transaction, payload, environment: "environment") }
    if let renewal {
      guard renewal.kind == .object else { throw .notAdmitted("nested_payload") }
      // Renewal info has no bundleId: the original transaction id binds it.
      guard isSame(renewal["environment"], payload.environment) else {
        throw .notAdmitted("nested_environment")
      }
    }
    if let one = transaction?["originalTransactionId"]?.string,
      let other = renewal?["originalTransactionId"], other.kind == .string, !isSame(other, one)
    {
      throw .notAdmitted("nested_original_transaction_id")
    }
  }

  private static func require(
    _ nested: JSONElement, _ payload: NotificationPayload, environment member: String
  ) throws(Refusal) {
    guard nested.kind == .object else { throw .notAdmitted("nested_payload") }
    guard isSame(nested["bundleId"], payload.bundleId) else {
      throw .notAdmitted("nested_bundle_id")
    }
    guard isSame(nested[member], payload.environment) else {
      throw .notAdmitted("nested_environment")
    }
  }

  /// By bytes: to `String` two spellings of one accent are equal, to SQL and to Apple they are not.
  private static func isSame(_ one: JSONElement?, _ other: String) -> Bool {
    one?.isString(other) ?? false
  }
}

extension V1Notification {
  /// What the fold takes of it; `seq` is its place in the journal.
  func foldEvent(seq: Int64, uuid: NotificationUUID) -> FoldEvent {
    FoldEvent(
      seq: seq, uuid: uuid, notificationType: notificationType, subtype: nil,
      signedDate: evidenceDate, version: 0, transactions: transactions, renewal: renewal)
  }
}
