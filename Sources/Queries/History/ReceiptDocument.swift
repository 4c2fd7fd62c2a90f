public import AppStore
import Platform
import SignedData
public import StrictJSON

/// A receipt as JSON, with the names that Apple's `verifyReceipt` gives to its fields
/// (developer.apple.com/documentation/appstorereceipts/responsebody). `product_kind`, attribute
/// 1707, has no name there. Times are milliseconds since 1970 UTC.
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
    .object([
      ("quantity", .optional(record.quantity)), ("product_id", .optional(record.productId)),
      ("transaction_id", .string(record.transactionId)),
      ("original_transaction_id", .string(record.originalTransactionId)),
      ("purchase_date_ms", .integer(record.purchaseDate)),
      ("original_purchase_date_ms", .optional(record.originalPurchaseDate)),
      ("expires_date_ms", .optional(record.expiresDate)),
      ("cancellation_date_ms", .optional(record.cancellationDate)),
      ("web_order_line_item_id", .optional(record.webOrderLineItemId)),
      ("product_kind", .optional(record.kind)),
      ("is_trial_period", record.isTrial.map { .boolean($0) } ?? .null),
      ("is_in_intro_offer_period", record.isInIntroOffer.map { .boolean($0) } ?? .null),
      ("promotional_offer_id", .optional(record.promotionalOfferId)),
      ("other_attributes", other(record.otherAttributes)),
    ])
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
