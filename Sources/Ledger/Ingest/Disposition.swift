import Store

/// What became of a notification that was received.
public enum Disposition: Sendable, Equatable {
  /// In the journal, synced, at this seq (promise 1).
  case accepted(seq: Int64)
  /// The journal has it already, at this seq (promise 4).
  case duplicate(seq: Int64)
  /// The journal has this uuid with other content at this seq; the new one is in quarantine.
  case conflict(seq: Int64)
  /// Genuine and not admitted: it is in quarantine (promise 2).
  case quarantined
  /// Genuine and not admitted, and quarantine is full of what any developer can send: this one was
  /// only counted.
  case quarantineFull
  /// Evidence that says nothing new: it is held, synced.
  case confirmed
  /// Evidence that is held already.
  case alreadyConfirmed
  /// A genuine receipt without purchases: it says nothing of anybody, and nothing was written.
  case noPurchases
  /// The statement is about a purchase, claim or grant that is not there; nothing was written.
  case notFound
  /// Its given receive time is before the head's; nothing was written.
  case receiveTimeBehind
  /// It comes after a refused one of its file; nothing was written.
  case skipped
  /// Refused before it reached the writer; nothing was written.
  case refused(Refusal)
  /// Not written for a reason that is ours, with its code; the sender should send it again.
  case unavailable(String)

  /// The value of `outcome` in the log and in counters.
  public var name: String {
    switch self {
    case .accepted: "accepted"
    case .duplicate, .alreadyConfirmed: "duplicate"
    case .confirmed: "confirmed"
    case .conflict: "conflict"
    case .quarantined: "quarantined"
    case .quarantineFull: "not_kept"
    case .noPurchases: "no_purchases"
    case .skipped: "skipped"
    case .unavailable, .refused(.unavailable): "unavailable"
    case .receiveTimeBehind, .notFound, .refused: "refused"
    }
  }

  /// Why nothing of it is in the journal or held beside it, as a code; nil if it is there, or has
  /// nothing that could be.
  public var notTaken: String? {
    switch self {
    case .accepted, .duplicate, .confirmed, .alreadyConfirmed, .noPurchases: nil
    case .refused(let refusal): refusal.code
    case .unavailable(let code): code
    case .conflict, .quarantined, .quarantineFull, .notFound, .receiveTimeBehind, .skipped: name
    }
  }

  init(_ outcome: AppendOutcome) {
    switch outcome {
    case .journaled(let seq, _): self = .accepted(seq: seq)
    case .duplicate(let seq): self = .duplicate(seq: seq)
    case .conflict(let seq): self = .conflict(seq: seq)
    case .receiveTimeBehind: self = .receiveTimeBehind
    case .skipped: self = .skipped
    case .quarantined, .alreadyQuarantined: self = .quarantined
    case .quarantineFull: self = .quarantineFull
    case .held: self = .confirmed
    case .alreadyHeld: self = .alreadyConfirmed
    case .notFound: self = .notFound
    case .noTransaction: self = .refused(.notAdmitted("no_transaction"))
    }
  }
}
