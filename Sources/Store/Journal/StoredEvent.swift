import AppStore
import Platform

/// An event read from the journal. Hashes have 32 bytes.
public struct StoredEvent: Sendable, Equatable, Enveloped {
  public let seq: Int64
  public let envelope: EventEnvelope
  /// The exact bytes that the chain covers.
  public let body: [UInt8]
  public let bodySHA256: [UInt8]
  public let hash: [UInt8]

  package init(
    seq: Int64, envelope: EventEnvelope, body: [UInt8], bodySHA256: [UInt8], hash: [UInt8]
  ) {
    (self.seq, self.envelope, self.body) = (seq, envelope, body)
    (self.bodySHA256, self.hash) = (bodySHA256, hash)
  }

  /// The body as text; that of a receipt is binary, and in base64 here.
  public var bodyText: String {
    String(decoding: source.form == .receipt ? Base64.encode(body) : body, as: UTF8.self)
  }

  /// The event with an empty body, for a caller that holds many events and needs no bodies.
  public var withoutBody: StoredEvent {
    StoredEvent(seq: seq, envelope: envelope, body: [], bodySHA256: bodySHA256, hash: hash)
  }

  init(_ event: PackedEvent, body: [UInt8]) {
    self.init(
      seq: event.seq, envelope: event.envelope, body: body, bodySHA256: event.bodySHA256,
      hash: event.hash)
  }
}
