public import AppStore
public import Entitlements
import SignedData
public import Store
import StrictJSON

/// Decodes journaled bodies without proving them again: they were proven before they were
/// journaled, the hash chain shows any change since, and `verify` proves them again.
public enum JournaledNotification {
  /// A body that was once admitted cannot be decoded: the file was changed, or the decoder was.
  public struct Unreadable: Error {}

  /// Decodes what the fold reads of a journaled event.
  ///
  /// - Throws: `Unreadable`.
  public static func foldEvent(_ journaled: JournaledPayload) throws(Unreadable) -> FoldEvent {
    try foldEvent(journaled, .apples)
  }

  /// - Parameter dates: others than Apple's are for tests.
  /// - Throws: `Unreadable`.
  package static func foldEvent(
    _ journaled: JournaledPayload, _ dates: ReceiptDates
  ) throws(Unreadable) -> FoldEvent {
    switch journaled.content {
    case .statement, .unreadable: throw Unreadable()
    case .json(let body, let id): return try v1(body, of: id, journaled, dates)
    case .receipt(let receipt, let id):
      guard let decoded = try? DecodedNotification(receipt, of: id) else { throw Unreadable() }
      return decoded.foldEvent(seq: journaled.seq)
    case .jws(let payload, let nested) where journaled.source.isEvidence:
      return try evidence(nested.isEmpty ? payload : journaled.exactPayload, journaled)
    case .jws(let payload, let nested):
      if let event = try? v2(payload, nested, journaled.seq) { return event }
      guard !nested.isEmpty, let exact = journaled.exactPayload else { throw Unreadable() }
      return try v2(exact, [], journaled.seq)
    }
  }

  /// Whether an event carries a transaction without which it was folded, because it names no
  /// transaction id or no date of purchase.
  ///
  /// - Parameter event: what the fold reads of it.
  public static func hasUnreadTransaction(
    _ journaled: JournaledPayload, _ event: FoldEvent
  ) -> Bool {
    guard journaled.source == .v2, event.transactions.isEmpty,
      let payload = journaled.exactPayload, let root = try? root(payload),
      let notification = try? DecodedNotification.payload(root, filed: nowhere)
    else { return false }
    return notification.signedTransactionInfo != nil
  }

  /// Content that names no app is about no stream, and folds into nothing: where it was filed
  /// makes no difference.
  private static let nowhere: NotificationPayload.Filed = ("", .production)

  /// Decodes a signedPayload, or the JWS of evidence, without proving it.
  ///
  /// - Parameter filed: as `NotificationPayload` takes it.
  /// - Throws: `Refusal.malformed` or `Refusal.notAdmitted`, as `NotificationProof.notification`
  ///   does for a proven one.
  public static func decode(
    signedPayload: ArraySlice<UInt8>, of source: EventSource = .v2,
    filed: NotificationPayload.Filed? = nil
  ) throws(Refusal) -> DecodedNotification {
    if source.isEvidence {
      guard let jws = try? CompactJWS(parsing: signedPayload) else {
        throw .malformed("nested_payload")
      }
      return try DecodedNotification(try root(jws.payload), source, uuid: jws.uuid)
    }
    let payload = try DecodedNotification.payload(
      try decodePayload(ofJWS: signedPayload), filed: filed)
    let nested = NestedPayloads(
      transaction: try payload.signedTransactionInfo.map(decodePayload(ofJWS:)),
      renewal: try payload.signedRenewalInfo.map(decodePayload(ofJWS:)),
      appTransaction: try payload.signedAppTransactionInfo.map(decodePayload(ofJWS:)))
    try DecodedNotification.requireAgreement(payload, nested)
    return try DecodedNotification(payload, nested)
  }

  private static func evidence(
    _ payload: [UInt8]?, _ journaled: JournaledPayload
  ) throws(Unreadable) -> FoldEvent {
    guard let payload, let uuid = journaled.uuid, let root = try? root(payload),
      let decoded = try? DecodedNotification(root, journaled.source, uuid: uuid)
    else { throw Unreadable() }
    return decoded.foldEvent(seq: journaled.seq)
  }

  /// - Parameter stream: where the event was filed: a rule of another build must not move it.
  private static func v1(
    _ body: [UInt8], of stream: String?, _ journaled: JournaledPayload, _ dates: ReceiptDates
  ) throws(Unreadable) -> FoldEvent {
    guard let root = try? JSONDocument(parsing: body).root,
      let notification = try? V1Notification(root, of: stream), let uuid = journaled.uuid
    else { throw Unreadable() }
    return DecodedNotification(notification, uuid: uuid, receiptDate: dates.date(in: root))
      .foldEvent(seq: journaled.seq)
  }

  /// Decodes an outer payload in which numbers stand for nested JWS.
  ///
  /// - Throws: `Unreadable`, also if a number was not used. It then stands in a member that is read
  ///   as text, or in one that is not read, and only the exact payload can tell which.
  private static func v2(
    _ payload: [UInt8], _ nested: [JournaledPayload.Nested], _ seq: Int64
  ) throws(Unreadable) -> FoldEvent {
    var parts = JournaledParts(nested)
    do throws(Refusal) {
      let outer = try DecodedNotification.payload(
        try root(payload, within: .stored), filed: nowhere)
      let decoded = try DecodedNotification(outer, try parts.payloads(in: outer))
      guard parts.areAllUsed else { throw Refusal.malformed("nested_payload") }
      return decoded.foldEvent(seq: seq)
    } catch {
      throw Unreadable()
    }
  }

  /// Decodes the payload of a JWS that is there as it was signed.
  fileprivate static func decodePayload(ofJWS text: ArraySlice<UInt8>) throws(Refusal)
    -> JSONElement
  {
    guard let jws = try? CompactJWS(parsing: text) else { throw .malformed("nested_payload") }
    return try root(jws.payload)
  }

  fileprivate static func root(
    _ payload: [UInt8], within limits: JSONLimits = .none
  ) throws(Refusal) -> JSONElement {
    guard let document = try? JSONDocument(parsing: payload, within: limits) else {
      throw .malformed("nested_payload")
    }
    return document.root
  }
}

/// The nested JWS of one journaled payload, of which the journal stores the decoded payloads.
private struct JournaledParts {
  private let nested: [JournaledPayload.Nested]
  private var used = 0

  init(_ nested: [JournaledPayload.Nested]) { self.nested = nested }

  /// Whether each number in the payload was a nested JWS that is decoded.
  var areAllUsed: Bool { used == nested.count }

  mutating func payloads(in payload: NotificationPayload) throws(Refusal) -> NestedPayloads {
    NestedPayloads(
      transaction: try decode(payload.signedTransactionInfo),
      renewal: try decode(payload.signedRenewalInfo),
      appTransaction: try decode(payload.signedAppTransactionInfo))
  }

  private mutating func decode(_ text: ArraySlice<UInt8>?) throws(Refusal) -> JSONElement? {
    guard let text else { return nil }
    guard let number = nested.firstIndex(where: { $0.offset == text.startIndex }), text.count == 1
    else { return try JournaledNotification.decodePayload(ofJWS: text) }
    used += 1
    return try JournaledNotification.root(nested[number].payload, within: .stored)
  }
}
