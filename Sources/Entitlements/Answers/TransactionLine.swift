public import AppStore
import Platform

/// One purchase of a customer, and what became of it: a line of `transaction_v1`.
///
/// Transactions with one webOrderLineItemId are one purchase, and one line.
public struct TransactionLine: Sendable, Equatable {
  public let key: StreamKey
  /// Of `TransactionField.all`, in their order.
  public let values: [FieldValue]

  private init(_ key: StreamKey, _ values: [FieldValue]) {
    (self.key, self.values) = (key, values)
  }

  /// - Parameter values: of `TransactionField.stored`.
  public init(_ key: StreamKey, stored values: [FieldValue]) {
    self.init(key, KeyFields.all.map { $0.value(key) } + values)
  }

  init(_ source: TransactionSource) {
    self.init(source.key, TransactionSource.fields.map { $0.value(source) })
  }

  /// The value of a column.
  public subscript(column: String) -> FieldValue {
    TransactionField.places[column].map { values[$0] } ?? .none
  }

  public var transactionId: String { values[TransactionFields.transactionId].text ?? "" }

  public func text(_ column: String) -> String? { self[column].text }

  public func integer(_ column: String) -> Int64? { self[column].integer }

  /// Whether it is the purchase with this id.
  public func isAbout(_ id: String) -> Bool {
    if case .texts(let others) = self["other_transaction_ids"],
      others.contains(where: { ByteSearch.areEqual($0, id) })
    {
      return true
    }
    return ByteSearch.areEqual(transactionId, id)
  }

  /// The same, where what was taken back is nothing that was paid back.
  public var withoutRefund: TransactionLine {
    setting("refunded_milliunits") { $0 != .none ? .integer(0) : $0 }.setting("refunds") { _ in
      .none
    }
  }

  /// The same, where evidence that is held said it again at these times, by transaction id:
  /// milliseconds since 1970.
  public func confirmed(at times: [String: Int64]) -> TransactionLine {
    guard let newest = times.filter({ isAbout($0.key) }).values.max() else { return self }
    return setting("signed_date_ms") { .integer(max($0.integer ?? newest, newest)) }
  }

  private func setting(
    _ column: String, _ change: (FieldValue) -> FieldValue
  ) -> TransactionLine {
    var values = values
    if let place = TransactionField.places[column] { values[place] = change(values[place]) }
    return TransactionLine(key, values)
  }
}

/// A field of a purchase. `all` is the only list of them: the JSON of a line and its schema, the
/// columns of `transaction_v1`, and the table of a mirror follow from it.
public typealias TransactionField = Field<TransactionLine>

extension TransactionField {
  /// All of them, in the order of the contract.
  public static var all: [TransactionField] { TransactionFields.all }

  /// What a projection stores of a line.
  public static var stored: ArraySlice<TransactionField> { all[keyCount...] }

  /// How many there are of the key, which come first.
  public static var keyCount: Int { KeyFields.all.count }

  /// The index of a column.
  public static var places: [String: Int] { TransactionFields.places }
}

private enum TransactionFields {
  static let transactionId = places["transaction_id"] ?? 0
  static let all = TransactionSource.fields.enumerated().map { index, field in
    TransactionField(field) { $0.values[index] }
  }
  static let places = Dictionary(
    all.enumerated().map { ($1.column, $0) }, uniquingKeysWith: { one, _ in one })
}

/// What a line is made of.
struct TransactionSource: Sendable {
  let key: StreamKey
  /// Of the transaction whose snapshot is the newest.
  let register: StreamState.TransactionRegister
  let period: Periods.Period
  /// The same purchase under other ids, sorted.
  let otherIds: [String]
  /// The purchase that ended it before its time.
  let replacedBy: String?
  /// The registers of this purchase, under all its ids; of more than `mostIds`, the newest alone.
  let group: [StreamState.TransactionRegister]
  /// Apple gives a purchase one id or two. A limit, so that a long history is read in linear time.
  static let mostIds = 16
  /// The first and the last event in the journal that told of it.
  let firstSeq, lastSeq: Int64?

