/// What became of something that was received, from the journal to the sender's answer.
public enum Outcome: Sendable, Equatable {
  /// In the journal, synced, at this seq (promise 1).
  case accepted(seq: Int64)
  /// The journal has it already, at this seq (promise 4).
  case duplicate(seq: Int64)
  /// The journal has this UUID with other content at this seq; the new one is in quarantine.
  case conflict(seq: Int64)
  /// Evidence that says nothing new. It is held, synced, and journaled when it does after all.
  case held(isNew: Bool)
  /// Genuine, and not admitted for the reason with this code: it is in quarantine (promise 2).
  case quarantined(String, isNew: Bool)
  /// As `quarantined`, but the quarantine has reached `Journal.quarantineLimit`: only counted.
  case quarantineFull(String)
  /// A genuine receipt without purchases: it says nothing of anybody, and nothing was written.
  case noPurchases
  /// It comes after a refused one of its file or its `EventRun`; nothing was written.
  case skipped
  /// Nothing was written.
  case refused(Refusal)

  /// Not written for a reason that is ours, with its code; the sender should send it again.
  public static func unavailable(_ code: String) -> Outcome { .refused(.unavailable(code)) }

  /// The value of `outcome` in the log, in counters and in answers.
  public var name: String {
    switch self {
    case .accepted: "accepted"
    case .duplicate, .held(isNew: false): "duplicate"
    case .held(isNew: true): "confirmed"
    case .conflict: "conflict"
    case .quarantined: "quarantined"
    case .quarantineFull: "not_kept"
    case .noPurchases: "no_purchases"
    case .skipped: "skipped"
    case .refused(.unavailable): "unavailable"
    case .refused: "refused"
    }
  }

  /// The event of its UUID in the journal; nil if there is none.
  public var seq: Int64? {
    switch self {
    case .accepted(let seq), .duplicate(let seq), .conflict(let seq): seq
    default: nil
    }
  }

  /// Why nothing of it is in the journal or held beside it; nil if it is there, or has nothing that
  /// could be.
  public var refusal: Refusal? {
    switch self {
    case .accepted, .duplicate, .held, .noPurchases: nil
    case .quarantined(let code, _), .quarantineFull(let code): .notAdmitted(code)
    case .conflict, .skipped: .notAdmitted(name)
    case .refused(let refusal): refusal
    }
  }

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
    case .quarantined(_, isNew: false), .held(isNew: false), .quarantineFull:
      position.notes > confirmed.notes
    default: false
    }
  }
}

/// Why something that was received was not taken: all that the sender learns of it.
///
/// A code is a short word, stable across releases, for counters, logs and problem documents; it
/// never contains anything of what was sent.
public enum Refusal: Error, Sendable, Equatable {
  /// It can never become valid: not JSON, not a notification, not a JWS.
  case malformed(String)
  /// No root and no secret of ours authenticates it (promise 3).
  case untrusted(String)
  /// Genuine, but not admitted here; a notification is stored in quarantine (promise 2).
  case notAdmitted(String)
  /// A statement about a purchase, claim or grant that is not there.
  case notFound(String)
  /// Our fault, or possibly so: the sender should try again later.
  case unavailable(String)

  public var code: String {
    switch self {
    case .malformed(let code), .untrusted(let code), .notAdmitted(let code), .notFound(let code),
      .unavailable(let code):
      code
    }
  }

  /// The renewal information belongs to no transaction that is journaled.
  static let noTransaction = Refusal.notAdmitted("no_transaction")
  /// The receive time must be preserved, but is earlier than the head's.
  static let behindHead = Refusal.malformed("received_at_ms_behind_head")
}
