import Platform
import Store

/// Who holds the head, and for how long.
enum HeadChecks {
  static let all: [SharedJournalConformance.Check] = [
    ("the head is held by one, until it is let go", holding),
    ("a head that cannot be had by the deadline is refused at the deadline", deadline),
    ("what is abandoned is written nowhere, and abandoning twice does nothing", abandoning),
    ("one who is far behind does not hold the head", farBehind),
    ("one whose connection ends lets the head go", lostHolder),
    ("what begin returns is what the others committed", beginTail),
  ]

  private static func holding(_ trial: JournalTrial) throws(ConformanceFailure) {
    let place = trial.position
    try trial.call { () throws(LedgerError) in
      _ = try trial.first.begin(after: place, by: trial.soon)
    }
    try expectBusy(trial)
    try trial.call { () throws(LedgerError) in
      try trial.first.commit(trial.shipment(events: 1), by: trial.soon)
    }
    try trial.catchUp()
    try trial.append(trial.shipment(events: 1), by: trial.second)
  }

  private static func expectBusy(_ trial: JournalTrial) throws(ConformanceFailure) {
    let place = trial.position
    try trial.expectError(
      "a second begin", { $0.code == .sharedNotNow },
      { () throws(LedgerError) in
        _ = try trial.second.begin(after: place, by: Deadline(milliseconds: 300))
      })
  }

  private static func deadline(_ trial: JournalTrial) throws(ConformanceFailure) {
    let place = trial.position
    try trial.call { () throws(LedgerError) in
      _ = try trial.first.begin(after: place, by: trial.soon)
    }
    let start = Clock.monotonicNanoseconds()
    try expectBusy(trial)
    let milliseconds = (Clock.monotonicNanoseconds() - start) / 1_000_000
    try trial.expect(milliseconds < 3_000, "it took \(milliseconds) ms")
  }

  private static func abandoning(_ trial: JournalTrial) throws(ConformanceFailure) {
    let place = trial.position
    try trial.call { () throws(LedgerError) in
      _ = try trial.first.begin(after: place, by: trial.soon)
    }
    trial.first.abandon()
    trial.first.abandon()
    try trial.expectError(
      "a commit without the head", { $0.code == .sharedNotNow },
      { () throws(LedgerError) in
        try trial.first.commit(trial.shipment(events: 1), by: trial.soon)
      })
    let read = try trial.catchUp()
    try trial.expect(read.events.isEmpty, "nothing was written")
    try trial.append(trial.shipment(events: 1), by: trial.second)
  }

  private static func farBehind(_ trial: JournalTrial) throws(ConformanceFailure) {
    let start = trial.position
    for _ in 0..<2 {
      try trial.append(trial.shipment(events: 600), by: trial.first)
      try trial.catchUp()
    }
    let tail = try trial.call { () throws(LedgerError) in
      try trial.first.begin(after: start, by: trial.soon)
    }
    try trial.expect(!tail.isWhole && tail.events.count == JournalTail.limit, "it has a page")
    try trial.expect(tail.head.seq == trial.position.seq, "and knows the head")
    try trial.append(trial.shipment(events: 1), by: trial.second)
  }

  private static func lostHolder(_ trial: JournalTrial) throws(ConformanceFailure) {
    let place = trial.position
    try trial.call { () throws(LedgerError) in
      _ = try trial.first.begin(after: place, by: trial.soon)
    }
    trial.first.disconnect()
    try trial.append(trial.shipment(events: 1), by: trial.second)
    try trial.catchUp()
    try trial.append(trial.shipment(events: 1), by: trial.first)
  }

  private static func beginTail(_ trial: JournalTrial) throws(ConformanceFailure) {
    let start = trial.position
    let shipment = trial.shipment(events: 3, notes: 2, dictionaries: 1)
    try trial.append(shipment, by: trial.first)
    let tail = try trial.call { () throws(LedgerError) in
      try trial.second.begin(after: start, by: trial.soon)
    }
    try trial.expect(
      tail.isWhole && tail.events == shipment.events && tail.notes == shipment.notes
        && tail.dictionaries == shipment.dictionaries, "it is what was committed")
    try trial.expect(tail.head == shipment.head, "with the head")
  }
}
