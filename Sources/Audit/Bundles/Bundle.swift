import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON

/// An evidence bundle: one customer's signed notifications with everything needed to check them
/// without our data. NDJSON, one object a line, in this order:
///
///     bundle   the customer, when the bundle was made, and how to check it
///     before   hash[seq], from which the chain is computed                     ┐
///     event    one of the customer's: its seq, its exact body, its hash        │ once for each
///     link     another customer's event without its body: what its hash covers │ anchor needed
///     anchor   hash[seq] of the event or link above, signed                    ┘
///     answer   the entitlement that the fold makes of these events, as of a time
///     seal     SHA-256 over all bytes above it, signed by the key of the anchors
///
///     signature of the seal = Ed25519( "subledger.bundle.v1" 0x00 ‖ sha256 )
///
/// A bundle proves what is in it. Only the journal can show that no event of the customer was left
/// out, because a link does not name its customer.
enum Bundle {
  static let format: Int64 = 1
  private static let label = Array("subledger.bundle.v1".utf8) + [0]

  /// The message that the seal signs, for the SHA-256 of the file's bytes before the seal.
  static func sealed(_ sha256: [UInt8]) -> [UInt8] { label + sha256 }

  /// The instructions in the first line. They are a part of the format.
  static let text = [
    "All that the App Store signed about one customer and this service received, as received.",
    "subledger verify --bundle FILE --anchor-key KEY.pem checks all of it, without any data.",
    "KEY.pem is the service's public key (subledger anchor --public-key); have it from a source "
      + "that you trust, not from this file.",
    "By hand: an event's body is a compact JWS (RFC 7515) that Apple signed. Its header's x5c is "
      + "the certificate chain; its third certificate is Apple Root CA - G3, with the SHA-256 "
      + "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179.",
    "The body of an event of source receipt is base64 of PKCS#7 (RFC 5652) in DER, which is "
      + "hashed. Its root is Apple Inc. Root CA, with the SHA-256 "
      + "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024.",
    "An event of source v1 has no signature of Apple's: its place in the chain is all there is. "
      + "Events of the sources account and grant are what the ledger's owner said, not Apple.",
    "hash[seq] = SHA-256(\"subledger.journal.v1\" 0x00 + hash[seq-1] + be64(seq) "
      + "+ be64(received_at_ms) + lp(notification_uuid) + lp(source) + SHA-256(body)); "
      + "lp(x) = be32(bytes of x) + x. The last hash before an anchor is the anchor's.",
    "Times are milliseconds since 1970 UTC.",
  ]

  // MARK: Lines

  static func head(_ key: StreamKey, journalId: String, madeAt: Int64) -> JSONValue {
    .object([
      ("object", .string("bundle")), ("format", .integer(format)),
      ("journal_id", .string(journalId)), ("environment", .string(key.environment.rawValue)),
      ("bundle_id", .string(key.bundleId)),
      ("original_transaction_id", .string(key.originalTransactionId)),
      ("made_at", .integer(madeAt)), ("how_to_check", .array(text.map(JSONValue.string))),
    ])
  }

  static func before(_ seq: Int64, _ hash: [UInt8]) -> JSONValue {
    .object([
      ("object", .string("before")), ("seq", .integer(seq)),
      ("hash", .string(Hexadecimal.encode(hash))),
    ])
  }

  static func link(_ link: ChainLink) -> JSONValue {
    .object([
      ("object", .string("link")), ("seq", .integer(link.seq)),
      ("received_at_ms", .integer(link.receivedAt)),
      ("notification_uuid", .string(link.notificationUUID.description)),
      ("source", .string(link.source.rawValue)),
      ("body_sha256", .string(Hexadecimal.encode(link.bodySHA256))),
    ])
  }

  static func event(_ event: StoredEvent) -> JSONValue {
    .object([
      ("object", .string("event")), ("seq", .integer(event.seq)),
      ("received_at_ms", .integer(event.receivedAt)),
      ("notification_uuid", .string(event.notificationUUID.description)),
      ("source", .string(event.source.rawValue)),
      ("hash", .string(Hexadecimal.encode(event.hash))),
      ("body", .string(event.bodyText)),
    ])
  }

  /// The body that a line holds; nil if the line is not of an event, or is no base64 where it must
  /// be.
  static func body(_ line: JSONElement) -> [UInt8]? {
    let text = line["body"]?.string
    return line["source"]?.string == EventSource.receipt.rawValue
      ? text.flatMap { Base64.decode($0) } : text.map { Array($0.utf8) }
  }

  static func answer(
    _ entitlement: JSONValue, to question: BundleQuestion, by fold: Fold
  ) -> JSONValue {
    .object([
      ("object", .string("answer")), ("as_of", .integer(question.time)),
      ("signed_by", .optional(question.asOf)),
      ("fold_version", .integer(fold.version)),
      ("fold_fingerprint", .string(fold.fingerprint)),
      (
        "non_renewing_durations",
        .object(
          question.durations.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) })
      ),
      ("entitlement", entitlement),
    ])
  }

  static func seal(_ sha256: [UInt8], _ key: Ed25519PublicKey, _ signature: [UInt8]) -> JSONValue {
    .object([
      ("object", .string("seal")), ("sha256", .string(Hexadecimal.encode(sha256))),
      ("public_key", .string(String(decoding: Base64.encode(key.raw), as: UTF8.self))),
      ("signature", .string(String(decoding: Base64.encode(signature), as: UTF8.self))),
    ])
  }

  // MARK: Answer

  /// The entitlement that the fold makes of a stream's events; null if there is none. It lacks
  /// `succeeded_by`, which follows from another customer's events.
  static func entitlement(
    _ key: StreamKey, _ events: [StoredEvent], _ question: BundleQuestion, by fold: Fold
  ) -> JSONValue {
    var stream = StreamFolding()
    for event in events where event.signedDate <= question.asOf ?? .max {
      stream.fold(JournaledPayload(event))
    }
    let state = stream.state
    let row = EntitlementRow(state, by: fold)
    let durations = Durations(milliseconds: question.durations)
    guard let entitlement = row.entitlement(at: question.time, durations: durations) else {
      return .null
    }
    let document = RowDocument(
      key: key, entitlement: entitlement, eventCount: state.eventCount,
      lastEvent: state.lastEvent, succeededBy: nil,
      periodEndsAt: .some(row.periodEnd(at: question.time, durations: durations)),
      knownAt: nil)
    return document.json.without(["succeeded_by"])
  }
}
