import AppStore
import SignedData
import Store

/// A shipment of made-up content with real chains.
struct MadeShipment {
  private(set) var shipment: Shipment

  init(after position: JournalPosition) {
    shipment = Shipment(after: position, head: position)
  }

  /// 2026-01-01T00:00:00Z in milliseconds.
  private static let start: Int64 = 1_767_225_600_000

  mutating func addDictionary() {
    let id = shipment.head.dictionary + 1
    let bytes = Array("dictionary \(id)".utf8) + [0, 255]
    shipment.dictionaries.append(
      PackedDictionary(
        id: id, headerSHA256: SHA256.hash(bytes + [1]), bytes: bytes, sha256: SHA256.hash(bytes)))
    shipment.head.dictionary = id
  }

  /// - Parameters:
  ///   - seq, uuid: nil for the next place and a UUID of its own.
  ///   - receivedAt: nil for a time that does not fall.
  mutating func addEvent(
    seq: Int64? = nil, uuid: NotificationUUID? = nil, receivedAt: Int64? = nil,
    type: String = "DID_RENEW", subtype: String? = nil, id: String? = "2000000000000001"
  ) {
    let seq = seq ?? shipment.head.seq + 1
    let time = receivedAt ?? max(shipment.head.receivedAt ?? 0, Self.start) + seq % 2
    // Two checks may make an event for one place, with and without success.
    let number = UInt64.random(in: 0...UInt64.max)
    let body = [UInt8](repeating: UInt8(seq & 0xFF), count: 100) + Array("\(number)".utf8)
    let digest = SHA256.hash(body)
    let link = ChainLink(
      seq: seq, notificationUUID: uuid ?? NotificationUUID(digest: digest), source: .v2,
      receivedAt: time, bodySHA256: digest)
    let hash = link.hash(after: shipment.head.hash)
    shipment.events.append(
      PackedEvent(
        seq: seq,
        envelope: EventEnvelope(
          notificationUUID: link.notificationUUID, source: .v2,
          environment: seq % 2 == 0 ? .production : .sandbox, bundleId: "com.example.app",
          notificationType: type, subtype: subtype, originalTransactionId: id,
          signedDate: Self.start - seq, receivedAt: time), bodySHA256: digest, hash: hash,
        dictionary: shipment.head.dictionary == 0 ? nil : shipment.head.dictionary, body: body))
    shipment.head.seq = seq
    shipment.head.hash = hash
    shipment.head.receivedAt = time
  }

  mutating func addNote(subject: String? = nil) {
    let version = shipment.head.notes + 1
    let body = Array("{\"number\":\(version)}".utf8)
    let note = Note(
      version: version, subject: subject ?? "quarantine/\(version)", sha256: SHA256.hash(body),
      body: body)
    shipment.notes.append(note)
    shipment.head.notes = version
    shipment.head.notesHash = note.chain(after: shipment.head.notesHash)
  }

  mutating func clear(_ subjects: [String]) { shipment.cleared += subjects }
}
