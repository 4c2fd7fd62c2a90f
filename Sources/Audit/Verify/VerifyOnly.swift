public import AppStore
public import Ledger
public import Platform
public import Store

/// Checks the events and rows of one original transaction id, which takes seconds in a journal
/// whose full verification takes hours.
extension Verify {
  /// Which streams to verify: those with this original transaction id, narrowed by environment and
  /// bundle id if they are given.
  public struct Only: Sendable {
    public var originalTransactionId: String
    public var environment: Environment?
    var bundleId: String?

    public init(_ originalTransactionId: String, environment: Environment?, bundleId: String?) {
      self.originalTransactionId = originalTransactionId
      self.environment = environment
      self.bundleId = bundleId
    }

    func streams(_ journal: JournalReader) throws(LedgerError) -> [StreamKey] {
      try journal.streams(withOriginalTransactionId: originalTransactionId).filter(covers)
    }

    func covers(_ key: StreamKey) -> Bool {
      (environment.map { $0 == key.environment } ?? true)
        && (bundleId.map { ByteSearch.areEqual($0, key.bundleId) } ?? true)
    }
  }

  /// Verifies some streams: every signature, columns against bodies, bodies against their hashes,
  /// each event's own link in the chain, rows against their refold (promises 3, 5 and 7). The rest
  /// of the chain is not walked, so the removal of a whole event may go unnoticed.
  ///
  /// - Parameters:
  ///   - threads: how many threads check events at most.
  ///   - progress: called now and then with the events checked and how many there are; false stops.
  /// - Returns: nil if there is no such event, and nothing was found.
  /// - Throws: `LedgerError` if the folder cannot be opened. Damage is a finding.
  public static func run(
    _ folder: DataFolder, _ configuration: Configuration, only: Only, threads: Int,
    progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(LedgerError) -> CheckReport? {
    let run = CheckRun(
      folder, .signatures(configuration.trustRoots), threads: threads,
      CheckReport(isWhole: false), progress: progress)
    try run.run([.schema, .events(of: only), .rows(of: only)])
    let report = run.report
    return report.events > 0 || report.isStopped || !report.findings.isEmpty ? report : nil
  }
}

extension Check {
  fileprivate static func events(of only: Verify.Only) -> Check {
    Check { (journal, run) throws(LedgerError) in
      let keys = try only.streams(journal)
      let seqs = Array(
        try keys.map { (key) throws(LedgerError) in try journal.seqs(of: key) }.joined())
      let work = ChainWork(head: Int64(seqs.count), batchSize: 16, run.shouldContinue)
      try VerifyThreads.run(min(run.threads, seqs.count / 16 + 1)) { (_) throws(LedgerError) in
        try ChainCheck(run).run(work, of: seqs)
      }
      run.report { $0.events = work.done }
    }
  }

  fileprivate static func rows(of only: Verify.Only) -> Check {
    Check(7, reads: "the projection") { (journal, run) throws(LedgerError) in
      try ProjectionCheck.run(journal, only: only, run)
    }
  }
}
