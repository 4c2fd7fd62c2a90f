import Ledger
import Platform
import Store
import StrictJSON

/// Changes the quarantine: through the daemon if one runs, else in this process.
final class QuarantineWriter {
  private enum Way {
    case daemon(ControlClient)
    case standalone(Ledger)
  }

  private let way: Way

  /// - Throws: what the store throws if the folder cannot be opened.
  init(_ folder: DataFolder, _ configuration: Configuration) throws(LedgerError) {
    if let daemon = ControlClient(folder) {
      way = .daemon(daemon)
    } else {
      way = .standalone(try StandaloneLedger.start(folder, configuration))
    }
  }

  func stop() {
    if case .standalone(let ledger) = way { ledger.stop() }
  }

  /// Admits at most `Quarantine.batchLimit` notifications.
  ///
  /// - Returns: what became of each.
  func admit(
    _ ids: [Int64], _ configuration: Configuration
  ) throws(LedgerError) -> [Outcome] {
    switch way {
    case .daemon(let daemon):
      let answer = try daemon.post("/control/quarantine/admit", Self.body(ids))
      guard answer.status == 200, let outcomes = answer.body["outcomes"],
        let outcomes = BatchReceive.outcomes(outcomes), outcomes.count == ids.count
      else { throw Self.notDone }
      return outcomes
    case .standalone(let ledger):
      let receiver = try StandaloneLedger.receiver(configuration)
      let done = BoundedQueue<[Outcome]>(capacity: 1)
      try Quarantine.admit(ids, receiver: receiver, ledger: ledger, at: Clock.now()) {
        _ = done.enqueue($0)
      }
      guard let outcomes = done.dequeueAll()?.first else { throw Self.notDone }
      return outcomes
    }
  }

  /// Drops at most `Quarantine.batchLimit` notifications.
  ///
  /// - Returns: how many of them there were.
  func drop(_ ids: [Int64]) throws(LedgerError) -> Int {
    switch way {
    case .daemon(let daemon):
      let answer = try daemon.post("/control/quarantine/drop", Self.body(ids))
      guard answer.status == 200, let count = answer.body["dropped"]?.integer else {
        throw Self.notDone
      }
      return Int(count)
    case .standalone(let ledger):
      let done = BoundedQueue<Int?>(capacity: 1)
      ledger.dropQuarantined(ids) { _ = done.enqueue($0) }
      guard let count = done.dequeueAll()?.first ?? nil else { throw Self.notDone }
      return count
    }
  }

  private static func body(_ ids: [Int64]) -> [UInt8] {
    Array(ids.map { "\($0)" }.joined(separator: "\n").utf8)
  }

  private static let notDone = LedgerError.unavailable(
    "the journal could not be written; try again")
}