  var transaction: Transaction { register.transaction }
  var revokedAt: Int64? { period.revocation }

  /// When it stopped to cover, or will; no earlier than it began. Nil: never.
  private var endedAt: Int64? { period.end == .max ? nil : max(period.end, period.start) }

  private var refundedSeats: Int64? { revokedAt == nil ? register.refundedSeats : register.seats }
}

extension TransactionSource {
  /// In the order of the contract.
  fileprivate static let fields = keys + product + dates + money + end + others + seats + refunds

  fileprivate typealias Line = Field<TransactionSource>

  private static let keys = KeyFields.all.map { field in Line(field) { field.value($0.key) } }

  private static let product = [
    Line(
      "transaction_id", .text, isRequired: true,
      "The transaction; of several ids of one purchase, the one that Apple signed last."
    ) { .text($0.transaction.transactionId) },
    Line("other_transaction_ids", .texts, "Other transaction ids of the same purchase.") {
      $0.otherIds.isEmpty ? .none : .texts($0.otherIds)
    },
    Line(
      "web_order_line_item_id", .text, "Apple's id of the purchase, the same under every id."
    ) { .of($0.register.held.transaction.itemName) },
    Line("product_id", .text, "The product.") { .of($0.transaction.productId) },
    Line("product_type", .text, "The type of the product, as Apple names it.") {
      .of($0.transaction.type)
    },
    Line("subscription_group_id", .text, "The subscription group of the product.") {
      .of($0.register.subscriptionGroup)
    },
    Line("ownership", .text, "Apple's inAppOwnershipType: \(ValueDescriptions.ownership.list).") {
      .of($0.register.ownership)
    },
    Line("reason", .text, "Apple's transactionReason: PURCHASE or RENEWAL.") {
      .of($0.register.transactionReason)
    },
  ]

  private static let dates = [
    Line("purchased_at", .time, isRequired: true, "When it was bought or renewed.") {
      .integer($0.transaction.purchaseDate)
    },
    Line(
      "original_purchased_at", .time, "When the first purchase of the customer's row was made."
    ) { .of($0.transaction.originalPurchaseDate) },
    Line("expires_at", .time, "The end of what it paid for; null if it does not expire.") {
      .of($0.register.newerEnd ?? $0.transaction.expiresDate)
    },
    Line(
      "ended_at", .time,
      "When it stopped to cover, or will: by its expiry, an upgrade or a refund; null if never."
    ) { .of($0.endedAt) },
  ]

  private static let money = [
    Line("quantity", .integer, "How many were bought.") { .of($0.transaction.quantity) },
    Line(
      "price.milliunits", .integer, isRequired: true,
      "The price as Apple states it, in thousandths of the currency's unit: 9990 is 9.99."
    ) { .of($0.register.price?.milliunits) },
    Line("price.currency", .text, column: "currency", "The currency code of ISO 4217.") {
      .of($0.register.price?.currency)
    },
    Line(
      "storefront", .text,
      "The country or region of the App Store where it was bought, three letters of ISO 3166-1."
    ) { .of($0.transaction.storefront) },
    Line(
      "billing_plan", .text, "Apple's billingPlanType: \(ValueDescriptions.billingPlanType.list)."
    ) {
      .of($0.transaction.billingPlanType)
    },
    Line(
      "offer.type", .integer, isRequired: true,
      "Apple's offerType: \(ValueDescriptions.offerType.list)."
    ) { .of($0.register.offer?.type) },
    Line("offer.identifier", .text, "Apple's identifier of the offer.") {
      .of($0.register.offer?.identifier)
    },
    Line(
      "offer.discount_type", .text,
      "Apple's offerDiscountType: \(ValueDescriptions.offerDiscountType.list)."
    ) { .of($0.register.offer?.discountType) },
    Line("offer.period", .text, "The length of the offer in ISO 8601, such as P1M.") {
      .of($0.register.offer?.period)
    },
  ]

