import AppStore
public import Platform
import SignedData
public import Store
public import StrictJSON

/// A notification decoded: Apple's members and values as they were written, with each nested JWS
/// replaced by its payload.
enum DecodedPayload {
  /// Members of `data` and `appData` that hold a JWS.
  private static let nested: Set<String> = [
    "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo",
  ]
  /// Members of a V1 body that hold a whole receipt in base64.
  private static let receipts: Set<String> = ["latest_receipt", "latest_expired_receipt"]
  /// Characters that are shown of a longer receipt.
  private static let receiptLength = 32

  /// The payload of an event; null if its body cannot be recovered.
  static func json(_ journaled: JournaledPayload) -> JSONValue {
    if case .json(let body, _) = journaled.content { return v1(body) }
    if case .receipt(let receipt, let id) = journaled.content {
      return ReceiptDocument.json(receipt.content, only: id)
    }
    if case .statement(let statement) = journaled.content { return json(statement) }
    return journaled.exactPayload.map(v2) ?? .null
  }

  /// What the owner said: its members but for the customer's mac, which says nothing to a reader.
  private static func json(_ statement: OwnerStatement) -> JSONValue {
    guard let root = try? JSONDocument(parsing: statement.body).root else { return .null }
    return .object(root.members.compactMap { $0 == "mac" ? nil : ($0, $1.value) })
  }

  /// The payload of a quarantined body; null if it cannot be parsed.
  static func json(_ item: StoredQuarantine) -> JSONValue {
    if item.source.form == .v1 { return v1(item.body) }
    if item.source.form == .receipt {
      return ReceiptDocument.receipt(der: item.body).map { ReceiptDocument.json($0) } ?? .null
    }
    return (try? CompactJWS(parsing: item.body[...])).map { v2($0.payload) } ?? .null
  }

  private static func v2(_ payload: [UInt8]) -> JSONValue {
    guard let root = try? JSONDocument(parsing: payload).root else { return .null }
    return replacing(root) { name, value in
      guard value.kind == .object else { return nil }
      return replacing(value) { name, value in nested.contains(name) ? nestedPayload(value) : nil }
    }
  }

  /// The payload of a JWS; nil if the value is not a JWS with a JSON payload.
  private static func nestedPayload(_ value: JSONElement) -> JSONValue? {
    guard let bytes = value.plainBytes, let jws = try? CompactJWS(parsing: bytes),
      let document = try? JSONDocument(parsing: jws.payload)
    else { return nil }
    return document.root.value
  }

  private static func v1(_ body: [UInt8]) -> JSONValue {
    guard let root = try? JSONDocument(parsing: body).root else { return .null }
    return replacing(root) { name, value in
      if receipts.contains(name) { return abbreviated(value) }
      guard name == "unified_receipt" else { return nil }
      return replacing(value) { name, value in receipts.contains(name) ? abbreviated(value) : nil }
    }
  }

  /// The beginning of a long text and its length; nil if it is short.
  private static func abbreviated(_ value: JSONElement) -> JSONValue? {
    guard let text = value.string, text.utf8.count > receiptLength else { return nil }
    return .string("\(text.prefix(receiptLength))… (\(text.utf8.count) bytes)")
  }

  /// An object with some of its members replaced; any other value unchanged.
  private static func replacing(
    _ object: JSONElement, _ replacement: (String, JSONElement) -> JSONValue?
  ) -> JSONValue {
    guard object.kind == .object else { return object.value }
    return .object(
      object.members.map { name, value in (name, replacement(name, value) ?? value.value) })
  }
}

extension LedgerReader {
  /// An event's notification, decoded: Apple's members and values, each nested JWS replaced by its
  /// payload. What the owner said as it was said; a mapping beside the one that it replaced
  /// (`before`, `durations_before`). Null for what cannot be read.
  ///
  /// - Throws: what SQLite reports.
  public func payload(of event: StoredEvent) throws(LedgerError) -> JSONValue {
    let payload = DecodedPayload.json(JournaledPayload(event))
    guard event.source == .catalog, case .object(let members) = payload else { return payload }
    return .object(members + ProductMapping.members(before: try mapping(before: event)))
  }
}
