import Ledger
import Platform
import Store

/// Journals lines of NDJSON: in the daemon that runs on the folder, else in this process.
struct LineJournal {
  private let folder: DataFolder
  private let configuration: Configuration
  private let receiver: Receiver
  /// Nil while a daemon has the folder.
  let ledger: Ledger?

  /// - Throws: what the store throws if the folder cannot be opened.
  init(_ folder: DataFolder, _ configuration: Configuration) throws(LedgerError) {
    (self.folder, self.configuration) = (folder, configuration)
    receiver = try StandaloneLedger.receiver(configuration)
    ledger =
      ControlClient(folder) == nil ? try StandaloneLedger.start(folder, configuration) : nil
  }

  /// Journals any number of lines, in batches.
  ///
  /// - Throws: `LedgerError.unavailable` if nothing can be journaled.
  func submit(_ lines: [[UInt8]]) throws(LedgerError) -> [Outcome] {
    var outcomes: [Outcome] = []
    for start in stride(from: 0, to: lines.count, by: BatchReceive.maximumLines) {
      let end = min(lines.count, start + BatchReceive.maximumLines)
      outcomes += try submit(batch: Array(lines[start..<end]))
    }
    return outcomes
  }

  private func submit(batch lines: [[UInt8]]) throws(LedgerError) -> [Outcome] {
    let outcomes: [Outcome]
    if let ledger {
      outcomes = try IngestCommand.receive(lines, true, receiver, ledger, configuration)
    } else {
      // A new connection each time: the daemon may close an idle one.
      guard let daemon = ControlClient(folder) else {
        throw .unavailable("the daemon has ended; run this again")
      }
      outcomes = try IngestCommand.send(lines, true, to: daemon)
    }
    for case .refused(.unavailable(let code)) in outcomes {
      throw .unavailable("nothing can be journaled (\(code)); run this again")
    }
    return outcomes
  }
}
