import Platform

/// What an app receipt says, in Apple's attributes. Times are milliseconds since 1970, written in
/// whole seconds.
public struct ReceiptContent: Sendable {
  /// An in-app record.
  public struct Record: Sendable {
    public var transactionId: String
    var originalTransactionId: String
    var productId: String
    public var quantity: Int64 = 1
    public var purchaseDate: Int64
    public var originalPurchaseDate: Int64
    /// 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable, 4 free subscription; nil
    /// leaves the attribute out.
    public var kind: Int64?
    public var expiresDate: Int64?
    public var cancellationDate: Int64?
    public var webOrderLineItemId: Int64?
    public var isTrial = false
    /// Nil leaves the attribute out.
    public var isInIntroOffer: Bool?
    public var promotionalOfferId: String?

    public init(
      transactionId: String, originalTransactionId: String, productId: String,
      purchaseDate: Int64, expiresDate: Int64? = nil
    ) {
      self.transactionId = transactionId
      self.originalTransactionId = originalTransactionId
      self.productId = productId
      self.purchaseDate = purchaseDate
      originalPurchaseDate = purchaseDate
      self.expiresDate = expiresDate
    }
  }

  /// `Production`, `ProductionSandbox` or any other word.
  public var receiptType: String
  public var bundleId: String
  public var creationDate: Int64
  public var records: [Record]
  /// Further attributes, written as they are.
  public var others: [(type: Int64, value: [UInt8])] = []

  public init(
    receiptType: String = "Production", bundleId: String = "com.example.app", creationDate: Int64,
    records: [Record] = []
  ) {
    self.receiptType = receiptType
    self.bundleId = bundleId
    self.creationDate = creationDate
    self.records = records
  }

  /// The content that is signed.
  public var encoded: [UInt8] {
    var attributes = [
      Self.attribute(0, DERWriter.text(receiptType)),
      Self.attribute(2, DERWriter.text(bundleId)),
      Self.attribute(3, DERWriter.text("42")),
      Self.attribute(4, [UInt8](repeating: 0xA5, count: 16)),
      Self.attribute(5, [UInt8](repeating: 0x5A, count: 20)),
      Self.attribute(12, Self.date(creationDate)),
      Self.attribute(19, DERWriter.text("1.0")),
    ]
    attributes += others.map { Self.attribute($0.type, $0.value) }
    attributes += records.map { Self.attribute(17, Self.encoded($0)) }
    return DERWriter.set(attributes.flatMap(\.self))
  }

  private static func encoded(_ record: Record) -> [UInt8] {
    var attributes = [
      attribute(1701, number(record.quantity)),
      attribute(1702, DERWriter.text(record.productId)),
      attribute(1703, DERWriter.text(record.transactionId)),
      attribute(1704, date(record.purchaseDate)),
      attribute(1705, DERWriter.text(record.originalTransactionId)),
      attribute(1706, date(record.originalPurchaseDate)),
      // Apple writes an empty text where there is no date.
      attribute(1708, record.expiresDate.map(date) ?? DERWriter.ia5("")),
      attribute(1711, number(record.webOrderLineItemId ?? 0)),
      attribute(1712, record.cancellationDate.map(date) ?? DERWriter.ia5("")),
      attribute(1713, number(record.isTrial ? 1 : 0)),
    ]
    if let kind = record.kind { attributes.append(attribute(1707, number(kind))) }
    if let flag = record.isInIntroOffer { attributes.append(attribute(1719, number(flag ? 1 : 0))) }
    if let offer = record.promotionalOfferId {
      attributes.append(attribute(1721, DERWriter.text(offer)))
    }
    return DERWriter.set(attributes.flatMap(\.self))
  }

  private static func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
    DERWriter.sequence(number(type), DERWriter.integer([1]), DERWriter.octets(value))
  }

  private static func number(_ value: Int64) -> [UInt8] {
    DERWriter.integer((0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) })
  }

  private static func date(_ milliseconds: Int64) -> [UInt8] {
    let second = milliseconds - ((milliseconds % 1000) + 1000) % 1000
    return DERWriter.ia5(Timestamp.text(second))
  }
}