  private static let end = [
    Line(
      "is_upgraded", .flag, isRequired: true,
      "Whether the customer upgraded from it, by all that is known."
    ) {
      .flag($0.register.isUpgraded || $0.replacedBy != nil && $0.register.expires != nil)
    },
    Line("replaced_by", .text, "The transaction that ended it before its time.") {
      .of($0.replacedBy)
    },
    Line(
      "revoked_at", .time,
      "When a refund, or the end of family sharing or of an assigned seat, revoked it."
    ) { .of($0.revokedAt) },
    Line("revocation_reason", .integer, "Apple's revocationReason.") {
      .of($0.revokedAt == nil ? nil : $0.transaction.revocationReason)
    },
    Line(
      "revocation_type", .text,
      "Apple's revocationType: \(ValueDescriptions.revocationType.list)."
    ) { .of($0.revokedAt == nil ? nil : $0.transaction.revocationType) },
    Line(
      "revocation_percentage", .integer,
      "The share of the price that a refund gave back, in thousandths of a percent: 40000 is 40 %; "
        + "null if Apple does not say it."
    ) { .of($0.revokedAt == nil ? nil : $0.transaction.revocationPercentage) },
    Line(
      "refunded", .integer, column: "refunded_milliunits",
      "What a refund gave back of the price, 0 if there was none; null if the price is not known."
    ) { .of($0.refunded) },
  ]

  private static let refunds = [
    Line(
      "refunds", .refunds, mirrorLayout: 6,
      "Each refund and each reversal, in the order of time, also what is no longer in force."
    ) { .of($0.refunds) }
  ]

  private static let others = [
    Line("app_account_token", .text, "The appAccountToken that your app set at the purchase.") {
      .of($0.register.accountToken)
    },
    Line("app_transaction_id", .text, "The id of the app download.") {
      .of($0.transaction.appTransactionId)
    },
    Line("first_seq", .integer, "The position in the journal of the first event that told of it.") {
      .of($0.firstSeq)
    },
    Line("last_seq", .integer, "The position in the journal of the last event that told of it.") {
      .of($0.lastSeq)
    },
    Line(
      "signed_date", .time,
      "When the newest of what says this was signed, also what only confirmed it."
    ) {
      .integer($0.register.key.signed)
    },
  ]
}

extension TransactionSource {
  private static let seats = [
    Line("seats", .integer, mirrorLayout: 6, "How many seats it paid for; null if it has none.") {
      .of($0.register.seats)
    },
    Line(
      "seat_price", .integer, mirrorLayout: 6,
      "The average price of a seat, as Apple states it, in thousandths of the currency's unit."
    ) { .of($0.register.seats == nil ? nil : $0.transaction.price) },
    Line("refunded_seats", .integer, mirrorLayout: 6, "How many of its seats were refunded.") {
      .of($0.refundedSeats)
    },
    Line(
      "seats_refunded_at", .time, mirrorLayout: 6,
      "When Apple first told that so many of its seats, and not all, were refunded."
    ) { .of($0.revokedAt == nil ? $0.register.seatsRefundedAt : nil) },
    Line(
      "consumption_request_reason", .text, mirrorLayout: 6,
      "Why the customer last asked for a refund: \(ValueDescriptions.requestReason.list)."
    ) { .of($0.register.older?.requestReason?.value) },
  ]
}

extension StreamState.TransactionRegister {
  /// How many seats it paid for; nil if it has none, or if somebody else paid.
  var seats: Int64? {
    guard held.transaction.multiSeatInfo != nil, ownership ?? "PURCHASED" == "PURCHASED" else {
      return nil
    }
    return held.transaction.quantity
  }

