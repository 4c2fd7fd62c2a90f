import AppStore
import JournalStore
import SignedData
import StrictJSON

/// Finds the original transaction id of a quarantined notification, so that operators can search
/// quarantine by customer. Nothing else depends on it: admission reads the body again.
enum QuarantinedStream {
  /// Longest id in bytes; Apple's have 16 digits.
  private static let maximumIdentifier = 128

  /// Reads the payload of a V2 notification. Nested JWS are not proven again: the outer signature
  /// covers them.
  static func v2(_ root: JSONElement?) -> String? {
    for name in ["signedTransactionInfo", "signedRenewalInfo"] {
      guard let bytes = root?["data"]?[name]?.plainBytes,
        let jws = try? CompactJWS(parsing: bytes),
        let document = try? JSONDocument(parsing: jws.payload),
        let id = identifier(document.root["originalTransactionId"])
      else { continue }
      return id
    }
    return nil
  }

  /// Reads a V1 body: the id at the top, else that of the newest transaction, else of the first.
  static func v1(_ root: JSONElement) -> String? {
    if let id = identifier(root["original_transaction_id"]) { return id }
    if let known = try? V1Notification(root).originalTransactionId,
      (1...maximumIdentifier).contains(known.utf8.count)
    {
      return known
    }
    let entries = root["unified_receipt"]?["latest_receipt_info"]?.elements ?? []
    return entries.lazy.compactMap { identifier($0["original_transaction_id"]) }.first
  }

  /// Reads a body from quarantine.
  static func of(_ item: StoredQuarantine) -> String? {
    guard item.source != .v1 else {
      return (try? JSONDocument(parsing: item.body)).flatMap { v1($0.root) }
    }
    guard let jws = try? CompactJWS(parsing: item.body[...]) else { return nil }
    return (try? JSONDocument(parsing: jws.payload)).flatMap { v2($0.root) }
  }

  private static func identifier(_ element: JSONElement?) -> String? {
    guard let text = element?.string ?? element?.number,
      (1...maximumIdentifier).contains(text.utf8.count), !text.utf8.contains(0)
    else { return nil }
    return text
  }
}
