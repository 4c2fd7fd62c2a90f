/// An event as it is in the file, which may be damaged.
public struct RawEvent: Sendable {
  /// Has an empty body if the stored one cannot be recovered.
  public let event: StoredEvent
  public let isBodyReadable: Bool

  /// Whether body, hash and chain agree (promise 5).
  ///
  /// - Parameters:
  ///   - previous: hash[seq-1].
  ///   - hash: may be shared by consecutive events, which is faster.
  public func isIntact(after previous: [UInt8], _ hash: BodyHash = BodyHash()) -> Bool {
    isBodyIntact(hash) && isChained(after: previous)
  }

  /// Whether the body can be read and has the stored hash.
  public func isBodyIntact(_ hash: BodyHash) -> Bool {
    isBodyReadable && hash.hash(event.body) == event.bodySHA256
  }

  /// Whether the stored hash follows from the row and from hash[seq-1], given as `previous`.
  public func isChained(after previous: [UInt8]) -> Bool {
    event.hash
      == ChainHash.next(
        after: previous, seq: event.seq, receivedAt: event.receivedAt,
        notificationUUID: event.notificationUUID, source: event.source,
        bodySHA256: event.bodySHA256)
  }
}
