import Platform

/// The content of an app receipt: what its signature is over.
///
/// Source: developer.apple.com/documentation/appstorereceipts and the archived Receipt Validation
/// Programming Guide, "Receipt Fields". The content is a SET of attributes, each a SEQUENCE of type
/// (INTEGER), version (INTEGER) and value (OCTET STRING), whose value is DER again. Times are
/// milliseconds since 1970; an empty text counts as absent, as in V1.
public struct AppReceipt: Sendable {
  /// The most in-app records that are read, and the most other attributes.
  public static let maximumRecords = 5_000
  private static let maximumAttributes = 256

  /// Attribute 0, in Apple's words: `Production`, `ProductionSandbox` and others.
  public let receiptType: String
  public let bundleId: String
  /// Attribute 3: the build of the app.
  public let applicationVersion: String?
  /// Attribute 19: the build that was bought first.
  public let originalApplicationVersion: String?
  /// Attribute 12: the evidence time.
  public let creationDate: Int64
  /// Attribute 21: when the receipt of an app bought in volume expires.
  public let expirationDate: Int64?
  /// Attribute 17, in the order of the receipt.
  public let records: [Record]
  /// All other attributes: 4 and 5, which are about a device, and those that no document names.
  public let otherAttributes: [ReceiptAttribute]
  /// The indices of the records, by original transaction id.
  private let streams: [ExactText: [Int]]

  /// The types of attributes that are read.
  private enum Kind {
    static let receiptType: Int64 = 0
    static let bundleId: Int64 = 2
    static let applicationVersion: Int64 = 3
    static let creationDate: Int64 = 12
    static let record: Int64 = 17
    static let originalVersion: Int64 = 19
    static let expirationDate: Int64 = 21
    static let known: Set = [
      receiptType, bundleId, applicationVersion, creationDate, record, originalVersion,
      expirationDate,
    ]
  }

  /// Reads a proven content.
  ///
  /// - Throws: `PayloadFault` with `receipt_records` for too many records or attributes,
  ///   `receipt_attributes` for another structure, an attribute that occurs twice or a missing one,
  ///   `date` for a date that cannot be read; `PayloadFault.nul` for NUL in an identifier.
  public init(_ content: ArraySlice<UInt8>) throws(PayloadFault) {
    let attributes = try ReceiptAttributes(content, repeating: Kind.record)
    guard attributes.repeated.count <= Self.maximumRecords,
      attributes.count <= Self.maximumAttributes
    else { throw PayloadFault("receipt_records") }
    guard let receiptType = try attributes.text(Kind.receiptType),
      let bundleId = try attributes.text(Kind.bundleId),
      let creationDate = try attributes.date(Kind.creationDate)
    else { throw PayloadFault("receipt_attributes") }
    (self.receiptType, self.bundleId, self.creationDate) = (receiptType, bundleId, creationDate)
    applicationVersion = try attributes.text(Kind.applicationVersion)
    originalApplicationVersion = try attributes.text(Kind.originalVersion)
    expirationDate = try attributes.date(Kind.expirationDate)
    otherAttributes = attributes.all(except: Kind.known)
    var records: [Record] = []
    records.reserveCapacity(attributes.repeated.count)
    var streams: [ExactText: [Int]] = [:]
    for value in attributes.repeated {
      let record = try Record(value)
      streams[ExactText(record.originalTransactionId), default: []].append(records.count)
      records.append(record)
    }
    (self.records, self.streams) = (records, streams)
  }

  /// When a content claims that the receipt was created, milliseconds since 1970; nil if it claims
  /// no usable date. The content need not be proven.
  public static func claimedCreationDate(_ content: ArraySlice<UInt8>) -> Int64? {
    guard let attributes = try? ReceiptAttributes(content, repeating: Kind.record),
      let date = try? attributes.date(Kind.creationDate)
    else { return nil }
    return date
  }

  /// How many in-app records a content has; nil if it is not a set of attributes. The content need
  /// not be proven.
  public static func recordCount(_ content: ArraySlice<UInt8>) -> Int? {
    (try? ReceiptAttributes(content, repeating: Kind.record))?.repeated.count
  }

  /// The environment that the receipt's type names; nil for a type that is not known.
  public var environment: Environment? { Self.environments[receiptType] }

