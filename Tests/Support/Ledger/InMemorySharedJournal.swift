package import Platform
package import Store
import Synchronization

/// One client of a `SharedJournalServer`.
package final class InMemorySharedJournal: SharedJournal {
  package let server: SharedJournalServer

  package init(_ server: SharedJournalServer) { self.server = server }

  deinit { disconnect() }

  package var clock: Int64? { server.state.withLock { $0.clock } }

  private var me: ObjectIdentifier { ObjectIdentifier(self) }

  private func run<Result>(
    _ body: (inout SharedJournalServer.State) throws(LedgerError) -> Result
  ) throws(LedgerError) -> Result {
    let result = server.state.withLock { state -> Swift.Result<Result, LedgerError> in
      if state.isDown { return .failure(.sharedNotNow(state: "08006")) }
      do throws(LedgerError) { return .success(try body(&state)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  package func identify(
    _ proposed: [UInt8], by deadline: Deadline
  ) throws(LedgerError) -> [UInt8] {
    try run { state in
      let id = state.journalId ?? proposed
      state.journalId = id
      return id
    }
  }

  package func trustRoots(by deadline: Deadline) throws(LedgerError) -> Set<[UInt8]> {
    try run { $0.trustRoots }
  }

  package func begin(
    after place: JournalPosition, by deadline: Deadline
  ) throws(LedgerError) -> JournalTail {
    let me = me
    while true {
      let tail = try run { (state) throws(LedgerError) -> JournalTail? in
        if state.faults.first == .serialization {
          state.faults.removeFirst()
          throw .sharedNotNow(state: "40001")
        }
        guard state.holder == nil || state.holder == me else { return nil }
        let tail = try state.content.tail(after: place, limit: JournalTail.limit)
        if tail.isWhole { state.holder = me }
        return tail
      }
      if let tail { return tail }
      guard !deadline.hasPassed else { throw .sharedNotNow(state: "55P03") }
      WakeupEvent().wait(milliseconds: 1)
    }
  }

  package func commit(
    _ shipment: Shipment, by deadline: Deadline
  ) throws(LedgerError) {
    defer { abandon() }
    let me = me
    try run { (state) throws(LedgerError) in
      guard state.holder == me else { throw .sharedNotNow(state: "the head is not held") }
      let fault = state.faults.isEmpty ? nil : state.faults.removeFirst()
      if fault == .serialization { throw .sharedNotNow(state: "40001") }
      if fault == .lostBefore { throw .sharedUnknown(state: "08006") }
      // All of it or nothing.
      var content = state.content
      try content.add(shipment)
      state.content = content
      state.commits += 1
      state.history.append(state.content)
      guard fault == nil else { throw .sharedUnknown(state: fault == .warning ? "01000" : "08006") }
      state.durable = state.content
    }
  }

  package func abandon() {
    let me = me
    server.state.withLock { state in
      if state.holder == me { state.holder = nil }
    }
  }

  package func tail(
    after place: JournalPosition, limit: Int, by deadline: Deadline
  ) throws(LedgerError) -> JournalTail {
    try run { (state) throws(LedgerError) in
      try state.content.tail(after: place, limit: limit)
    }
  }

  package func hash(
    at seq: Int64, by deadline: Deadline
  ) throws(LedgerError) -> [UInt8]? {
    try run { state in
      if seq == 0 { return ChainHash.origin }
      return seq <= Int64(state.content.events.count)
        ? state.content.events[Int(seq) - 1].hash : nil
    }
  }

  package func notesHash(
    at version: Int64, by deadline: Deadline
  ) throws(LedgerError) -> [UInt8]? {
    try run { $0.content.notesHash(at: version) }
  }

  package func dictionaryHash(
    at id: Int64, by deadline: Deadline
  ) throws(LedgerError) -> [UInt8]? {
    try run { state in state.content.dictionaries.first { $0.id == id }?.sha256 }
  }

  package func disconnect() { abandon() }
}

extension SharedJournalServer.Content {
  func tail(
    after place: JournalPosition, limit: Int
  ) throws(LedgerError) -> JournalTail {
    guard head.seq > place.seq || head.seq == place.seq && head.hash == place.hash,
      head.notes > place.notes || head.notes == place.notes && head.notesHash == place.notesHash
    else { throw .sharedDiverged }
    let newEvents = events.dropFirst(Int(place.seq)).prefix(limit)
    let newNotes = notes.dropFirst(Int(place.notes)).prefix(limit)
    let newDictionaries = dictionaries.dropFirst(Int(place.dictionary)).prefix(limit)
    var position = head
    position.dictionary = newDictionaries.last?.id ?? place.dictionary
    return JournalTail(
      head: position, dictionaries: Array(newDictionaries), events: Array(newEvents),
      notes: Array(newNotes),
      isWhole: Int64(newEvents.count) + place.seq >= head.seq
        && Int64(newNotes.count) + place.notes >= head.notes
        && newDictionaries.count + Int(place.dictionary) >= dictionaries.count)
  }

  /// Checks what PostgreSQL's constraints check, and the chain.
  mutating func add(_ shipment: Shipment) throws(LedgerError) {
    guard shipment.after.seq == head.seq, shipment.after.hash == head.hash,
      shipment.after.notes == head.notes, shipment.after.notesHash == head.notesHash
    else { throw .sharedDiverged }
    for item in shipment.dictionaries {
      guard item.id == Int64(dictionaries.count) + 1 else { throw .sharedDiverged }
      dictionaries.append(item)
    }
    for event in shipment.events {
      guard event.seq == head.seq + 1, event.receivedAt >= head.receivedAt ?? .min,
        event.link.hash(after: head.hash) == event.hash
      else { throw .sharedBroken(state: "SL001") }
      guard !events.contains(where: { $0.notificationUUID == event.notificationUUID }) else {
        throw .sharedDiverged
      }
      events.append(event)
      (head.seq, head.hash, head.receivedAt) = (event.seq, event.hash, event.receivedAt)
    }
    let cleared = Set(shipment.cleared)
    for (index, note) in notes.enumerated() where cleared.contains(note.subject) {
      notes[index] = Note(
        version: note.version, subject: note.subject, sha256: note.sha256, body: [])
    }
    for note in shipment.notes {
      guard note.version == head.notes + 1 else { throw .sharedBroken(state: "SL001") }
      notes.append(note)
      (head.notes, head.notesHash) = (note.version, note.chain(after: head.notesHash))
    }
    head.dictionary = dictionaries.last?.id ?? 0
    guard head == shipment.head else {
      throw .sharedBroken(state: "the head is not what was shipped")
    }
  }
}
