import SignedData
import StrictJSON

/// What a signed notification says, whoever signed it and when: its payload without signatures,
/// certificates and signing dates. Apple may sign a notification again for a retry, and for each
/// page of its history (promise 4).
enum SignedContent {
  /// Members of a payload that are not compared: when a notification, transaction or renewal info
  /// was signed, and an app transaction (developer.apple.com/documentation/appstoreserverapi/
  /// jwstransactiondecodedpayload/signeddate, storekit/apptransaction); and the UUID, by which the
  /// other notification was found, in upper or lower case.
  private static let aside: Set = ["signedDate", "receiptCreationDate", "notificationUUID"]
  /// A notification nests JWS in its payload, and none deeper.
  private static let levels = 2

  /// Whether two JWS say the same.
  static func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    // ECDSA signatures are not unique: mostly the same text was signed again.
    if signingInput(one) == signingInput(other) { return true }
    guard let one = payload(one[...], levels), let other = payload(other[...], levels) else {
      return false
    }
    return one.bytes == other.bytes
  }

  private static func signingInput(_ body: [UInt8]) -> ArraySlice<UInt8> {
    body[..<(body.lastIndex(of: UInt8(ascii: ".")) ?? body.count)]
  }

  /// The payload of a JWS in canonical form; nil for a text that is not a JWS with a JSON payload.
  private static func payload(_ text: ArraySlice<UInt8>, _ levels: Int) -> JSONValue? {
    guard levels > 0, let jws = try? CompactJWS(parsing: text),
      let root = try? JSONDocument(parsing: jws.payload).root
    else { return nil }
    return content(root.value.without(aside).sorted(), levels - 1)
  }

  /// Replaces each JWS in a value by its payload.
  private static func content(_ value: JSONValue, _ levels: Int) -> JSONValue {
    switch value {
    case .array(let values): .array(values.map { content($0, levels) })
    case .object(let members): .object(members.map { ($0, content($1, levels)) })
    case .string(let text):
      payload(Array(text.utf8)[...], levels).map { .object([("jws", $0)]) } ?? value
    default: value
    }
  }
}
