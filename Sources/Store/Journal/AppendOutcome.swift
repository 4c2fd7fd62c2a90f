/// The result of one submission to `Journal.append`.
public enum AppendOutcome: Sendable, Equatable {
  /// The event is journaled at `seq`. `receivedAt` (milliseconds since 1970 UTC) is at least the
  /// head's.
  case journaled(seq: Int64, receivedAt: Int64)
  /// The event was already journaled, at this seq (promise 4).
  case duplicate(seq: Int64)
  /// The journal has this UUID with other content at this seq; the new event is in quarantine.
  case conflict(seq: Int64)
  /// The receive time must be preserved but is earlier than the head's; nothing was written.
  case receiveTimeBehind(head: Int64)
  /// An earlier event of the same `EventRun` was refused; nothing was written.
  case skipped
  /// The notification is in quarantine under this id.
  case quarantined(id: Int64)
  /// The notification was already in quarantine.
  case alreadyQuarantined
  /// The quarantine has reached `Journal.quarantineLimit`; the notification was only counted.
  case quarantineFull
  /// The evidence says nothing new. It is held, and journaled when it does after all.
  case held
  /// The evidence is held already.
  case alreadyHeld
  /// The renewal information belongs to no transaction that is journaled; nothing was written.
  case noTransaction
  /// The statement is about a purchase, claim or grant that is not there; nothing was written.
  case notFound
}

extension AppendOutcome {
  /// Whether the answer depends on what was committed to a shared journal behind a position that is
  /// known to be durable (T5 of `SharedJournal`).
  ///
  /// - Parameters:
  ///   - confirmed: that position.
  ///   - position: of the copy that judged.
  public func dependsOnMore(
    than confirmed: JournalPosition, of position: JournalPosition
  ) -> Bool {
    switch self {
    case .duplicate(let seq), .conflict(let seq): seq > confirmed.seq
    case .alreadyQuarantined, .alreadyHeld, .quarantineFull: position.notes > confirmed.notes
    case .receiveTimeBehind, .notFound, .noTransaction, .skipped: false
    case .journaled, .quarantined, .held: false
    }
  }
}
