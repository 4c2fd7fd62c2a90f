import AppStore
public import JournalStore
import Observability
public import StrictJSON

/// One event of a timeline and its effect.
public struct HistoryEntry: Sendable {
  public typealias Change = (field: String, before: JSONValue, after: JSONValue)

  /// Without its body.
  public let event: StoredEvent
  /// The transaction it is about; of a V1 body, the newest of its stream.
  let transaction: Transaction?
  /// Fields of the row that differ before and after it, both evaluated at the newest date Apple
  /// had signed by then: what passed by itself is not this event's doing.
  public let changes: [Change]
  /// Milliseconds between its date and that of an event Apple signed later which had come before
  /// it; nil where none had.
  public let lateBy: Int64?
  /// How often it came again; nil: never, as far as that is counted.
  public let redeliveries: Redeliveries?
  /// What the notification says, decoded; nil where nobody asked.
  public let payload: JSONValue?

  public var isLate: Bool { lateBy != nil }
  public var transactionId: String? { transaction?.transactionId }

  /// What happened, in plain words; what has none, as Apple wrote it.
  public var words: String {
    let known = TypeDescriptions.of(
      event.notificationType, event.subtype, isV1: event.source == "v1")
    guard let known else { return VisibleText.of(typeAndSubtype) }
    guard !known.isWhole, let subtype = event.subtype else { return known.words }
    return "\(known.words) (\(VisibleText.of(subtype)))"
  }

  /// As Apple wrote them.
  public var typeAndSubtype: String {
    [event.notificationType, event.subtype].compactMap { $0 }.joined(separator: " / ")
  }

  public var json: JSONValue {
    let members: [(String, JSONValue)] = [
      ("object", .string("event")), ("seq", .integer(event.seq)),
      ("notification_uuid", .string(event.notificationUUID)),
      ("source", .string(event.source)),
      ("notification_type", .string(event.notificationType)),
      ("subtype", .optional(event.subtype)), ("words", .string(words)),
      ("transaction_id", .optional(transactionId)),
      ("signed_date", .integer(event.signedDate)),
      ("received_at", .integer(event.receivedAt)), ("late", .boolean(isLate)),
      ("late_by", .optional(lateBy)), ("redeliveries", redeliveriesJSON), ("money", money),
      (
        "changes",
        .object(
          changes.map { change in
            (change.field, .object([("before", change.before), ("after", change.after)]))
          })
      ),
    ]
    return .object(members + (payload.map { [("payload", $0)] } ?? []))
  }

  private var redeliveriesJSON: JSONValue {
    guard let redeliveries else { return .null }
    return .object([
      ("count", .integer(redeliveries.count)), ("first_at", .integer(redeliveries.firstAt)),
      ("last_at", .integer(redeliveries.lastAt)),
    ])
  }

  /// What was paid and given back for that transaction, exactly as Apple says it: milliunits of
  /// the currency, milli-percent. Amounts of several transactions are never added up: Apple's
  /// prices are not for accounting, and currencies differ.
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

/// A notification in quarantine that names the same original transaction id.
public struct QuarantinedEntry: Sendable {
  /// What `quarantine admit` takes.
  public let id: Int64
  public let reason: String
  public let source: String
  public let notificationUUID: String?
  public let environment: String?
  public let bundleId: String?
  public let notificationType: String?
  /// Milliseconds since 1970, as `receivedAt`.
  public let signedDate: Int64?
  public let receivedAt: Int64
  /// What the notification says, decoded; nil where nobody asked.
  public let payload: JSONValue?

  init(_ item: StoredQuarantine, isRaw: Bool) {
    id = item.id
    reason = item.reason
    source = item.source
    notificationUUID = item.notificationUUID
    environment = item.environment
    bundleId = item.bundleId
    notificationType = item.notificationType
    signedDate = item.signedDate
    receivedAt = item.receivedAt
    payload = isRaw ? DecodedPayload.json(item) : nil
  }

  /// Whose row it would be; what it does not say is empty, which no list of a token has.
  func key(_ originalTransactionId: String) -> StreamKey {
    StreamKey(
      environment: environment ?? "", bundleId: bundleId ?? "",
      originalTransactionId: originalTransactionId)
  }

  public var json: JSONValue {
    let members: [(String, JSONValue)] = [
      ("object", .string("quarantined")), ("id", .integer(id)), ("reason", .string(reason)),
      ("notification_uuid", .optional(notificationUUID)), ("source", .string(source)),
      ("environment", .optional(environment)), ("bundle_id", .optional(bundleId)),
      ("notification_type", .optional(notificationType)),
      ("signed_date", .optional(signedDate)), ("received_at", .integer(receivedAt)),
    ]
    return .object(members + (payload.map { [("payload", $0)] } ?? []))
  }
}
