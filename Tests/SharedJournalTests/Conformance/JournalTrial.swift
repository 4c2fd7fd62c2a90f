import AppStore
import Platform
import SignedData
import Store

/// A shared journal under trial: connections to it, and what a copy would know of it.
final class JournalTrial {
  let open: @Sendable () -> any SharedJournal
  /// Two daemons.
  private(set) lazy var first = opened()
  private(set) lazy var second = opened()
  private var connections: [any SharedJournal] = []
  /// What was read and verified so far.
  private(set) var position = JournalPosition.origin

  init(open: @escaping @Sendable () -> any SharedJournal) { self.open = open }

  private func opened() -> any SharedJournal {
    let journal = open()
    connections.append(journal)
    return journal
  }

  var soon: Deadline { Deadline(milliseconds: 10_000) }

  /// Lets the head go, whatever a check left.
  func endConnections() { for connection in connections { connection.disconnect() } }

  // MARK: Expectations

  func expect(_ holds: Bool, _ what: String) throws(ConformanceFailure) {
    guard holds else { throw ConformanceFailure(what) }
  }

  /// Calls a shared journal, and turns its error into a failure of the check.
  func call<Value>(
    _ body: () throws(LedgerError) -> Value
  ) throws(ConformanceFailure) -> Value {
    try mapError({ ConformanceFailure($0) }, in: body)
  }

  func expectError(
    _ what: String, _ matches: (LedgerError) -> Bool,
    _ body: () throws(LedgerError) -> Void
  ) throws(ConformanceFailure) {
    do throws(LedgerError) {
      try body()
    } catch {
      guard matches(error) else { throw ConformanceFailure("\(what): it threw \(error)") }
      return
    }
    throw ConformanceFailure("\(what): it did not throw")
  }

  // MARK: Reading

  /// Reads what is behind `position` in pages, and checks each link of both chains.
  @discardableResult
  func catchUp(
    limit: Int = JournalTail.limit
  ) throws(ConformanceFailure) -> (events: [PackedEvent], notes: [Note]) {
    var (events, notes): ([PackedEvent], [Note]) = ([], [])
    while true {
      let from = position
      let tail = try call { () throws(LedgerError) in
        try second.tail(after: from, limit: limit, by: soon)
      }
      try follow(tail)
      events += tail.events
      notes += tail.notes
      if tail.isWhole {
        try expect(
          position.seq == tail.head.seq && position.hash == tail.head.hash
            && position.notes == tail.head.notes && position.notesHash == tail.head.notesHash,
          "a whole tail leads to the head")
        return (events, notes)
      }
      try expect(
        tail.events.count == limit || tail.notes.count == limit
          || tail.dictionaries.count == limit, "a tail that is not whole is full")
    }
  }

  private func follow(_ tail: JournalTail) throws(ConformanceFailure) {
    for dictionary in tail.dictionaries {
      try expect(dictionary.id == position.dictionary + 1, "dictionaries are dense")
      position.dictionary = dictionary.id
    }
    for event in tail.events {
      try expect(event.seq == position.seq + 1, "places are dense")
      try expect(
        event.link.hash(after: position.hash) == event.hash, "hash[\(event.seq)] holds")
      position.seq = event.seq
      position.hash = event.hash
      position.receivedAt = event.receivedAt
    }
    for note in tail.notes {
      try expect(note.version == position.notes + 1, "versions of notes are dense")
      position.notesHash = note.chain(after: position.notesHash)
      position.notes = note.version
    }
  }

  // MARK: Writing

  /// Takes the head, appends, and commits.
  func append(
    _ shipment: Shipment, by journal: any SharedJournal
  ) throws(ConformanceFailure) {
    try call { () throws(LedgerError) in
      _ = try journal.begin(after: shipment.after, by: soon)
      try journal.commit(shipment, by: soon)
    }
  }

  /// A shipment behind `position`.
  func shipment(
    events: Int = 0, notes: Int = 0, dictionaries: Int = 0, at time: Int64? = nil
  ) -> Shipment {
    var made = MadeShipment(after: position)
    for _ in 0..<dictionaries { made.addDictionary() }
    for _ in 0..<events { made.addEvent(receivedAt: time) }
    for _ in 0..<notes { made.addNote() }
    return made.shipment
  }
}
