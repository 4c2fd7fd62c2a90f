import Ledger
import Platform
import Store
import Synchronization

/// What one thread checks while the others walk the chain: the projection, the quarantine, and the
/// pages of the journal's file.
final class RemainingChecks: Sendable {
  private let isClaimed = Atomic(false)
  private let outcome = Mutex(ProjectionCheck.Outcome())

  /// What came of the projection.
  var projection: ProjectionCheck.Outcome { outcome.withLock { $0 } }

  /// Returns true for the first thread that asks, and false for all others.
  func claim() -> Bool { !isClaimed.exchange(true, ordering: .relaxed) }

  func run(
    _ folder: DataFolder, _ configuration: Configuration, head: Int64, _ findings: FindingCollector,
    until isStopped: () -> Bool
  ) throws(LedgerError) {
    let journal = try JournalReader.open(folder)
    try Verify.step(findings, 7, "the projection") { () throws(LedgerError) in
      let found = try ProjectionCheck.run(
        folder, journal, head: head, findings, until: isStopped)
      outcome.withLock { $0 = found }
    }
    guard !isStopped() else { return }
    try Verify.step(findings) { () throws(LedgerError) in
      try QuarantineCheck.run(journal, configuration, findings)
    }
    try Verify.step(findings) { () throws(LedgerError) in
      try HeldCheck.run(journal, configuration, findings)
    }
    try Verify.step(findings) { () throws(LedgerError) in
      for fault in try journal.rowFaults() { findings.add(5, nil, "the file: \(fault)") }
    }
    guard !isStopped() else { return }
    try Verify.step(findings) { () throws(LedgerError) in
      for fault in try journal.pageFaults() { findings.add(5, nil, "the file: \(fault)") }
    }
  }
}
