public import AppStore
public import StrictJSON

/// What our reading of a receipt and the answer of verifyReceipt say differently.
public struct ReceiptComparison: Sendable {
  /// A field with two values.
  public struct Difference: Sendable, Equatable {
    /// Nil for a field of the receipt itself.
    public let transactionId: String?
    /// Apple's name of the field.
    public let field: String
    /// Nil where there is none.
    public let ours: String?
    public let apples: String?
  }

  public private(set) var differences: [Difference] = []
  /// The transactions that the answer has beside the receipt, in Apple's order: what was bought
  /// since the receipt was created.
  public private(set) var later: [String] = []
  /// The transactions of the receipt that Apple has cancelled since.
  public private(set) var cancelledLater: [String] = []
  /// How many records were compared.
  public let records: Int

  /// - Parameter answer: that of verifyReceipt.
  public init(_ receipt: AppReceipt, _ answer: JSONElement) {
    records = receipt.records.count
    let decoded = answer["receipt"]
    compare(nil, Self.fields(receipt), decoded)
    var others: [String: [JSONElement]] = [:]
    for entry in decoded?["in_app"]?.elements ?? [] {
      others[Self.value(entry, "transaction_id") ?? "", default: []].append(entry)
    }
    for record in receipt.records {
      let id = record.transactionId
      let other = others[id]?.isEmpty == false ? others[id]?.removeFirst() : nil
      compare(id, Self.fields(record), other)
    }
    for (id, entries) in others.sorted(by: { $0.key < $1.key }) {
      for _ in entries {
        differences.append(
          Difference(transactionId: id, field: "transaction_id", ours: nil, apples: id))
      }
    }
    compareLater(receipt, answer["latest_receipt_info"]?.elements ?? [])
  }

  private typealias Fields = [(name: String, value: String?)]

  private static func fields(_ receipt: AppReceipt) -> Fields {
    [
      ("receipt_type", receipt.receiptType), ("bundle_id", receipt.bundleId),
      ("application_version", receipt.applicationVersion),
      ("original_application_version", receipt.originalApplicationVersion),
      ("receipt_creation_date_ms", String(receipt.creationDate)),
      ("expiration_date_ms", receipt.expirationDate.map { String($0) }),
    ]
  }

  private static func fields(_ record: AppReceipt.Record) -> Fields {
    ReceiptField.all.filter { $0.name != ReceiptField.productKind.name }.map { field in
      let value: String? =
        switch record.value(of: field) {
        case .text(let text): text
        case .number(let number): String(number)
        case .flag(let flag): flag ? "true" : "false"
        case nil: nil
        }
      return (field.name, value)
    }
  }

  private mutating func compare(_ id: String?, _ fields: Fields, _ other: JSONElement?) {
    guard let other else {
      return differences.append(
        Difference(
          transactionId: id, field: id == nil ? "receipt" : "transaction_id", ours: id ?? "present",
          apples: nil))
    }
    for (name, value) in fields {
      let apples = Self.value(other, name)
      // Apple leaves the flags out where a product has no such offers.
      if name.hasPrefix("is_"), apples == nil, value == "false" { continue }
      if value != apples {
        differences.append(
          Difference(transactionId: id, field: name, ours: value, apples: apples))
      }
    }
  }

  private mutating func compareLater(_ receipt: AppReceipt, _ latest: [JSONElement]) {
    var known: [String: Bool] = [:]
    for record in receipt.records {
      let isCancelled = record.cancellationDate != nil
      known[record.transactionId] = known[record.transactionId] ?? false || isCancelled
    }
    for entry in latest {
      guard let id = Self.value(entry, "transaction_id") else { continue }
      guard let isCancelled = known[id] else {
        later.append(id)
        continue
      }
      if !isCancelled, Self.value(entry, "cancellation_date_ms") != nil {
        cancelledLater.append(id)
      }
    }
  }

  /// A value as text, which Apple writes as text, number or boolean; nil if it is absent or empty.
  private static func value(_ entry: JSONElement, _ name: String) -> String? {
    guard let member = entry[name] else { return nil }
    let text = member.string ?? member.number ?? member.boolean.map { $0 ? "true" : "false" }
    return text?.isEmpty == true ? nil : text
  }
}