  /// How many of them were refunded, of a purchase that is not revoked.
  var refundedSeats: Int64? {
    seats.map { min(max(0, held.transaction.multiSeatInfo?.revokedSeatQuantity ?? 0), $0) }
  }

  fileprivate var seatsRefundedAt: Int64? {
    guard let count = held.transaction.multiSeatInfo?.revokedSeatQuantity, count > 0 else {
      return nil
    }
    return seatRefunds.first { $0.quantity == count }?.signed
  }

  /// What was given back of some of its seats: which of them is not told, so that it is not known
  /// where they have several prices.
  func refund(ofSeats count: Int64) -> Int64? {
    guard count != seats else { return price?.milliunits }
    let tiers = held.transaction.multiSeatInfo?.priceTiers ?? []
    guard let price = tiers.first?.price, tiers.allSatisfy({ $0.price == price }) else {
      return nil
    }
    let (product, isTooLarge) = price.multipliedReportingOverflow(by: count)
    return isTooLarge ? nil : product
  }
}

/// What not every source tells: the last told.
extension StreamState.TransactionRegister {
  public var price: Purchase.Price? { Purchase.Price(transaction) ?? older?.price?.value }
  var ownership: String? { transaction.inAppOwnershipType ?? older?.ownership?.value }
  var subscriptionGroup: String? {
    transaction.subscriptionGroupIdentifier ?? older?.subscriptionGroup?.value
  }
  var transactionReason: String? { transaction.transactionReason ?? older?.reason?.value }
  var accountToken: String? { held.transaction.appAccountToken ?? older?.accountToken?.value }
  /// One with a name before one without.
  var offer: Purchase.Offer? { older?.offer?.value ?? Purchase.Offer(transaction) }
}

extension Periods {
  /// The purchases of a stream, by when they were made, then by their ids.
  ///
  /// - Parameter seqs: `StreamState.seqs`.
  func lines(of key: StreamKey, _ seqs: [String: ClosedRange<Int64>]) -> [TransactionLine] {
    var shown = Array(registers.indices)
    var twins: [Int: [Int]] = [:]
    for group in Revocations.twins(registers) {
      let newest =
        group.max { Revocations.Register.isOlder(registers[$0], registers[$1]) } ?? group[0]
      for index in group { shown[index] = newest }
      twins[newest] = group
    }
    let order = registers.indices.filter { shown[$0] == $0 }.sorted { one, other in
      all[one].start == all[other].start
        ? ByteSearch.precedes(id(one), id(other)) : all[one].start < all[other].start
    }
    return order.map { index in
      let group = twins[index] ?? [index]
      let ids = group.map(id)
      let told = ids.compactMap { seqs[$0] }
      return TransactionLine(
        TransactionSource(
          key: key, register: registers[index], period: all[index],
          otherIds: ids.filter { !ByteSearch.areEqual($0, id(index)) }
            .sorted(by: ByteSearch.precedes),
          replacedBy: replacement(of: index).map { id(shown[$0]) },
          group: (group.count > TransactionSource.mostIds ? [index] : group).map { registers[$0] },
          firstSeq: told.map(\.lowerBound).min(), lastSeq: told.map(\.upperBound).max()))
    }
  }

  private func id(_ index: Int) -> String { registers[index].transaction.transactionId }

  /// The index of the purchase that ended one before its expiry.
  private func replacement(of index: Int) -> Int? {
    let period = all[index]
    guard period.cut < period.expires ?? .max, period.cut <= period.revocation ?? .max else {
      return nil
    }
    return last(startingAt: period.cut) { !all[$0].isVoid && $0 != index }
  }
}

extension StreamState.TransactionRegister {
  static func isOlder(_ one: Self, _ other: Self) -> Bool {
    one.key == other.key
      ? ByteSearch.precedes(one.transaction.transactionId, other.transaction.transactionId)
      : one.key < other.key
  }
}
