import AppStore
import Platform
import Store

/// What is committed is there, for everyone, as it was.
enum AppendChecks {
  static let all: [SharedJournalConformance.Check] = [
    ("the first id that is proposed is the journal's", identity),
    ("an event is read as it was appended, by another connection too", roundTrip),
    ("a batch of a thousand events with notes and dictionaries is one commit", batch),
    ("a note that is cleared keeps its place in the chain", clearing),
    ("a commit that writes nothing else touches the head", touching),
    ("hashes are known up to the head and not past it", hashes),
    ("two daemons that append at once make one chain", concurrency),
  ]

  private static func identity(_ trial: JournalTrial) throws(ConformanceFailure) {
    let one = [UInt8](repeating: 7, count: 16)
    let other = [UInt8](repeating: 8, count: 16)
    let found = try trial.call { () throws(LedgerError) in
      (
        try trial.first.identify(one, by: trial.soon),
        try trial.second.identify(other, by: trial.soon)
      )
    }
    try trial.expect(found.0.count == 16 && found.0 == found.1, "both have the same id")
  }

  private static func roundTrip(_ trial: JournalTrial) throws(ConformanceFailure) {
    var made = MadeShipment(after: trial.position)
    made.addEvent()
    made.addEvent(subtype: "", id: nil)
    made.addEvent(type: "é 🙂 '\\\" \u{10FFFF} \0 ends", subtype: "\0", id: "0")
    made.addNote(subject: "account/é\0/1")
    try trial.append(made.shipment, by: trial.first)
    let read = try trial.catchUp()
    try trial.expect(read.events == made.shipment.events, "events are equal in every field")
    try trial.expect(read.notes == made.shipment.notes, "notes are equal in every field")
  }

  private static func batch(_ trial: JournalTrial) throws(ConformanceFailure) {
    let shipment = trial.shipment(events: 1_000, notes: 300, dictionaries: 2)
    try trial.append(shipment, by: trial.first)
    let from = trial.position
    let tail = try trial.call { () throws(LedgerError) in
      try trial.second.tail(after: from, limit: JournalTail.limit, by: trial.soon)
    }
    try trial.expect(tail.isWhole, "a thousand is not more than the limit")
    try trial.expect(
      tail.dictionaries == shipment.dictionaries && tail.events == shipment.events
        && tail.notes == shipment.notes, "all of it is equal")
    try trial.expect(tail.head.dictionary == shipment.head.dictionary, "the newest dictionary")
  }

  private static func clearing(_ trial: JournalTrial) throws(ConformanceFailure) {
    let start = trial.position
    var made = MadeShipment(after: start)
    made.addNote(subject: "account/1")
    made.addNote(subject: "account/2")
    try trial.append(made.shipment, by: trial.first)
    try trial.catchUp()
    var clearing = MadeShipment(after: trial.position)
    clearing.clear(["account/1"])
    clearing.addNote(subject: "account/1/removed")
    try trial.append(clearing.shipment, by: trial.first)
    try trial.catchUp()
    let tail = try trial.call { () throws(LedgerError) in
      try trial.first.tail(after: start, limit: JournalTail.limit, by: trial.soon)
    }
    try trial.expect(
      tail.notes.map(\.body.isEmpty) == [true, false, false], "the note alone is cleared")
    var hash = start.notesHash
    for note in tail.notes { hash = note.chain(after: hash) }
    try trial.expect(hash == tail.head.notesHash, "the chain holds")
  }

  private static func touching(_ trial: JournalTrial) throws(ConformanceFailure) {
    var shipment = trial.shipment()
    shipment.isTouched = true
    try trial.append(shipment, by: trial.first)
    let read = try trial.catchUp()
    try trial.expect(read.events.isEmpty && read.notes.isEmpty, "nothing else was written")
    try trial.append(trial.shipment(events: 1), by: trial.first)
  }

  private static func hashes(_ trial: JournalTrial) throws(ConformanceFailure) {
    let shipment = trial.shipment(events: 2, notes: 2, dictionaries: 1)
    try trial.append(shipment, by: trial.first)
    let read = try trial.catchUp()
    let head = trial.position
    let found = try trial.call { () throws(LedgerError) in
      [
        try trial.first.hash(at: 0, by: trial.soon),
        try trial.first.hash(at: head.seq - 1, by: trial.soon),
        try trial.first.hash(at: head.seq, by: trial.soon),
        try trial.first.hash(at: head.seq + 1, by: trial.soon),
        try trial.first.notesHash(at: 0, by: trial.soon),
        try trial.first.notesHash(at: head.notes, by: trial.soon),
        try trial.first.notesHash(at: head.notes + 1, by: trial.soon),
        try trial.first.dictionaryHash(at: head.dictionary, by: trial.soon),
        try trial.first.dictionaryHash(at: head.dictionary + 1, by: trial.soon),
      ]
    }
    try trial.expect(found[0] == ChainHash.origin && found[4] == ChainHash.origin, "hash[0]")
    try trial.expect(
      found[1] == read.events.first?.hash && found[2] == head.hash, "hashes of events")
    try trial.expect(found[5] == head.notesHash, "the hash of the notes")
    try trial.expect(
      found[7] == shipment.dictionaries.last?.sha256, "the hash of a dictionary")
    try trial.expect([found[3], found[6], found[8]] == [nil, nil, nil], "past the head is none")
  }

  private static func concurrency(_ trial: JournalTrial) throws(ConformanceFailure) {
    let start = trial.position
    let failures = ConcurrentAppends(open: trial.open, from: start, rounds: 25).run()
    try trial.expect(failures.isEmpty, failures.joined(separator: "; "))
    let read = try trial.catchUp()
    try trial.expect(read.events.count == 100, "\(read.events.count) of 100 events")
    try trial.expect(
      Set(read.events.map(\.notificationUUID)).count == 100, "each event is there once")
  }
}
