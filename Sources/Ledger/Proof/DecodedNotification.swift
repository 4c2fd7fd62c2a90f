public import AppStore
public import Entitlements
import Platform
import SignedData
package import Store
import StrictJSON

/// A notification of either version, or a piece of evidence, decoded with what is nested in it: all
/// that admission, the journal's columns and the fold read.
///
/// It does not say whether the notification was proven; `ProvenNotification` does.
public struct DecodedNotification: Sendable {
  let source: EventSource
  public let notificationUUID: NotificationUUID
  public let environment: Environment
  /// Nil for a V1 body that names none: it is for the app whose secret matched. Nil for renewal
  /// information, which names none: it is for the app of its transaction. Nil for content of an
  /// unknown name that has the appAppleId alone.
  public let bundleId: String?
  let appAppleId: Int64?
  public let notificationType: String
  public let subtype: String?
  /// When Apple signed, in milliseconds since 1970; for V1 its evidence time.
  public let signedDate: Int64
  /// The stream; nil if the notification is about no transaction.
  public let originalTransactionId: String?
  private let status: Int64?
  public let transactions: [Transaction]
  private let renewal: RenewalInfo?
  private var consumptionRequestReason: String?
  /// Content of an unknown name need not name the app twice.
  private(set) var hasKnownContent = true
  /// As in `FoldEvent`.
  private let receiptDate: Int64
  private let renewalChangeDate: Int64?

  /// Decodes what is nested in a V2 payload. `requireAgreement` says whether it belongs to it.
  ///
  /// - Parameter nested: the payloads of the JWS that `payload` nests.
  /// - Throws: `Refusal.notAdmitted` if a part has another shape, or an identifier with NUL.
  init(_ payload: NotificationPayload, _ nested: NestedPayloads) throws(Refusal) {
    source = .v2
    notificationUUID = payload.notificationUUID
    environment = payload.environment
    bundleId = payload.bundleId
    appAppleId = payload.appAppleId
    notificationType = payload.notificationType
    subtype = payload.subtype
    signedDate = payload.signedDate
    status = payload.status
    transactions = try Self.transactions(nested.transaction, payload.signedDate)
    renewal = try Self.renewal(nested.renewal, payload.signedDate)
    if case .other(let stream) = payload.content {
      hasKnownContent = false
      originalTransactionId = stream.flatMap {
        $0.utf8.count <= Self.maximumIdentifier ? $0 : nil
      }
    } else {
      originalTransactionId = try Self.stream(nested)
    }
    consumptionRequestReason = payload.consumptionRequestReason
    (receiptDate, renewalChangeDate) = (0, nil)
  }

  /// Takes over a V1 notification.
  ///
  /// - Parameters:
  ///   - uuid: derived from the body (`V1Body.uuid`).
  ///   - receiptDate: when the receipt in it was created (`ReceiptDates`).
  init(_ notification: V1Notification, uuid: NotificationUUID, receiptDate: Int64) {
    source = .v1
    notificationUUID = uuid
    environment = notification.environment
    bundleId = notification.bundleId
    appAppleId = nil
    notificationType = notification.notificationType
    subtype = nil
    signedDate = notification.evidenceDate
    originalTransactionId = notification.originalTransactionId
    status = nil
    transactions = notification.transactions
    renewal = notification.renewal
    self.receiptDate = receiptDate
    renewalChangeDate = notification.renewalChangeDate
  }

