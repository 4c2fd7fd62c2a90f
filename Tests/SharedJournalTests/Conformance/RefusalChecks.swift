import Platform
import Store

/// What must never be committed.
enum RefusalChecks {
  static let all: [SharedJournalConformance.Check] = [
    ("a copy that is ahead, or has another hash, is told that it diverged", divergedPlace),
    ("a commit after another head than the one that was taken is refused", staleCommit),
    ("a uuid that is journaled is refused at another place", takenUUID),
    ("a refused commit leaves nothing, and the head can be taken again", nothingLeft),
  ]

  private static func isDiverged(_ error: LedgerError) -> Bool { error == .sharedDiverged }

  private static func divergedPlace(_ trial: JournalTrial) throws(ConformanceFailure) {
    try trial.append(trial.shipment(events: 1, notes: 1), by: trial.first)
    try trial.catchUp()
    let place = trial.position
    var ahead = place
    ahead.seq += 1
    var forked = place
    forked.hash[0] ^= 1
    var otherNotes = place
    otherNotes.notesHash[0] ^= 1
    for (what, wrong) in [("ahead", ahead), ("other hash", forked), ("other notes", otherNotes)] {
      try trial.expectError(
        "begin, \(what)", isDiverged,
        { () throws(LedgerError) in
          _ = try trial.first.begin(after: wrong, by: trial.soon)
        })
      try trial.expectError(
        "tail, \(what)", isDiverged,
        { () throws(LedgerError) in
          _ = try trial.first.tail(after: wrong, limit: 10, by: trial.soon)
        })
    }
    try trial.append(trial.shipment(events: 1), by: trial.second)
  }

  private static func staleCommit(_ trial: JournalTrial) throws(ConformanceFailure) {
    let stale = trial.shipment(events: 1)
    try trial.append(trial.shipment(events: 1), by: trial.second)
    try trial.expectError(
      "a stale commit", isDiverged,
      { () throws(LedgerError) in
        _ = try trial.first.begin(after: stale.after, by: trial.soon)
        try trial.first.commit(stale, by: trial.soon)
      })
    try trial.expect(try trial.catchUp().events.count == 1, "one of both is there")
  }

  private static func takenUUID(_ trial: JournalTrial) throws(ConformanceFailure) {
    let shipment = trial.shipment(events: 1)
    try trial.append(shipment, by: trial.first)
    try trial.catchUp()
    var again = MadeShipment(after: trial.position)
    again.addEvent(uuid: shipment.events[0].notificationUUID)
    try expectRefused(again.shipment, trial)
  }

  private static func expectRefused(
    _ shipment: Shipment, _ trial: JournalTrial
  ) throws(ConformanceFailure) {
    try trial.expectError(
      "the commit", isDiverged,
      { () throws(LedgerError) in
        _ = try trial.first.begin(after: shipment.after, by: trial.soon)
        try trial.first.commit(shipment, by: trial.soon)
      })
  }

  private static func nothingLeft(_ trial: JournalTrial) throws(ConformanceFailure) {
    let shipment = trial.shipment(events: 1)
    try trial.append(shipment, by: trial.first)
    try trial.catchUp()
    var refused = MadeShipment(after: trial.position)
    refused.addDictionary()
    refused.addNote()
    refused.addEvent()
    refused.addEvent(uuid: shipment.events[0].notificationUUID)
    try expectRefused(refused.shipment, trial)
    let read = try trial.catchUp()
    try trial.expect(read.events.isEmpty && read.notes.isEmpty, "nothing of it is there")
    try trial.append(
      trial.shipment(events: 1, notes: 1, dictionaries: 1), by: trial.first)
  }
}
