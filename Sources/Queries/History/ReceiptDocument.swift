public import AppStore
import Platform
import SignedData
public import StrictJSON

/// A receipt as JSON, with the names that Apple's `verifyReceipt` gives to its fields
/// (developer.apple.com/documentation/appstorereceipts/responsebody), and those of `ReceiptField`.
/// Times are milliseconds since 1970 UTC.
public enum ReceiptDocument {
  /// - Parameter only: the original transaction id whose records are listed; nil for all.
  public static func json(
    _ receipt: AppReceipt, only originalTransactionId: String? = nil
  ) -> JSONValue {
    let records = receipt.records.filter {
      originalTransactionId == nil || $0.originalTransactionId == originalTransactionId
    }
    return .object([
      ("receipt_type", .string(receipt.receiptType)),
      ("environment", .optional(receipt.environment?.rawValue)),
      ("bundle_id", .string(receipt.bundleId)),
      ("application_version", .optional(receipt.applicationVersion)),
      ("original_application_version", .optional(receipt.originalApplicationVersion)),
      ("receipt_creation_date_ms", .integer(receipt.creationDate)),
      ("expiration_date_ms", .optional(receipt.expirationDate)),
      ("in_app_count", .integer(Int64(receipt.records.count))),
      ("in_app", .array(records.map(json))),
      ("other_attributes", other(receipt.otherAttributes)),
    ])
  }

  /// Reads a receipt that need not be proven; nil for bytes that are none.
  public static func receipt(der: [UInt8]) -> AppReceipt? {
    guard let message = try? SignedMessage(parsing: der) else { return nil }
    return try? AppReceipt(message.content)
  }

  private static func json(_ record: AppReceipt.Record) -> JSONValue {
    .object(
      ReceiptField.all.map { ($0.name, json(record.value(of: $0))) }
        + [("other_attributes", other(record.otherAttributes))])
  }

  private static func json(_ value: ReceiptValue?) -> JSONValue {
    switch value {
    case .text(let text): .string(text)
    case .number(let number): .integer(number)
    case .flag(let flag): .boolean(flag)
    case nil: .null
    }
  }

  /// The bytes that are shown of a longer value.
  private static let shownBytes = 64

  private static func other(_ attributes: [ReceiptAttribute]) -> JSONValue {
    .array(
      attributes.map { attribute in
        let shown = Hexadecimal.encode(Array(attribute.value.prefix(shownBytes)))
        let isLong = attribute.value.count > shownBytes
        return .object([
          ("type", .integer(attribute.type)), ("version", .integer(attribute.version)),
          ("value", .string(isLong ? "\(shown)… (\(attribute.value.count) bytes)" : shown)),
        ])
      })
  }
}
