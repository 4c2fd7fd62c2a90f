import Ledger
import Platform
import Store
import Synchronization

/// Runs checks of a data folder and writes their report, on several threads at once.
final class CheckRun: Sendable {
  let folder: DataFolder
  let depth: ChainCheck.Depth
  /// How many threads walk the chain.
  let threads: Int
  private let progress: @Sendable (Int64, Int64) -> Bool
  private let state: Mutex<CheckReport>

  /// - Parameter progress: called now and then with the events checked and how many there are;
  ///   false stops.
  init(
    _ folder: DataFolder, _ depth: ChainCheck.Depth, threads: Int,
    _ report: CheckReport = CheckReport(), progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) {
    (self.folder, self.depth, self.threads, self.progress) = (folder, depth, threads, progress)
    state = Mutex(report)
  }

  var report: CheckReport { state.withLock { $0 } }
  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Changes what the report says beside the findings.
  func report(_ change: (inout CheckReport) -> Void) { state.withLock { change(&$0) } }

  func add(_ promise: Int, _ seq: Int64?, _ what: String) {
    report { $0.findings.add(promise, seq, what) }
  }

  func shouldContinue(_ done: Int64, _ all: Int64) -> Bool {
    let shouldContinue = progress(done, all)
    if !shouldContinue { report { $0.isStopped = true } }
    return shouldContinue
  }

  /// Proves signatures again; nil if they are not to be checked.
  func proof() throws(LedgerError) -> NotificationProof? {
    guard case .signatures(let roots) = depth else { return nil }
    return try NotificationProof(roots)
  }

  /// Runs checks one after another until it is stopped. A damaged file is a finding, and ends only
  /// the check that reads it.
  func run(_ checks: [Check]) throws(LedgerError) {
    try reportingDamage { () throws(LedgerError) in
      let journal = try JournalReader.open(folder)
      for check in checks where !isStopped {
        try reportingDamage(check.promise, check.reads) { () throws(LedgerError) in
          try check.body(journal, self)
        }
      }
    }
  }

  /// An SQL error is damage too, because no statement fails on a file whose schema is as it was
  /// created.
  private func reportingDamage(
    _ promise: Int = 5, _ file: String = "journal.sqlite",
    _ body: () throws(LedgerError) -> Void
  ) throws(LedgerError) {
    do throws(LedgerError) {
      try body()
    } catch {
      guard [.corrupt, .sql].contains(error.code) else { throw error }
      add(promise, nil, "\(file) is damaged: not all of it can be read")
    }
  }
}
