/// An event on its way between journals, with its body as it is stored. Hashes have 32 bytes.
public struct PackedEvent: Sendable, Equatable, Enveloped {
  public let seq: Int64
  public let envelope: EventEnvelope
  public let bodySHA256: [UInt8]
  public let hash: [UInt8]
  /// The dictionary that `body` is compressed against.
  public let dictionary: Int64?
  /// The stored form, as `BodyCodec` made it: never decoded or packed again on its way.
  public let body: [UInt8]

  public init(
    seq: Int64, envelope: EventEnvelope, bodySHA256: [UInt8], hash: [UInt8], dictionary: Int64?,
    body: [UInt8]
  ) {
    (self.seq, self.envelope, self.bodySHA256) = (seq, envelope, bodySHA256)
    (self.hash, self.dictionary, self.body) = (hash, dictionary, body)
  }

  /// What its chain hash covers.
  public var link: ChainLink {
    ChainLink(
      seq: seq, notificationUUID: notificationUUID, source: source, receivedAt: receivedAt,
      bodySHA256: bodySHA256)
  }
}

/// A dictionary of `DictionaryStore` on its way between journals, with the id that it has in all of
/// them.
public struct PackedDictionary: Sendable, Equatable {
  public let id: Int64
  /// The key by which it is found.
  public let headerSHA256: [UInt8]
  public let bytes: [UInt8]
  public let sha256: [UInt8]

  public init(id: Int64, headerSHA256: [UInt8], bytes: [UInt8], sha256: [UInt8]) {
    self.id = id
    self.headerSHA256 = headerSHA256
    self.bytes = bytes
    self.sha256 = sha256
  }
}
