import Platform
import Store

/// Reading without the head.
enum TailChecks {
  static let all: [SharedJournalConformance.Check] = [
    ("nothing is behind the head", atHead),
    ("the whole journal is read in pages of any size", pages),
    ("a tail is read while another holds the head", besideHolder),
  ]

  private static func atHead(_ trial: JournalTrial) throws(ConformanceFailure) {
    let place = trial.position
    let tail = try trial.call { () throws(LedgerError) in
      try trial.first.tail(after: place, limit: 10, by: trial.soon)
    }
    try trial.expect(tail == JournalTail(head: place), "an empty tail with the head")
  }

  private static func pages(_ trial: JournalTrial) throws(ConformanceFailure) {
    try trial.append(trial.shipment(events: 20, notes: 45), by: trial.first)
    let read = try trial.catchUp(limit: 7)
    try trial.expect(read.events.count == 20 && read.notes.count == 45, "nothing is left out")
    let fresh = JournalTrial(open: trial.open)
    defer { fresh.endConnections() }
    try fresh.catchUp()
    try trial.expect(fresh.position == trial.position, "from the beginning too")
  }

  private static func besideHolder(_ trial: JournalTrial) throws(ConformanceFailure) {
    let place = trial.position
    try trial.call { () throws(LedgerError) in
      _ = try trial.first.begin(after: place, by: trial.soon)
      _ = try trial.second.tail(after: place, limit: 10, by: trial.soon)
      _ = try trial.second.tail(after: .origin, limit: 10, by: trial.soon)
      try trial.first.commit(trial.shipment(events: 1), by: trial.soon)
    }
  }
}
