/// How far a journal is: its events, its notes and its dictionaries.
public struct JournalPosition: Sendable, Equatable {
  /// The newest event; 0 for none.
  public var seq: Int64
  /// hash[seq].
  public var hash: [UInt8]
  /// Milliseconds since 1970 UTC; nil without an event.
  public var receivedAt: Int64?
  /// The version of the newest note; 0 for none. Versions are dense from 1.
  public var notes: Int64
  /// The chain over the notes: `Note.chain`.
  public var notesHash: [UInt8]
  /// The greatest id of a dictionary; 0 for none. Ids are dense from 1.
  public var dictionary: Int64

  public init(
    seq: Int64, hash: [UInt8], receivedAt: Int64?, notes: Int64, notesHash: [UInt8],
    dictionary: Int64
  ) {
    self.seq = seq
    self.hash = hash
    self.receivedAt = receivedAt
    self.notes = notes
    self.notesHash = notesHash
    self.dictionary = dictionary
  }

  /// The position of an empty journal.
  public static let origin = JournalPosition(
    seq: 0, hash: ChainHash.origin, receivedAt: nil, notes: 0, notesHash: ChainHash.origin,
    dictionary: 0)

  /// The same as an event's head.
  var head: Head { Head(seq: seq, hash: hash, receivedAt: receivedAt) }
}

/// What a shared journal has behind a position.
public struct JournalTail: Sendable, Equatable {
  /// The shared journal's head, also if the tail is not whole. The shared journal need not know
  /// `dictionary` of it: the greatest id of a dictionary that is in this tail, or that of the
  /// position asked for.
  public var head: JournalPosition
  public var dictionaries: [PackedDictionary]
  public var events: [PackedEvent]
  public var notes: [Note]
  /// Whether nothing was left out.
  public var isWhole: Bool

  /// How many events, notes and dictionaries `SharedJournal.begin` returns, of each.
  public static let limit = 1_000

  public init(
    head: JournalPosition, dictionaries: [PackedDictionary] = [], events: [PackedEvent] = [],
    notes: [Note] = [], isWhole: Bool = true
  ) {
    self.head = head
    self.dictionaries = dictionaries
    self.events = events
    self.notes = notes
    self.isWhole = isWhole
  }
}

/// What one commit adds to a shared journal.
public struct Shipment: Sendable, Equatable {
  /// The head before.
  public var after: JournalPosition
  public var dictionaries: [PackedDictionary]
  public var events: [PackedEvent]
  public var notes: [Note]
  /// Subjects whose earlier notes are cleared (`Note.body` becomes empty), in the same
  /// transaction: what they were about is gone, and may be personal.
  public var cleared: [String]
  /// The head afterwards.
  public var head: JournalPosition
  /// Whether to commit even if there is nothing to write.
  public var isTouched: Bool

  public init(
    after: JournalPosition, dictionaries: [PackedDictionary] = [], events: [PackedEvent] = [],
    notes: [Note] = [], cleared: [String] = [], head: JournalPosition, isTouched: Bool = false
  ) {
    self.after = after
    self.dictionaries = dictionaries
    self.events = events
    self.notes = notes
    self.cleared = cleared
    self.head = head
    self.isTouched = isTouched
  }

  /// Whether it writes nothing but, if `isTouched`, the head.
  public var isEmpty: Bool { dictionaries.isEmpty && events.isEmpty && notes.isEmpty }
}
