import AppStore
import Platform
import Store
public import StrictJSON

/// The receipt that a version 1 notification carries: what is said there by a shared secret alone,
/// the receipt proves for each transaction that it lists too.
public struct V1Receipt: Sendable {
  /// What the receipt says of a transaction that the notification lists.
  public enum Word: String, Sendable, CaseIterable {
    /// The same: product, original transaction, purchase and end.
    case proven
    /// Something else.
    case differs
    /// Nothing.
    case absent
  }

  /// Why the receipt is not proven, or of another app or environment; nil if it may be compared.
  public let reason: String?
  /// Those of the notification's own stream; empty if the receipt may not be compared.
  public let transactions: [(id: String, word: Word)]

  /// Members that hold a receipt, the newest form first.
  private static let members = ["latest_receipt", "latest_expired_receipt"]

  /// Proves the receipt in an authentic body, and compares it with the body.
  ///
  /// - Parameters:
  ///   - originalTransactionId: the stream that the body was filed under.
  ///   - now: milliseconds since 1970, for a receipt that claims no date.
  /// - Returns: nil if the body carries no PKCS#7: receipts of before iOS 7 are none.
  public init?(
    in body: [UInt8], of originalTransactionId: String?, _ receipts: ReceiptProof, at now: Int64
  ) {
    guard let root = try? JSONDocument(parsing: body).root,
      let notification = try? V1Notification(root, of: originalTransactionId),
      let der = Self.receipt(in: root)
    else { return nil }
    do throws(Refusal) {
      let content = try receipts.body(of: try receipts.prove(der, at: now)).content
      try Self.require(content, of: notification.bundleId, in: notification.environment)
      reason = nil
      transactions = notification.transactions.map {
        ($0.transactionId, Self.word(of: content, about: $0))
      }
    } catch {
      // Bytes of another form prove nothing and contradict nothing.
      if case .malformed = error { return nil }
      (reason, transactions) = (error.code, [])
    }
  }

  /// Refuses a body with a receipt that is proven, and of another app or environment: it is no
  /// notification of this app, whoever knew the secret. One that is not proven says nothing.
  ///
  /// - Parameters:
  ///   - bundleId: the app that the body is for.
  ///   - now: milliseconds since 1970, for a receipt that claims no date.
  /// - Throws: `Refusal.notAdmitted("receipt_of_another_app")`.
  static func requireOwn(
    in root: JSONElement, of bundleId: String, in environment: Environment,
    _ receipts: ReceiptProof, at now: Int64
  ) throws(Refusal) {
    guard let der = receipt(in: root), let message = try? receipts.prove(der, at: now),
      let body = try? receipts.body(of: message)
    else { return }
    try require(body.content, of: bundleId, in: environment)
  }

  /// - Parameter bundleId: nil if the body names no app.
  private static func require(
    _ receipt: AppReceipt, of bundleId: String?, in environment: Environment
  ) throws(Refusal) {
    guard receipt.environment == environment,
      ByteSearch.areEqual(receipt.bundleId, bundleId ?? receipt.bundleId)
    else { throw .notAdmitted("receipt_of_another_app") }
  }

  /// In DER; nil if the body carries none in base64.
  static func receipt(in root: JSONElement) -> [UInt8]? {
    let holders = [root["unified_receipt"], root].compactMap { $0 }
    for holder in holders {
      for member in members {
        guard let text = holder[member]?.string, !text.isEmpty else { continue }
        return Base64.decode(ArraySlice(text.utf8))
      }
    }
    return nil
  }

  private static func word(of receipt: AppReceipt, about transaction: Transaction) -> Word {
    let records = receipt.records.filter {
      ByteSearch.areEqual($0.transactionId, transaction.transactionId)
    }
    guard !records.isEmpty else { return .absent }
    let agrees = records.contains { record in
      ByteSearch.areEqual(record.originalTransactionId, transaction.originalTransactionId)
        && ByteSearch.areEqual(record.productId, transaction.productId)
        && isSame(record.purchaseDate, transaction.purchaseDate)
        && isSame(record.expiresDate, transaction.expiresDate)
    }
    return agrees ? .proven : .differs
  }

  /// A receipt has whole seconds.
  private static func isSame(_ one: Int64?, _ other: Int64?) -> Bool {
    one.map { $0 / 1000 } == other.map { $0 / 1000 }
  }

  /// What is wrong, as sentences for an operator.
  public var findings: [String] {
    if let reason { return ["the receipt in it is not proven: \(reason)"] }
    let differing = transactions.count { $0.word == .differs }
    return differing == 0
      ? [] : ["\(differing) of its transactions differ from the receipt in it"]
  }

  public var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<V1Receipt>([
    JSONMember(
      "proven", .boolean("Whether Apple signed the receipt in a version 1 notification.")
    ) { $0.reason == nil },
    JSONMember("reason", .text("Why it is not proven.")) { $0.reason },
    JSONMember("transactions", listOf: transaction) { $0.transactions },
  ])

  private static let transaction = JSONObject<(id: String, word: Word)>([
    JSONMember("transaction_id", .text()) { $0.id },
    JSONMember(
      "receipt",
      .oneOf(
        Word.allCases.map(\.rawValue),
        "What the receipt says of it: the same, another product or other dates, or nothing.")
    ) { $0.word.rawValue },
  ])
}
