import AppStore
public import Ledger
import Platform
public import Store
public import StrictJSON

/// One event of a timeline, with what it changed in the row.
public struct HistoryEntry: Sendable {
  public typealias Change = (field: String, before: JSONValue, after: JSONValue)

  /// Without its body.
  public let event: StoredEvent
  /// The transaction that the event is about; of a V1 body, the newest one of its stream.
  let transaction: Transaction?
  /// Whether it carries a transaction that cannot be read, and so was not folded.
  let hasUnreadTransaction: Bool
  /// Fields of the row that differ before and after the event. Both rows are evaluated at the
  /// latest signed date so far, so that what changed because time passed is not among them.
  public let changes: [Change]
  /// Milliseconds between its signed date and the latest one received before it; nil if it was
  /// signed last.
  public let lateBy: Int64?
  /// How it arrived; nil if it comes from a file that does not say it.
  public let arrival: EventArrival?
  /// How often it was delivered again; nil: never, as far as that is counted.
  public let redeliveries: Redeliveries?
  /// The decoded notification; nil unless it was asked for.
  public let payload: JSONValue?
  /// What the receipt in a version 1 notification proves; nil if it carries none, or if receipts
  /// were not to be proven.
  public let receipt: V1Receipt?
  /// The stream that replaced this one when its transaction was revoked.
  let replacement: Replacement?
  /// What rules made of its transaction, in plain English; told once, by the first event about it.
  public internal(set) var rules: [String] = []

  public var isLate: Bool { lateBy != nil }
  public var transactionId: String? { transaction?.transactionId }

  /// What happened, in plain English; for an unknown type, type and subtype as Apple wrote them.
  public var description: String {
    Self.description(of: event, replaced ?? revocation)
      + (hasUnreadTransaction ? "; its transaction cannot be read and was not folded" : "")
  }

  /// - Parameter revocation: what was revoked, and why, if more is known than the type.
  static func description(of event: StoredEvent, _ revocation: String? = nil) -> String {
    let known = TypeDescriptions.of(
      event.notificationType, event.subtype, isV1: event.source == .v1)
    guard let known else { return VisibleText.of(typeAndSubtype(of: event)) }
    let words = revocation ?? known.description
    guard !known.isWhole, let subtype = event.subtype else { return words }
    return "\(words) (\(VisibleText.of(subtype)))"
  }

  /// Nil unless it tells of a revocation by which a purchase was replaced.
  private var replaced: String? {
    guard ["REFUND", "REVOKE", "CANCEL"].contains(event.notificationType) else { return nil }
    return replacement.map { "replaced by \(VisibleText.of($0.originalTransactionId))" }
  }

  /// What a REVOKE ended, which its type alone does not say; nil if Apple does not say it.
  private var revocation: String? {
    guard event.notificationType == "REVOKE" else { return nil }
    return transaction?.revocationType.flatMap { ValueDescriptions.revocationType[$0] }
  }

  /// Type and subtype as Apple wrote them.
  public var typeAndSubtype: String { Self.typeAndSubtype(of: event) }

  private static func typeAndSubtype(of event: StoredEvent) -> String {
    [event.notificationType, event.subtype].compactMap { $0 }.joined(separator: " / ")
  }

  public var json: JSONValue {
    let members: [(String, JSONValue)] = [
      ("object", .string("event")), ("seq", .integer(event.seq)),
      ("notification_uuid", .string(event.notificationUUID.description)),
      ("source", .string(event.source.rawValue)),
      ("notification_type", .string(event.notificationType)),
      ("subtype", .optional(event.subtype)), ("words", .string(description)),
      ("transaction_id", .optional(transactionId)),
      ("signed_date", .integer(event.signedDate)),
      ("received_at", .integer(event.receivedAt)), ("arrival", .optional(arrival?.rawValue)),
      ("late", .boolean(isLate)),
      ("late_by", .optional(lateBy)), ("redeliveries", redeliveriesJSON), ("money", money),
      ("changes", changes.json),
    ]
    let unread: [(String, JSONValue)] =
      hasUnreadTransaction ? [("unread_transaction", .boolean(true))] : []
    let told: [(String, JSONValue)] =
      rules.isEmpty ? [] : [("rules", .array(rules.map { .string($0) }))]
    let proof = receipt.map { [("receipt", $0.json)] } ?? []
    return .object(members + unread + told + proof + (payload.map { [("payload", $0)] } ?? []))
  }

  private var redeliveriesJSON: JSONValue {
    guard let redeliveries else { return .null }
    return .object([
      ("count", .integer(redeliveries.count)), ("first_at", .integer(redeliveries.firstAt)),
      ("last_at", .integer(redeliveries.lastAt)),
    ])
  }

  /// The price and the refund of that transaction exactly as Apple gives them: prices in
  /// milliunits of the currency, the revoked percentage in thousandths of a percent. Amounts of
  /// several transactions are never added up: Apple says that its prices are not for accounting,
  /// and currencies differ.
  public var money: JSONValue {
    guard let transaction else { return .null }
    return .object([
      ("price", .optional(transaction.price)), ("currency", .optional(transaction.currency)),
      ("quantity", .optional(transaction.quantity)),
      ("offer_type", .optional(transaction.offerType)),
      ("offer_identifier", .optional(transaction.offerIdentifier)),
      ("offer_discount_type", .optional(transaction.offerDiscountType)),
      ("offer_period", .optional(transaction.offerPeriod)),
      ("revocation_date", .optional(transaction.revocationDate)),
      ("revocation_reason", .optional(transaction.revocationReason)),
      ("revocation_type", .optional(transaction.revocationType)),
      ("revocation_percentage", .optional(transaction.revocationPercentage)),
    ])
  }
}

extension [HistoryEntry.Change] {
  /// An object with a member for each field.
  var json: JSONValue {
    .object(
      map { change in
        (change.field, .object([("before", change.before), ("after", change.after)]))
      })
  }
}