  /// Decodes evidence: the payload of a transaction or of renewal information.
  ///
  /// - Parameters:
  ///   - source: one that has an `EvidenceJWS`.
  ///   - uuid: derived from the JWS (`CompactJWS.uuid`).
  /// - Throws: `Refusal.notAdmitted` if the payload has another shape, or an identifier with NUL.
  init(
    _ payload: JSONElement, _ source: EventSource, uuid: NotificationUUID
  ) throws(Refusal) {
    guard payload.kind == .object, let environment = payload["environment"]?.string,
      let evidence = source.evidenceJWS
    else { throw .notAdmitted("payload_shape") }
    guard let signedDate = payload["signedDate"]?.truncatedInteger else {
      throw .notAdmitted("signed_date")
    }
    self.source = source
    notificationUUID = uuid
    self.environment = Environment(rawValue: environment)
    appAppleId = nil
    (subtype, status) = (nil, nil)
    (receiptDate, renewalChangeDate) = (0, nil)
    self.signedDate = signedDate
    notificationType = evidence.notificationType
    let nested: NestedPayloads
    switch evidence.payload {
    case .transaction:
      nested = NestedPayloads(transaction: payload)
      bundleId = payload["bundleId"]?.string
      transactions = try Self.transactions(payload, signedDate)
      renewal = nil
      guard !transactions.isEmpty else { throw .notAdmitted("payload_shape") }
    case .renewalInfo:
      nested = NestedPayloads(renewal: payload)
      bundleId = nil
      transactions = []
      renewal = try Self.renewal(payload, signedDate)
    }
    guard let stream = try Self.stream(nested) else {
      throw .notAdmitted("original_transaction_id")
    }
    originalTransactionId = stream
  }

  /// Takes over the records of a receipt about one original transaction id.
  ///
  /// - Throws: `Refusal.notAdmitted` if the receipt's type names no environment that is known, or
  ///   if no record has the id.
  init(_ receipt: ReceiptBody, of originalTransactionId: String) throws(Refusal) {
    guard let environment = receipt.content.environment else { throw .notAdmitted("receipt_type") }
    transactions = receipt.content.transactions(of: originalTransactionId)
    guard !transactions.isEmpty else { throw .notAdmitted("original_transaction_id") }
    source = .receipt
    notificationUUID = receipt.uuid(of: originalTransactionId)
    self.environment = environment
    bundleId = receipt.content.bundleId
    appAppleId = nil
    notificationType = Self.receiptType
    (subtype, status, renewal, renewalChangeDate) = (nil, nil, nil, nil)
    (signedDate, receiptDate) = (receipt.content.creationDate, receipt.content.creationDate)
    self.originalTransactionId = originalTransactionId
  }

  /// The type of an event that a receipt made.
  static let receiptType = "RECEIPT"

  /// The columns of its event.
  ///
  /// - Parameters:
  ///   - bundleId: of the app that it was admitted for.
  ///   - receivedAt: our time, milliseconds since 1970.
  package func envelope(of bundleId: String, receivedAt: Int64) -> EventEnvelope {
    EventEnvelope(
      notificationUUID: notificationUUID, source: source, environment: environment,
      bundleId: bundleId, notificationType: notificationType, subtype: subtype,
      originalTransactionId: originalTransactionId, signedDate: signedDate, receivedAt: receivedAt)
  }

  /// What the fold reads of this notification once it is journaled at `seq`.
  public func foldEvent(seq: Int64) -> FoldEvent {
    FoldEvent(
      seq: seq, uuid: notificationUUID, notificationType: notificationType, subtype: subtype,
      signedDate: signedDate, source: source, environment: environment, status: status,
      transactions: transactions, renewal: renewal, receiptDate: receiptDate,
      renewalChangeDate: renewalChangeDate, consumptionRequestReason: consumptionRequestReason)
  }

  // MARK: Decoding V2

  /// Decodes the outer payload of a V2 notification.
  ///
  /// - Throws: as `init(_:_:)`.
  static func payload(
    _ root: JSONElement, filed: NotificationPayload.Filed? = nil
  ) throws(Refusal) -> NotificationPayload {
    try mapError(Refusal.init, try NotificationPayload(root, filed: filed))
  }

  private static func transactions(
    _ object: JSONElement?, _ signedDate: Int64
  ) throws(Refusal) -> [Transaction] {
    guard let object else { return [] }
    let transaction = try mapError(
      Refusal.init, try Transaction(object, outerSignedDate: signedDate))
    return transaction.map { [$0] } ?? []
  }

  private static func renewal(
    _ object: JSONElement?, _ signedDate: Int64
  ) throws(Refusal) -> RenewalInfo? {
    guard let object else { return nil }
    return try mapError(Refusal.init, try RenewalInfo(object, outerSignedDate: signedDate))
  }

