import AppStore
import Entitlements
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
  /// Apple's members that neither row nor purchase has, by their names.
  let others: [(name: String, value: JSONValue)]
  /// What the receipt in a version 1 notification proves; nil if it carries none, or if receipts
  /// were not to be proven.
  public let receipt: V1Receipt?
  /// The stream that replaced this one when its transaction was revoked.
  let replacement: Replacement?
  /// What a refund that it tells of gave back, by the line of its transaction, in milliunits.
  let givenBack: Int64?
  /// What rules made of its transaction, and what became of its request for a refund, in plain
  /// English; told once, by the first event about it.
  public internal(set) var rules: [String] = []

  public var isLate: Bool { lateBy != nil }
  public var transactionId: String? { transaction?.transactionId }

  /// What happened, in plain English; for an unknown type, type and subtype as Apple wrote them.
  public var description: String {
    Self.description(of: event, replaced ?? refunded ?? revocation)
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

  /// How much a refund gave back, where that is not all.
  private var refunded: String? {
    let seats = transaction?.multiSeatInfo?.revokedSeatQuantity
    if event.notificationType == "REFUND", event.subtype == "SEATS", let seats {
      return "\(seats) seats refunded"
    }
    guard event.notificationType == "REFUND", let share = transaction?.revocationPercentage,
      share != Self.whole
    else { return nil }
    let (percent, rest) = share.quotientAndRemainder(dividingBy: 1000)
    let decimals = rest == 0 ? "" : "." + String(rest.magnitude + 1000).dropFirst()
    return "refunded, \(percent)\(decimals) % of the price"
  }

  /// 100 % in thousandths of a percent.
  private static let whole: Int64 = 100_000

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

  public var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<HistoryEntry>(
    "HistoryEvent", kind + arrivals + consequences)

  private static let kind: [JSONMember<HistoryEntry>] =
    (Feed.identity + Feed.kind).map { $0.of(\.event) } + [
      JSONMember("words", .words) { $0.description },
      JSONMember("transaction_id", .text("The transaction that it is about.")) {
        $0.transactionId
      },
    ]

  private static let arrivals: [JSONMember<HistoryEntry>] =
    Feed.times.map { $0.of(\.event) } + [
      JSONMember(
        "arrival",
        .text("How it arrived: posted, or from Apple's history; also import, asked or submitted.")
      ) { $0.arrival?.rawValue },
      JSONMember(
        "late", .boolean("Whether an event that Apple signed later was received before it.")
      ) { $0.isLate },
      JSONMember("late_by", .integer("Milliseconds between the two signed dates.")) { $0.lateBy },
      JSONMember("redeliveries", redelivered) { $0.redeliveries },
    ]

  private static let consequences: [JSONMember<HistoryEntry>] = [
    JSONMember("money", .optional(paid.schema)) { $0.money },
    JSONMember("changes", .changes) { $0.changes.json },
    .ifAny(
      "unread_transaction",
      .boolean("Present and true where its transaction cannot be read and was not folded.")
    ) { $0.hasUnreadTransaction ? true : nil },
    .ifAny(
      "others",
      .map(
        .anything(),
        "Members of Apple's that neither row nor purchase has, by their names and as Apple wrote "
          + "them.")
    ) { $0.others.isEmpty ? nil : JSONValue.object($0.others) },
    .ifAny(
      "rules",
      .list(
        .text(
          "What the rules made of its transaction, or what became of its request for a refund, in "
            + "plain words; told once for each."))
    ) { $0.rules.isEmpty ? nil : $0.rules },
    .ifAny("receipt", V1Receipt.object.schema) { $0.receipt?.json },
    .ifAny("payload", .payload) { $0.payload },
  ]

  private static let redelivered = JSONObject<Redeliveries>([
    JSONMember("count", .integer("How often it was received again.")) { $0.count },
    JSONMember("first_at", .time()) { $0.firstAt }, JSONMember("last_at", .time()) { $0.lastAt },
  ])

  /// The price and the refund of that transaction exactly as Apple gives them: prices in
  /// milliunits of the currency, the revoked percentage in thousandths of a percent. Amounts of
  /// several transactions are never added up: Apple says that its prices are not for accounting,
  /// and currencies differ.
  public var money: JSONValue {
    transaction.map { Self.paid.json((transaction: $0, givenBack: givenBack)) } ?? .null
  }

  private static let paid = JSONObject<(transaction: Transaction, givenBack: Int64?)>(
    told.map { $0.of(\.transaction) } + [
      JSONMember(
        "refunded_milliunits",
        .integer("What a refund gave back of the price, as in the list of transactions.")
      ) { $0.givenBack }
    ])

  private static let told: [JSONMember<Transaction>] = [
    JSONMember("price", .integer("The price in thousandths of the currency's unit.")) { $0.price },
    JSONMember("currency", .text("The currency code of ISO 4217.")) { $0.currency },
    JSONMember("quantity", .integer()) { $0.quantity },
    JSONMember(
      "offer_type", .integer("Apple's offerType: \(ValueDescriptions.offerType.list).")
    ) { $0.offerType },
    JSONMember("offer_identifier", .text()) { $0.offerIdentifier },
    JSONMember(
      "offer_discount_type",
      .text("Apple's offerDiscountType: \(ValueDescriptions.offerDiscountType.list).")
    ) { $0.offerDiscountType },
    JSONMember("offer_period", .text()) { $0.offerPeriod },
    JSONMember("revocation_date", .time()) { $0.revocationDate },
    JSONMember("revocation_reason", .integer()) { $0.revocationReason },
    JSONMember(
      "revocation_type",
      .text("Apple's revocationType: \(ValueDescriptions.revocationType.list).")
    ) { $0.revocationType },
    JSONMember(
      "revocation_percentage", .integer("The refunded share in thousandths of a percent.")
    ) { $0.revocationPercentage },
  ]
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

/// Members of several objects of a timeline, of the feed and of the overview.
extension JSONSchema {
  public static let environment = oneOf(Environment.all.map(\.rawValue), "Apple's environment.")
  public static let bundleId = text("The bundle id of the app.")

  static let status = oneOf(
    Entitlement.Status.allCases.map(\.rawValue), "The status of the entitlement at that time.")
  static let words = text("What happened, in plain words.")
  static let payload = anything(
    "With raw=true, the decoded payload of the notification; null if it cannot be recovered.")
  static let changes = map(
    .object([("before", .anything()), ("after", .anything())], required: ["before", "after"]),
    "The members of the row that it changed, with their values before and after.")
}
