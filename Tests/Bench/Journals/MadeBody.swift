import AppStore
import AppStoreSimulator
import Platform
import SignedData
import Store
import StrictJSON

/// Makes events with the payloads of a fleet and random bytes as signatures. They are as large and
/// as hard to compress as genuine ones, and can be stored and folded, but not proven.
struct MadeBody {
  /// The JWS header segment of the authority, with the dot after it.
  private let header: [UInt8]
  private var random: SeededGenerator

  /// The names of decoded parts, and the names of their signed forms.
  private static let parts = [
    "transaction": "signedTransactionInfo", "renewalInfo": "signedRenewalInfo",
  ]

  init(header: [UInt8], seed: UInt64) {
    self.header = header
    random = SeededGenerator(seed: seed)
  }

  /// The JWS header segment with which an authority signs, with the dot after it.
  ///
  /// - Throws: `BenchError.unmeasurable` if the authority cannot sign.
  static func header(of authority: SimulatedAuthority) throws(BenchError) -> [UInt8] {
    guard let text = try? authority.sign(payload: []),
      let dot = text.firstIndex(of: UInt8(ascii: "."))
    else { throw .unmeasurable("could not sign") }
    return Array(text[...dot])
  }

  /// The event as the ledger submits it to the journal.
  mutating func event(_ notification: SimulatedNotification, receivedAt: Int64) -> NewEvent {
    let app = SimulatedApp()
    let body = body(notification.payload)
    let jws = try? CompactJWS(parsing: body[...])
    return NewEvent(
      envelope: EventEnvelope(
        notificationUUID: NotificationUUID(notification.uuid) ?? NotificationUUID(high: 0, low: 0),
        source: .v2, environment: Environment(rawValue: app.environment), bundleId: app.bundleId,
        notificationType: notification.type, subtype: notification.subtype,
        originalTransactionId: notification.originalTransactionId,
        signedDate: notification.signedDate, receivedAt: receivedAt),
      body: jws.map { .jws($0) } ?? .bytes(body), bodySHA256: SHA256.hash(body))
  }

  /// A compact JWS like Apple's, whose `data` contains further compact JWS. JSON escapes none of
  /// their characters.
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
      let number = random.next()
      signature += (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    Base64URL.append(encoding: signature[...], to: &text)
    return text
  }
}

extension JSONValue {
  /// The members of an object; none for any other kind.
  fileprivate var members: [(String, JSONValue)] {
    if case .object(let members) = self { members } else { [] }
  }
}