  /// Bytes of an original transaction id.
  private static let maximumIdentifier = 128

  private static func stream(_ nested: NestedPayloads) throws(Refusal) -> String? {
    guard let identifier = original(nested.transaction) ?? original(nested.renewal) else {
      return nil
    }
    guard !identifier.utf8.contains(0) else { throw Refusal(.nul) }
    // Apple's have 16 digits. A longer one fits no route and no page: a person has to look at it.
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

  // MARK: Agreement

  /// Checks that all parts of a V2 payload are about one subscription: each is signed on its own.
  /// Of a journaled notification that was checked before it was journaled.
  ///
  /// - Throws: `Refusal.notAdmitted` if a part is about another app, environment or customer.
  static func requireAgreement(
    _ payload: NotificationPayload, _ nested: NestedPayloads
  ) throws(Refusal) {
    if let transaction = nested.transaction {
      try require(transaction, payload, environment: "environment")
    }
    if let renewal = nested.renewal {
      guard renewal.kind == .object else { throw .notAdmitted("nested_payload") }
      // Renewal info has no bundleId: the original transaction id binds it.
      guard isSame(renewal["environment"], payload.environment.rawValue) else {
        throw .notAdmitted("nested_environment")
      }
    }
    if let one = nested.transaction?["originalTransactionId"]?.string,
      let other = nested.renewal?["originalTransactionId"], other.kind == .string,
      !isSame(other, one)
    {
      throw .notAdmitted("nested_original_transaction_id")
    }
    if let appTransaction = nested.appTransaction {
      try require(appTransaction, payload, environment: "receiptType")
      // As of the notification itself: in the sandbox, the App Store names no app.
      guard
        payload.environment != .production
          || appTransaction["appAppleId"]?.integer == payload.appAppleId
      else { throw .notAdmitted("nested_app_apple_id") }
    }
  }

  private static func require(
    _ nested: JSONElement, _ payload: NotificationPayload, environment member: String
  ) throws(Refusal) {
    guard nested.kind == .object else { throw .notAdmitted("nested_payload") }
    guard isSame(nested["bundleId"], payload.bundleId ?? "") else {
      throw .notAdmitted("nested_bundle_id")
    }
    guard isSame(nested[member], payload.environment.rawValue) else {
      throw .notAdmitted("nested_environment")
    }
  }

  /// Compares bytes: for `String` two spellings of one accent are equal, for SQL and Apple not.
  private static func isSame(_ one: JSONElement?, _ other: String) -> Bool {
    one?.isString(other) ?? false
  }
}

/// The payloads of the JWS that a V2 notification nests. Each is signed on its own: who makes this
/// value has proven them, or does not need to.
struct NestedPayloads {
  /// Of `signedTransactionInfo`.
  var transaction: JSONElement?
  /// Of `signedRenewalInfo`.
  var renewal: JSONElement?
  /// Of `signedAppTransactionInfo`.
  var appTransaction: JSONElement?
}

extension CompactJWS {
  /// The UUID of evidence. Apple gives it none, and may sign the same text twice.
  var uuid: NotificationUUID { NotificationUUID(digest: SHA256.hash(Array(signingInput))) }
}

extension NotificationPayload {
  /// The JWS of the transaction, if one is nested.
  var signedTransactionInfo: ArraySlice<UInt8>? {
    if case .data(let transaction, _, _) = content { transaction } else { nil }
  }

  /// The JWS of the renewal info, if one is nested.
  var signedRenewalInfo: ArraySlice<UInt8>? {
    if case .data(_, let renewal, _) = content { renewal } else { nil }
  }

  /// The JWS of the app transaction, if one is nested.
  var signedAppTransactionInfo: ArraySlice<UInt8>? {
    if case .appData(let appTransaction) = content { appTransaction } else { nil }
  }

  /// The subscription's status as Apple's code, 1 to 5.
  fileprivate var status: Int64? {
    if case .data(_, _, let status) = content { status } else { nil }
  }
}

extension Refusal {
  /// Why a genuine payload cannot become an event.
  init(_ fault: PayloadFault) { self = .notAdmitted(fault.code) }
}