  /// The types of receipts; VPP is Apple's Volume Purchase Program.
  private static let environments: [String: Environment] = [
    "Production": .production, "ProductionVPP": .production,
    "ProductionSandbox": .sandbox, "ProductionVPPSandbox": .sandbox, "Sandbox": .sandbox,
  ]

  /// Every original transaction id of the records, sorted by bytes.
  public var originalTransactionIds: [String] {
    streams.keys.map(\.text).sorted(by: ByteSearch.precedes)
  }

  /// The transactions of one stream, as the fold reads them.
  ///
  /// If one is listed twice, the first record counts, unless only the other is cancelled, as in V1.
  public func transactions(of originalTransactionId: String) -> [Transaction] {
    var found: [Transaction] = []
    var places: [ExactText: Int] = [:]
    for index in streams[ExactText(originalTransactionId)] ?? [] {
      let transaction = Transaction(records[index], signedDate: creationDate)
      guard let known = places[ExactText(transaction.transactionId)] else {
        places[ExactText(transaction.transactionId)] = found.count
        found.append(transaction)
        continue
      }
      if found[known].revocationDate == nil, transaction.revocationDate != nil {
        found[known] = transaction
      }
    }
    return found
  }

  /// An in-app record: one transaction.
  public struct Record: Sendable {
    public let transactionId: String
    public let originalTransactionId: String
    public let purchaseDate: Int64
    /// The values that it has, by their attribute.
    private let values: [Int64: ReceiptValue]
    /// All other attributes, which no document names.
    public let otherAttributes: [ReceiptAttribute]

    /// Bytes of an identifier: longer ones fit no route.
    private static let maximumIdentifier = 128
    private static let known = Set(ReceiptField.all.map(\.attribute))

    /// - Parameter value: the value of attribute 17.
    init(_ value: ArraySlice<UInt8>) throws(PayloadFault) {
      let attributes = try ReceiptAttributes(value)
      guard attributes.count <= maximumAttributes else { throw PayloadFault("receipt_records") }
      guard let transactionId = try attributes.text(1703),
        let originalTransactionId = try attributes.text(1705),
        transactionId.utf8.count <= Self.maximumIdentifier,
        originalTransactionId.utf8.count <= Self.maximumIdentifier,
        let purchaseDate = try attributes.date(1704)
      else { throw PayloadFault("receipt_attributes") }
      (self.transactionId, self.originalTransactionId) = (transactionId, originalTransactionId)
      self.purchaseDate = purchaseDate
      var values: [Int64: ReceiptValue] = [:]
      for field in ReceiptField.all { values[field.attribute] = try attributes.value(of: field) }
      self.values = values
      otherAttributes = attributes.all(except: Self.known)
    }

    /// The value of a field; nil if the record has none.
    public func value(of field: ReceiptField) -> ReceiptValue? { values[field.attribute] }

    public var quantity: Int64? { integer(1701) }
    var originalPurchaseDate: Int64? { integer(1706) }
    public var productId: String? { text(1702) }
    /// Nil for a product that is no auto-renewable subscription, as `webOrderLineItemId`.
    public var expiresDate: Int64? { integer(1708) }
    public var webOrderLineItemId: Int64? { integer(1711) }
    /// When Apple cancelled the transaction.
    public var cancellationDate: Int64? { integer(1712) }
    /// The kind of product, a number that becomes `Transaction.type`.
    var kind: Int64? { integer(1707) }
    /// A free trial.
    var isTrial: Bool { values[1713] == .flag(true) }
    /// Bought at an introductory price.
    var isInIntroOffer: Bool { values[1719] == .flag(true) }
    var promotionalOfferId: String? { text(1721) }

    private func integer(_ attribute: Int64) -> Int64? {
      if case .number(let number) = values[attribute] { number } else { nil }
    }

    private func text(_ attribute: Int64) -> String? {
      if case .text(let text) = values[attribute] { text } else { nil }
    }
  }
}

/// A field of an in-app record. Reading, JSON and the comparison with Apple's own reading follow
/// from this table.
///
/// Source: the archived Receipt Validation Programming Guide, "In-App Purchase Receipt Fields", and
/// for the names developer.apple.com/documentation/appstorereceipts/responsebody.
public struct ReceiptField: Sendable {
  enum Form {
    case text, number, date, flag
    /// A number; 0 for products that have none.
    case item
  }

