import AppStore
public import Platform
import SignedData

/// Writes what a shared journal has behind a copy (T3, T4 of `SharedJournal`).
extension Journal {
  /// Writes a tail at the places and with the hashes that it has, in one SQL transaction.
  ///
  /// Each event must be at the head + 1 with the hash that `ChainHash` gives; each note must
  /// continue the chain of notes. One bad row stops nothing: an event whose body is not what its
  /// hash says, or is a statement that this program would not write, is marked as broken, one that
  /// `followedProof` does not prove as unproven, and a note that cannot be applied is kept and
  /// skipped (`faults`).
  ///
  /// - Throws: `LedgerError.sharedDiverged` if the tail does not continue this copy;
  ///   `.sharedBroken` if a dictionary is not what its hash says; otherwise what SQLite reports.
  ///   Nothing was written then.
  public func follow(_ tail: JournalTail) throws(LedgerError) {
    guard let copy else { throw .sql("a journal that is no copy cannot follow") }
    guard tail.head.seq >= head.seq, tail.head.notes >= copy.notes else {
      throw .sharedDiverged
    }
    if tail.dictionaries.isEmpty && tail.events.isEmpty && tail.notes.isEmpty {
      guard !tail.isWhole || isAt(tail.head, copy) else { throw .sharedDiverged }
    } else {
      let followed = try transact { (connection) throws(LedgerError) in
        var state = copy
        for item in tail.dictionaries { try follow(item, &state, connection) }
        try follow(tail.notes, &state, connection)
        // There may be a better dictionary for the latest header, or a receipt less.
        if !tail.dictionaries.isEmpty || !tail.notes.isEmpty { codec.forget() }
        try follow(tail.events, waitsForNotes: state.notes < tail.head.notes, connection)
        state.values = try CopyState.values(connection)
        try state.write(connection)
        guard !tail.isWhole || isAt(tail.head, state) else { throw .sharedDiverged }
        return state
      }
      self.copy = followed
    }
  }

  private func isAt(_ other: JournalPosition, _ state: CopyState) -> Bool {
    head.seq == other.seq && head.hash == other.hash && state.notes == other.notes
      && state.notesHash == other.notesHash
  }

  private func follow(
    _ item: PackedDictionary, _ state: inout CopyState, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    guard item.id == state.dictionary + 1 else { throw .sharedDiverged }
    guard SHA256.hash(item.bytes) == item.sha256 else {
      throw .sharedBroken(state: "dictionary \(item.id)")
    }
    try connection.statement(
      "INSERT INTO dictionary (id, header_sha256, bytes, sha256) VALUES (?, ?, ?, ?)"
    ).bind(1, item.id).bind(2, item.headerSHA256).bind(3, item.bytes).bind(4, item.sha256).run()
    state.dictionary = item.id
  }

  /// - Parameter waitsForNotes: whether an event whose receipt is not there yet, and those behind
  ///   it, are left for the next tail: a note that is still to be followed has it.
  private func follow(
    _ events: [PackedEvent], waitsForNotes: Bool, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    var bodies: [[UInt8]?] = []
    for event in events {
      let body = try followedBody(event)
      if body == nil, waitsForNotes, event.source.form == .receipt { break }
      bodies.append(body)
    }
    let signed = zip(events, bodies).compactMap { event, body in
      [.v1, .statement].contains(event.source.form)
        ? nil : body.map { StoredEvent(event, body: $0) }
    }
    let unproven = followedProof?.unproven(signed) ?? []
    for (event, body) in zip(events, bodies) {
      try follow(event, body, isProven: !unproven.contains(event.seq), connection)
    }
  }

  /// The body of an event, if it is what its hash says.
  private func followedBody(_ event: PackedEvent) throws(LedgerError) -> [UInt8]? {
    guard ReceiptReference.isOf(event.originalTransactionId, event.body),
      let body = try codec.decode(event.body, dictionary: event.dictionary),
      followedBodies.hash(body) == event.bodySHA256
    else { return nil }
    return body
  }

  private func follow(
    _ event: PackedEvent, _ body: [UInt8]?, isProven: Bool, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    guard event.seq == head.seq + 1, event.receivedAt >= head.receivedAt ?? .min,
      event.link.hash(after: head.hash) == event.hash
    else { throw .sharedDiverged }
    try insert(event, connection)
    head = Head(seq: event.seq, hash: event.hash, receivedAt: event.receivedAt)
    if !event.source.namesApp { try RunningDigest.v1Apps.add([event.seq], connection) }
    guard let body else { return try markBroken(event.seq, connection) }
    if !isProven { try markUnproven(event.seq, connection) }
    if event.source.isOwners { try followStatement(event, body, connection) }
    if event.source == .v1 {
      try V1Filing.accept(event.seq, body, under: event.originalTransactionId, connection)
    }
  }

  /// One that this program would not write counts for nothing, whoever wrote it: it is broken.
  private func followStatement(
    _ event: PackedEvent, _ body: [UInt8], _ connection: SQLiteConnection
  ) throws(LedgerError) {
    guard let statement = OwnerStatement(body: body) else {
      return try markBroken(event.seq, connection)
    }
    try insertStatement(event.seq, statement.mac, try streamId(of: event, connection), connection)
  }
}
