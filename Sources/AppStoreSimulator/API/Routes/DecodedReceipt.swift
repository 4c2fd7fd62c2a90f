import Platform
import StrictJSON

/// The content of a receipt, as verifyReceipt shows it. It shares no code with the program's own
/// reader, so that the two can be compared.
struct DecodedReceipt {
  private(set) var members: [(String, JSONValue)] = []
  /// Milliseconds since 1970.
  private(set) var created: Int64 = 0
  private(set) var isProduction = false
  /// One of the transactions; nil if it lists none.
  private(set) var anyTransactionId: String?

  /// How a value is shown.
  private enum Form { case text, number, flag, date }

  private static let receiptNames: [Int64: (name: String, form: Form)] = [
    0: ("receipt_type", .text), 2: ("bundle_id", .text), 3: ("application_version", .text),
    12: ("receipt_creation_date", .date), 19: ("original_application_version", .text),
    21: ("expiration_date", .date),
  ]
  private static let recordNames: [Int64: (name: String, form: Form)] = [
    1701: ("quantity", .number), 1702: ("product_id", .text), 1703: ("transaction_id", .text),
    1704: ("purchase_date", .date), 1705: ("original_transaction_id", .text),
    1706: ("original_purchase_date", .date), 1708: ("expires_date", .date),
    1711: ("web_order_line_item_id", .number), 1712: ("cancellation_date", .date),
    1713: ("is_trial_period", .flag), 1719: ("is_in_intro_offer_period", .flag),
    1721: ("promotional_offer_id", .text),
  ]
  private static let record: Int64 = 17

  /// Returns nil if the content is no set of attributes.
  init?(_ content: ArraySlice<UInt8>) {
    var records: [JSONValue] = []
    guard let attributes = Self.attributes(content) else { return nil }
    for (type, value) in attributes {
      if type == Self.record {
        guard let inner = Self.attributes(value) else { return nil }
        let fields = inner.flatMap { Self.fields($0.type, $0.value, Self.recordNames) }
        anyTransactionId = JSONValue.object(fields).text("transaction_id") ?? anyTransactionId
        records.append(.object(fields))
      } else {
        members += Self.fields(type, value, Self.receiptNames)
      }
    }
    members.append(("in_app", .array(records)))
    let whole = JSONValue.object(members)
    created = whole.text("receipt_creation_date_ms").flatMap { Int64($0) } ?? 0
    isProduction = whole.text("receipt_type")?.hasPrefix("ProductionSandbox") == false
  }

  private static func attributes(
    _ content: ArraySlice<UInt8>
  ) -> [(type: Int64, value: ArraySlice<UInt8>)]? {
    guard let set = DERReader.only(DERReader.Tag.set, in: content) else { return nil }
    var reader = DERReader(set)
    var attributes: [(type: Int64, value: ArraySlice<UInt8>)] = []
    while !reader.isAtEnd {
      guard let sequence = reader.content(DERReader.Tag.sequence) else { return nil }
      var parts = DERReader(sequence)
      guard let type = parts.content(DERReader.Tag.integer).flatMap(DERReader.integer),
        parts.content(DERReader.Tag.integer) != nil,
        let value = parts.content(DERReader.Tag.octets)
      else { return nil }
      attributes.append((type, value))
    }
    return attributes
  }

  private static func fields(
    _ type: Int64, _ value: ArraySlice<UInt8>, _ names: [Int64: (name: String, form: Form)]
  ) -> [(String, JSONValue)] {
    var reader = DERReader(value)
    guard let (name, form) = names[type], let content = reader.next()?.content else { return [] }
    let text = String(decoding: content, as: UTF8.self)
    let number = form == .text || form == .date ? nil : DERReader.integer(content)
    switch form {
    case .text: return [(name, .string(text))]
    case .number: return number == 0 ? [] : [(name, .string(String(number ?? 0)))]
    case .flag: return [(name, .string(number == 0 ? "false" : "true"))]
    // Empty where there is none.
    case .date: return ReceiptFields.date(name, text.isEmpty ? nil : Timestamp.parse(text))
    }
  }
}