  let attribute: Int64
  /// As in the answers of verifyReceipt; ours for attribute 1707, which they do not have.
  public let name: String
  let form: Form
  /// Whether a document of Apple's names the attribute. A value of another form says nothing and
  /// spoils nothing if none does.
  let isDocumented: Bool

  private init(_ attribute: Int64, _ name: String, _ form: Form, isDocumented: Bool = true) {
    (self.attribute, self.name, self.form) = (attribute, name, form)
    self.isDocumented = isDocumented
  }

  public static let productKind = ReceiptField(1707, "product_kind", .number, isDocumented: false)

  public static let all = [
    ReceiptField(1701, "quantity", .number),
    ReceiptField(1702, "product_id", .text),
    ReceiptField(1703, "transaction_id", .text),
    ReceiptField(1705, "original_transaction_id", .text),
    ReceiptField(1704, "purchase_date_ms", .date),
    ReceiptField(1706, "original_purchase_date_ms", .date),
    ReceiptField(1708, "expires_date_ms", .date),
    ReceiptField(1712, "cancellation_date_ms", .date),
    ReceiptField(1711, "web_order_line_item_id", .item),
    productKind,
    ReceiptField(1713, "is_trial_period", .flag, isDocumented: false),
    ReceiptField(1719, "is_in_intro_offer_period", .flag),
    ReceiptField(1721, "promotional_offer_id", .text, isDocumented: false),
  ]
}

extension Transaction {
  /// An in-app record.
  ///
  /// - Parameter signedDate: the receipt's creation date, milliseconds since 1970.
  init(_ record: AppReceipt.Record, signedDate: Int64) {
    self.init()
    transactionId = record.transactionId
    originalTransactionId = record.originalTransactionId
    webOrderLineItemId = record.webOrderLineItemId.map { String($0) }
    productId = record.productId
    purchaseDate = record.purchaseDate
    originalPurchaseDate = record.originalPurchaseDate
    expiresDate = record.expiresDate
    type = Self.type(ofKind: record.kind, expiresDate: expiresDate)
    self.signedDate = signedDate
    quantity = record.quantity
    revocationDate = record.cancellationDate
    if record.isTrial { offerDiscountType = "FREE_TRIAL" }
    if let promotion = record.promotionalOfferId {
      (offerType, offerIdentifier) = (2, promotion)
    } else if record.isTrial || record.isInIntroOffer {
      offerType = 1
    }
  }

  /// The type of product that attribute 1707 says. Apple's documents do not name the attribute; its
  /// numbers are those of the receipts that Apple signs, and of libraries that read them.
  ///
  /// Where it says none, an expiry makes an auto-renewable subscription, because non-renewing ones
  /// have none, as in V1. Without one, a number that is not known must not count as bought for
  /// ever (promise 8), so that it gets a name.
  private static func type(ofKind kind: Int64?, expiresDate: Int64?) -> String? {
    switch kind {
    case 0: ProductType.nonConsumable
    case 1: ProductType.consumable
    case 2: ProductType.nonRenewing
    case 3: ProductType.autoRenewable
    // In Newsstand, before 2015.
    case 4: "Free Subscription"
    case let kind:
      if expiresDate == nil { kind.map { "Product Kind \($0)" } } else { ProductType.autoRenewable }
    }
  }
}

/// The value of a field of an in-app record; a date is a number, milliseconds since 1970.
public enum ReceiptValue: Sendable, Equatable {
  case text(String)
  case number(Int64)
  case flag(Bool)
}

/// An attribute of a receipt or of an in-app record.
public struct ReceiptAttribute: Sendable, Equatable {
  public let type: Int64
  public let version: Int64
  /// The content of the OCTET STRING; mostly DER.
  public let value: ArraySlice<UInt8>
}

/// The attributes of one SET, in strict DER except for the order of the set, which Apple does not
/// sort. Values are read when they are asked for: who asks says which kind it must be.
struct ReceiptAttributes {
  /// The values of the type that may occur more than once, in order.
  private(set) var repeated: [ArraySlice<UInt8>] = []
  private var single: [Int64: ReceiptAttribute] = [:]
  /// In the order of the set.
  private var order: [Int64] = []

