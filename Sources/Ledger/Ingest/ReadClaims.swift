import AppStore
import Platform
import SignedData
public import Store
import StrictJSON

/// Reads what a notification says of itself, and compares it with its row in quarantine.
extension QuarantineClaims {
  /// Reads the payload of a V2 notification; nil for one that is not JSON.
  ///
  /// - Parameter reason: why it is not admitted.
  init(v2 root: JSONElement?, _ reason: String) {
    // A former build kept what has content of another name as payload_content, and read none of it.
    let content =
      ["data", "appData", "summary", "externalPurchaseToken"].compactMap { root?[$0] }.first
      ?? (reason == "payload_content" ? nil : root.flatMap(NotificationPayload.unknownContent))
    self.init(
      notificationUUID: root?["notificationUUID"]?.string.flatMap { NotificationUUID($0) },
      environment: Self.text(content?["environment"]).map(Environment.init(rawValue:)),
      bundleId: Self.text(content?["bundleId"]),
      notificationType: Self.text(root?["notificationType"]),
      originalTransactionId: QuarantinedStream.v2(root),
      signedDate: root?["signedDate"]?.integer)
  }

  /// Reads a V1 body, which has no date of its own.
  init(v1 root: JSONElement, _ body: V1Body) {
    self.init(
      notificationUUID: body.uuid,
      environment: Self.text(root["environment"]).map {
        V1Notification.environments[$0] ?? Environment(rawValue: $0)
      },
      bundleId: Self.text(root["bid"]), notificationType: Self.text(root["notification_type"]),
      originalTransactionId: QuarantinedStream.v1(root), signedDate: nil)
  }

  /// Reads a receipt, which may be about many customers; nil for one that cannot be read.
  init(receipt: AppReceipt?) {
    self.init(
      environment: receipt?.environment, bundleId: receipt?.bundleId,
      notificationType: DecodedNotification.receiptType,
      originalTransactionId: QuarantinedStream.receipt(receipt), signedDate: receipt?.creationDate)
  }

  /// Reads a decoded notification, as it is for one whose UUID was journaled with other content.
  private init(_ notification: DecodedNotification) {
    self.init(
      notificationUUID: notification.notificationUUID, environment: notification.environment,
      bundleId: notification.bundleId, notificationType: notification.notificationType,
      originalTransactionId: notification.originalTransactionId,
      signedDate: notification.signedDate)
  }

  /// Reads the body of a row; nil if it is not a body of the row's source.
  private init?(_ item: StoredQuarantine) {
    if item.source.form == .v1 {
      guard let root = try? JSONDocument(parsing: item.body).root, root.kind == .object else {
        return nil
      }
      self.init(v1: root, V1Body(root))
    } else if item.source.form == .receipt {
      guard let message = try? SignedMessage(parsing: item.body) else { return nil }
      self.init(receipt: try? AppReceipt(message.content))
    } else if item.reason == "conflict" {
      let filed = (item.bundleId ?? "", item.environment ?? .production)
      guard
        let decoded = try? JournaledNotification.decode(
          signedPayload: item.body[...], filed: filed)
      else { return nil }
      self.init(decoded)
    } else {
      guard let jws = try? CompactJWS(parsing: item.body[...]) else { return nil }
      self.init(v2: try? JSONDocument(parsing: jws.payload).root, item.reason)
    }
  }

  /// A text without NUL, which SQL functions and tools may cut a text at.
  private static func text(_ element: JSONElement?) -> String? {
    element?.string.flatMap { $0.utf8.contains(0) ? nil : $0 }
  }

  /// The names of the columns of a row that differ from its body.
  ///
  /// - Parameter isNamed: whether the row's original transaction id was read from the body already.
  public static func differences(
    from item: StoredQuarantine, originalTransactionId: String?, isNamed: Bool
  ) -> [String] {
    guard let read = Self(item) else { return ["source"] }
    let isV1 = item.source.form == .v1
    let columns: [(String, Bool)] = [
      ("source", [.v2, .v1, .receipt].contains(item.source)),
      (
        "notification_uuid",
        ByteSearch.areEqual(item.notificationUUID, read.notificationUUID?.description)
      ),
      ("environment", item.environment == read.environment),
      // The secret named the app of a V1 body that does not.
      (
        "bundle_id",
        (isV1 || item.reason == "conflict") && read.bundleId == nil
          || ByteSearch.areEqual(item.bundleId, read.bundleId)
      ),
      (
        "notification_type", ByteSearch.areEqual(item.notificationType, read.notificationType)
      ),
      ("signed_date_ms", isV1 && item.reason == "conflict" || item.signedDate == read.signedDate),
      (
        "original_transaction_id",
        !isNamed || ByteSearch.areEqual(originalTransactionId, read.originalTransactionId)
          || isV1
            && ByteSearch.areEqual(
              originalTransactionId, QuarantinedStream.former(v1: item.body))
      ),
    ]
    return columns.filter { !$0.1 }.map(\.0)
  }
}

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

  /// Reads a V1 body: the id at the top, else what the body is about, else of the first
  /// transaction.
  static func v1(
    _ root: JSONElement,
    _ stream: KeyPath<V1Notification, String?> = \.originalTransactionId
  ) -> String? {
    if let id = identifier(root["original_transaction_id"]) { return id }
    if let known = (try? V1Notification(root))?[keyPath: stream],
      (1...maximumIdentifier).contains(known.utf8.count)
    {
      return known
    }
    let entries = root["unified_receipt"]?["latest_receipt_info"]?.elements ?? []
    return entries.lazy.compactMap { identifier($0["original_transaction_id"]) }.first
  }

  /// What a former build read of a V1 body.
  static func former(v1 body: [UInt8]) -> String? {
    (try? JSONDocument(parsing: body)).flatMap { v1($0.root, \.formerOriginalTransactionId) }
  }

  /// Reads a receipt: the id, if it names one alone.
  static func receipt(_ receipt: AppReceipt?) -> String? {
    let ids = receipt?.originalTransactionIds ?? []
    return ids.count == 1 ? ids[0] : nil
  }

  /// Reads a body from quarantine.
  static func of(_ item: StoredQuarantine) -> String? {
    if item.source.form == .receipt {
      let message = try? SignedMessage(parsing: item.body)
      return receipt(message.flatMap { try? AppReceipt($0.content) })
    }
    guard item.source.form != .v1 else {
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
