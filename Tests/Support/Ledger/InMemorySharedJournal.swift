package import Platform
package import Store
import Synchronization

/// One client of a `SharedJournalServer`.
package final class InMemorySharedJournal: SharedJournal {
  package let server: SharedJournalServer

  package init(_ server: SharedJournalServer) { self.server = server }

  deinit { disconnect() }

  private var me: ObjectIdentifier { ObjectIdentifier(self) }

  private func run<Result>(
    _ body: (inout SharedJournalServer.State) throws(SharedJournalError) -> Result
  ) throws(SharedJournalError) -> Result {
    let result = server.state.withLock { state -> Swift.Result<Result, SharedJournalError> in
      if state.isDown { return .failure(.notNow(state: "08006")) }
      do throws(SharedJournalError) { return .success(try body(&state)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  package func identify(
    _ proposed: [UInt8], by deadline: Deadline
  ) throws(SharedJournalError) -> [UInt8] {
    try run { state in
      let id = state.journalId ?? proposed
      state.journalId = id
      return id
    }
  }

  package func trustRoots(by deadline: Deadline) throws(SharedJournalError) -> Set<[UInt8]> {
    try run { $0.trustRoots }
  }

  package func begin(
    after place: JournalPosition, by deadline: Deadline
  ) throws(SharedJournalError) -> JournalTail {
    let me = me
    while true {
      let tail = try run { (state) throws(SharedJournalError) -> JournalTail? in
        if state.faults.first == .serialization {
          state.faults.removeFirst()
          throw .notNow(state: "40001")
        }
        guard state.holder == nil || state.holder == me else { return nil }
        let tail = try state.content.tail(after: place, limit: JournalTail.limit)
        if tail.isWhole { state.holder = me }
        return tail
      }
      if let tail { return tail }
      guard !deadline.hasPassed else { throw .notNow(state: "55P03") }
      WakeupEvent().wait(milliseconds: 1)
    }
  }

  package func commit(
    _ shipment: Shipment, by deadline: Deadline
  ) throws(SharedJournalError) {
    defer { abandon() }
    let me = me
    try run { (state) throws(SharedJournalError) in
      guard state.holder == me else { throw .notNow(state: "the head is not held") }
      let fault = state.faults.isEmpty ? nil : state.faults.removeFirst()
      if fault == .serialization { throw .notNow(state: "40001") }
      if fault == .lostBefore { throw .unknown(state: "08006") }
      // All of it or nothing.
      var content = state.content
      try content.add(shipment)
      state.content = content
      state.commits += 1
      state.history.append(state.content)
      guard fault == nil else { throw .unknown(state: fault == .warning ? "01000" : "08006") }
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
  ) throws(SharedJournalError) -> JournalTail {
    try run { (state) throws(SharedJournalError) in
      try state.content.tail(after: place, limit: limit)
    }
  }

  package func hash(
    at seq: Int64, by deadline: Deadline
  ) throws(SharedJournalError) -> [UInt8]? {
    try run { state in
      if seq == 0 { return ChainHash.origin }
      return seq <= Int64(state.content.events.count)
        ? state.content.events[Int(seq) - 1].hash : nil
    }
  }

  package func notesHash(
    at version: Int64, by deadline: Deadline
  ) throws(SharedJournalError) -> [UInt8]? {
    try run { $0.content.notesHash(at: version) }
  }

  package func dictionaryHash(
    at id: Int64, by deadline: Deadline
  ) throws(SharedJournalError) -> [UInt8]? {
    try run { state in state.content.dictionaries.first { $0.id == id }?.sha256 }
  }

  package func disconnect() { abandon() }
}

extension SharedJournalServer.Content {
  func tail(
    after place: JournalPosition, limit: Int
  ) throws(SharedJournalError) -> JournalTail {
    guard head.seq > place.seq || head.seq == place.seq && head.hash == place.hash,
      head.notes > place.notes || head.notes == place.notes && head.notesHash == place.notesHash
    else { throw .diverged }
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
  mutating func add(_ shipment: Shipment) throws(SharedJournalError) {
    guard shipment.after.seq == head.seq, shipment.after.hash == head.hash,
      shipment.after.notes == head.notes, shipment.after.notesHash == head.notesHash
    else { throw .diverged }
    for item in shipment.dictionaries {
      guard item.id == Int64(dictionaries.count) + 1 else { throw .diverged }
      dictionaries.append(item)
    }
    for event in shipment.events {
      guard event.seq == head.seq + 1, event.receivedAt >= head.receivedAt ?? .min,
        event.link.hash(after: head.hash) == event.hash
      else { throw .broken(state: "SL001") }
      guard !events.contains(where: { $0.notificationUUID == event.notificationUUID }) else {
        throw .diverged
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
      guard note.version == head.notes + 1 else { throw .broken(state: "SL001") }
      notes.append(note)
      (head.notes, head.notesHash) = (note.version, note.chain(after: head.notesHash))
    }
    head.dictionary = dictionaries.last?.id ?? 0
    guard head == shipment.head else { throw .broken(state: "the head is not what was shipped") }
  }
}
