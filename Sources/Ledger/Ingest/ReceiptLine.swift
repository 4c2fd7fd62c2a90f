public import AppStore
import Platform
import Store
public import StrictJSON

/// A line of an export with events of one receipt that follow each other, so that the receipt is
/// there once:
///
///     {"seq":7,"received_at_ms":…,"hash":"…","body":{"receipt":"…","originalTransactionId":"1000",
///      "bundleId":"com.example.app","environment":"Sandbox"},
///      "more":[{"seq":8,"hash":"…","originalTransactionId":"2000"}]}
///
/// `receipt` is base64 of the receipt.
public struct ReceiptLine {
  let receipt: [UInt8]
  let environment: Environment
  /// The line itself, then the members of `more`: each has the seq and the hash of an event.
  let events: [JSONElement]
  /// Of the events, in the same order.
  let originalTransactionIds: [String]
  /// Whether an export says that it was held.
  let isHeld: Bool

  private static let idMember = "originalTransactionId"
  /// The most bytes of a line besides the receipt.
  static let maximumOtherBytes = 256 << 10

  /// Reads a line; nil if it is something else.
  init?(_ root: JSONElement) {
    guard let body = root["body"], let text = body[SubmittedEvidence.receiptMember]?.string,
      let receipt = Base64.decode(ArraySlice(text.utf8)),
      let environment = body["environment"]?.string
    else { return nil }
    let more = root["more"]?.elements ?? []
    let ids = ([body] + more).compactMap { $0[Self.idMember]?.string }
    guard ids.count == 1 + more.count else { return nil }
    self.receipt = receipt
    self.environment = Environment(rawValue: environment)
    events = [root] + more
    originalTransactionIds = ids
    isHeld = root["held"]?.boolean ?? false
  }

  /// The members `body` and `more` of a line, as it is written.
  ///
  /// - Parameter events: of one receipt, in order of seq; at least one.
  static func members(_ events: [StoredEvent]) -> [(String, JSONValue)] {
    guard let first = events.first else { return [] }
    let more = events.dropFirst().map { event in
      JSONValue.object([
        ("seq", .integer(event.seq)), ("hash", .string(Hexadecimal.encode(event.hash))),
        (idMember, .optional(event.originalTransactionId)),
      ])
    }
    let body = body(
      first.body, first.originalTransactionId ?? "", first.bundleId, first.environment)
    return [("body", body)] + (more.isEmpty ? [] : [("more", .array(more))])
  }

  /// The member `body` of a line.
  public static func body(
    _ receipt: [UInt8], _ originalTransactionId: String, _ bundleId: String,
    _ environment: Environment
  ) -> JSONValue {
    .object([
      (
        SubmittedEvidence.receiptMember,
        .string(String(decoding: Base64.encode(receipt), as: UTF8.self))
      ),
      (idMember, .string(originalTransactionId)), ("bundleId", .string(bundleId)),
      ("environment", .string(environment.rawValue)),
    ])
  }
}
