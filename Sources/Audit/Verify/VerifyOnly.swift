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
  /// - Returns: nil if there is no such event.
  /// - Throws: `LedgerError` if the folder cannot be opened. Damage is a finding.
  public static func run(
    _ folder: DataFolder, _ configuration: Configuration, only: Only, threads: Int,
    progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(LedgerError) -> VerifyReport? {
    let findings = FindingCollector()
    var report: VerifyReport? = VerifyReport(isWhole: false)
    try reportingDamage(findings) { () throws(LedgerError) in
      report = try check(folder, configuration, only, threads: threads, findings, progress)
    }
    guard var report else { return nil }
    (report.findings, report.findingCount) = findings.sorted
    return report
  }

  private static func check(
    _ folder: DataFolder, _ configuration: Configuration, _ only: Only, threads: Int,
    _ findings: FindingCollector, _ progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(LedgerError) -> VerifyReport? {
    let journal = try JournalReader.open(folder)
    try step(findings) { () throws(LedgerError) in
      for fault in try journal.schemaFaults() { findings.add(5, nil, "the file: \(fault)") }
    }
    let keys = try journal.streams(withOriginalTransactionId: only.originalTransactionId)
      .filter(only.covers)
    let seqs = Array(
      try keys.map { (key) throws(LedgerError) in try journal.seqs(of: key) }.joined())
    guard !seqs.isEmpty else { return nil }
    let work = ChainWork(head: Int64(seqs.count), batchSize: 16, progress: progress)
    try VerifyThreads.run(min(threads, seqs.count / 16 + 1)) { () throws(LedgerError) in
      try ChainCheck(folder, .signatures(configuration.trustRoots), findings).run(work, of: seqs)
    }
    var report = VerifyReport(events: work.done, isWhole: false, isStopped: work.isStopped)
    guard !work.isStopped else { return report }
    try step(findings, 7, "the projection") { () throws(LedgerError) in
      let outcome = try ProjectionCheck.run(folder, journal, only: only, keys, findings)
      (report.rows, report.comparesProjection) = (outcome.rows, outcome.isCompared)
    }
    return report
  }
}