  /// How many attributes there are besides the repeated ones.
  var count: Int { order.count }

  /// - Parameter repeating: the type that may occur more than once.
  /// - Throws: `PayloadFault("receipt_attributes")` for another structure, or another attribute
  ///   that occurs twice.
  init(_ bytes: ArraySlice<UInt8>, repeating: Int64? = nil) throws(PayloadFault) {
    guard let set = DERReader.only(DERReader.Tag.set, in: bytes) else { throw Self.fault }
    var reader = DERReader(set)
    while !reader.isAtEnd {
      guard let attribute = reader.content(DERReader.Tag.sequence).flatMap(Self.attribute) else {
        throw Self.fault
      }
      if attribute.type == repeating {
        repeated.append(attribute.value)
      } else {
        guard single.updateValue(attribute, forKey: attribute.type) == nil else {
          throw Self.fault
        }
        order.append(attribute.type)
      }
    }
  }

  private static let fault = PayloadFault("receipt_attributes")

  private static func attribute(_ content: ArraySlice<UInt8>) -> ReceiptAttribute? {
    var fields = DERReader(content)
    guard let type = fields.content(DERReader.Tag.integer).flatMap(DERReader.integer),
      let version = fields.content(DERReader.Tag.integer).flatMap(DERReader.integer),
      let value = fields.content(DERReader.Tag.octets), fields.isAtEnd
    else { return nil }
    return ReceiptAttribute(type: type, version: version, value: value)
  }

  /// The attributes of other types than these, in the order of the set.
  func all(except types: Set<Int64>) -> [ReceiptAttribute] {
    order.compactMap { types.contains($0) ? nil : single[$0] }
  }

  /// A UTF8String; nil if it is absent or empty.
  ///
  /// - Throws: `PayloadFault` for a value of another kind, and for NUL.
  func text(_ type: Int64) throws(PayloadFault) -> String? {
    guard let content = try content(type, DERReader.Tag.utf8Text) else { return nil }
    guard let text = String(validating: content, as: UTF8.self) else { throw Self.fault }
    guard !content.contains(0) else { throw .nul }
    return text.isEmpty ? nil : text
  }

  /// An INTEGER; nil if it is absent.
  ///
  /// - Throws: `PayloadFault` for a value of another kind.
  func number(_ type: Int64) throws(PayloadFault) -> Int64? {
    guard let content = try content(type, DERReader.Tag.integer) else { return nil }
    guard let number = DERReader.integer(content) else { throw Self.fault }
    return number
  }

  /// An IA5String with a date of RFC 3339, in milliseconds since 1970; nil if it is absent or
  /// empty.
  ///
  /// - Throws: `PayloadFault` for a value of another kind; `PayloadFault("date")` for a text that
  ///   is no date: an end that was ignored would give access for ever (promise 8).
  func date(_ type: Int64) throws(PayloadFault) -> Int64? {
    guard let content = try content(type, DERReader.Tag.ia5Text) else { return nil }
    if content.isEmpty { return nil }
    guard content.count >= 20, content[content.startIndex + 10] == UInt8(ascii: "T"),
      let text = String(validating: content, as: UTF8.self), let date = Timestamp.parse(text)
    else { throw PayloadFault("date") }
    return date
  }

  /// Nil if it is absent, and if it has another form and no document names it.
  ///
  /// - Throws: as `text`, `number` and `date`.
  func value(of field: ReceiptField) throws(PayloadFault) -> ReceiptValue? {
    do throws(PayloadFault) {
      return switch field.form {
      case .text: try text(field.attribute).map(ReceiptValue.text)
      case .date: try date(field.attribute).map(ReceiptValue.number)
      case .number: try number(field.attribute).map(ReceiptValue.number)
      case .item: try number(field.attribute).flatMap { $0 == 0 ? nil : .number($0) }
      case .flag: try number(field.attribute).map { .flag($0 != 0) }
      }
    } catch {
      if field.isDocumented { throw error }
      return nil
    }
  }

  private func content(_ type: Int64, _ tag: UInt8) throws(PayloadFault) -> ArraySlice<UInt8>? {
    guard let attribute = single[type] else { return nil }
    guard let content = DERReader.only(tag, in: attribute.value) else { throw Self.fault }
    return content
  }
}
