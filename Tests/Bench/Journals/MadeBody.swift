import Encoding
import JournalStore
import SignedData
import Simulator
import StrictJSON

/// Makes events whose payloads are a fleet's and whose signatures are random bytes: as large as
/// genuine ones, as hard to compress, and good for nothing but to be stored and folded.
struct MadeBody {
  /// The authority's header segment and its dot.
  private let header: [UInt8]
  private var random: SeededGenerator

  /// Decoded part and its signed name.
  private static let parts = [
    "transaction": "signedTransactionInfo", "renewalInfo": "signedRenewalInfo",
  ]

  init(header: [UInt8], seed: UInt64) {
    self.header = header
    random = SeededGenerator(seed: seed)
  }

  /// The header segment under which an authority signs, and its dot.
  static func header(of authority: SimulatedAuthority) throws(BenchError) -> [UInt8] {
    guard let text = try? authority.sign(payload: []),
      let dot = text.firstIndex(of: UInt8(ascii: "."))
    else { throw .unmeasurable("could not sign") }
    return Array(text[...dot])
  }

  /// As the ledger would submit it.
  mutating func event(_ notification: SimulatedNotification, receivedAt: Int64) -> NewEvent {
    let app = SimulatedApp()
    let body = body(notification.payload)
    let jws = try? CompactJWS(parsing: body[...])
    return NewEvent(
      notificationUUID: notification.uuid, source: "v2", environment: app.environment,
      bundleId: app.bundleId, notificationType: notification.type, subtype: notification.subtype,
      originalTransactionId: notification.originalTransactionId,
      signedDate: notification.signedDate, receivedAt: receivedAt,
      body: jws.map { .jws($0) } ?? .bytes(body), bodySHA256: SHA256.hash(body))
  }

  /// As Apple's: `data` holds compact JWS, whose characters JSON never escapes, and the whole is
  /// one again.
  private mutating func body(_ notification: JSONValue) -> [UInt8] { jws(object(notification)) }

  private mutating func object(_ value: JSONValue) -> [UInt8] {
    var text = [UInt8(ascii: "{")]
    for (name, value) in value.members {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      let signed = Self.parts[name]
      text += JSONValue.string(signed ?? name).bytes
      text.append(UInt8(ascii: ":"))
      if signed != nil {
        text += [UInt8(ascii: "\"")] + jws(value.bytes) + [UInt8(ascii: "\"")]
      } else {
        text += name == "data" ? object(value) : value.bytes
      }
    }
    return text + [UInt8(ascii: "}")]
  }

  private mutating func jws(_ payload: [UInt8]) -> [UInt8] {
    var text = header
    Base64URL.append(encoding: payload[...], to: &text)
    text.append(UInt8(ascii: "."))
    var signature: [UInt8] = []
    for _ in 0..<8 {
      let word = random.next()
      signature += (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
    }
    Base64URL.append(encoding: signature[...], to: &text)
    return text
  }
}

extension JSONValue {
  /// Of an object; none of anything else.
  fileprivate var members: [(String, JSONValue)] {
    if case .object(let members) = self { members } else { [] }
  }
}
