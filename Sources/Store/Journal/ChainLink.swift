public import AppStore
public import Platform

/// The part of an event that its chain hash covers, with the body replaced by its hash.
public struct ChainLink: Sendable, Equatable {
  public let seq: Int64
  public let notificationUUID: NotificationUUID
  public let source: EventSource
  /// Milliseconds since 1970 UTC.
  public let receivedAt: Int64
  public let bodySHA256: [UInt8]

  public init(
    seq: Int64, notificationUUID: NotificationUUID, source: EventSource, receivedAt: Int64,
    bodySHA256: [UInt8]
  ) {
    self.seq = seq
    self.notificationUUID = notificationUUID
    self.source = source
    self.receivedAt = receivedAt
    self.bodySHA256 = bodySHA256
  }

  /// hash[seq], where `previous` is hash[seq-1] (promise 5).
  public func hash(after previous: [UInt8]) -> [UInt8] {
    ChainHash.next(
      after: previous, seq: seq, receivedAt: receivedAt, notificationUUID: notificationUUID,
      source: source, bodySHA256: bodySHA256)
  }
}

extension JournalReader {
  /// Calls `body` with the links of a range in order of seq, until it returns false. No read
  /// transaction stays open between batches.
  ///
  /// - Throws: `LedgerError.corrupt` when the file returns rows out of order, other errors of
  ///   SQLite, and what `body` throws.
  public func forEachLink(
    from first: Int64, through last: Int64, _ body: (ChainLink) throws(LedgerError) -> Bool
  ) throws(LedgerError) {
    var next = first
    while next <= last {
      let batch = try connection.statement(
        """
        SELECT seq, notification_uuid, source, received_at_ms, body_sha256 FROM event
        WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT \(Self.batchSize)
        """
      ).bind(1, next).bind(2, last).all {
        ChainLink(
          seq: $0.int(0), notificationUUID: EventRow.uuid($0.bytes(1)),
          source: EventSource(rawValue: $0.text(2)), receivedAt: $0.int(3), bodySHA256: $0.bytes(4))
      }.ascending(after: next - 1) { $0.seq }
      for link in batch {
        guard try body(link) else { return }
      }
      guard let end = batch.last else { return }
      next = end.seq + 1
    }
  }
}
