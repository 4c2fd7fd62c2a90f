/// What the chain needs to know of an event, without its body.
public struct ChainLink: Sendable, Equatable {
  public let seq: Int64
  public let notificationUUID: String
  public let source: String
  /// Milliseconds since 1970 UTC.
  public let receivedAt: Int64
  public let bodySHA256: [UInt8]

  public init(
    seq: Int64, notificationUUID: String, source: String, receivedAt: Int64, bodySHA256: [UInt8]
  ) {
    self.seq = seq
    self.notificationUUID = notificationUUID
    self.source = source
    self.receivedAt = receivedAt
    self.bodySHA256 = bodySHA256
  }

  /// hash[seq], `previous` being hash[seq-1] (promise 5).
  public func hash(after previous: [UInt8]) -> [UInt8] {
    ChainHash.next(
      after: previous, seq: seq, receivedAt: receivedAt, notificationUUID: notificationUUID,
      source: source, bodySHA256: bodySHA256)
  }
}

extension JournalReader {
  /// The links of a range, in order, while `body` answers true. Between pieces no read transaction
  /// is kept.
  public func forEachLink(
    from first: Int64, through last: Int64, _ body: (ChainLink) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var next = first
    while next <= last {
      let piece = try connection.statement(
        """
        SELECT seq, notification_uuid, source, received_at_ms, body_sha256 FROM event
        WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT \(Self.pieceCount)
        """
      ).bind(1, next).bind(2, last).all {
        ChainLink(
          seq: $0.int(0), notificationUUID: NotificationUUID.text($0.bytes(1)),
          source: $0.text(2), receivedAt: $0.int(3), bodySHA256: $0.bytes(4))
      }.inOrder(after: next - 1) { $0.seq }
      for link in piece {
        guard try body(link) else { return }
      }
      guard let end = piece.last else { return }
      next = end.seq + 1
    }
  }
}
