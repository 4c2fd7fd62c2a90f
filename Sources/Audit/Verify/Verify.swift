public import Ledger
public import Platform
import SignedData
public import Store

/// Checks every promise on the data at rest, without changing a byte of it.
public enum Verify {
  /// How many findings a report holds at most: those with the lowest seqs.
  static let maximumFindings = 1000

  /// Verifies a folder, whether a daemon runs on it or not.
  ///
  /// - Parameters:
  ///   - anchors: the anchors that the journal must contain; nil for none.
  ///   - isChainAlone: whether to leave out signatures, columns, rows and quarantine.
  ///   - threads: how many threads walk the chain; one more checks everything else.
  ///   - progress: called now and then with the events checked and the head; false stops.
  /// - Throws: `LedgerError` if the folder cannot be opened or an anchor file cannot be read. What
  ///   is wrong with the data is a finding, also when a damaged file cannot be read to its end.
  public static func run(
    _ folder: DataFolder, _ configuration: Configuration, anchors: AnchorsFile? = nil,
    isChainAlone: Bool = false, threads: Int,
    progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(LedgerError) -> VerifyReport {
    let findings = FindingCollector()
    var report = VerifyReport()
    try reportingDamage(findings) { () throws(LedgerError) in
      report = try check(
        folder, configuration, isChainAlone, threads: threads, findings, progress)
    }
    if let anchors, !report.isStopped {
      try reportingDamage(findings) { () throws(LedgerError) in
        report.anchors = try AnchorsCheck.run(anchors, folder, findings)
      }
    }
    (report.findings, report.findingCount) = findings.sorted
    return report
  }

  private static func check(
    _ folder: DataFolder, _ configuration: Configuration, _ isChainAlone: Bool, threads: Int,
    _ findings: FindingCollector, _ progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(LedgerError) -> VerifyReport {
    let journal = try JournalReader.open(folder)
    try step(findings) { () throws(LedgerError) in
      for fault in try journal.schemaFaults() { findings.add(5, nil, "the file: \(fault)") }
    }
    let (head, last) = try checkDensity(journal, findings)
    let work = ChainWork(head: last, progress: progress)
    let depth: ChainCheck.Depth =
      isChainAlone ? .chain : .signatures(configuration.trustRoots)
    let remaining = RemainingChecks()
    try VerifyThreads.run(isChainAlone ? threads : threads + 1) { () throws(LedgerError) in
      if !isChainAlone && remaining.claim() {
        try remaining.run(folder, configuration, head: head, findings) { work.isStopped }
      } else {
        try ChainCheck(folder, depth, findings).run(work)
      }
    }
    var report = VerifyReport(
      events: work.done, isChainAlone: isChainAlone, isStopped: work.isStopped)
    report.comparesProjection = false
    guard !work.isStopped, !isChainAlone else { return report }
    report.statements = try journal.statementCount()
    let outcome = remaining.projection
    (report.rows, report.digest, report.comparesProjection) = (
      outcome.rows, outcome.digest, outcome.isCompared
    )
    return report
  }

  /// Checks that seqs are dense. An event behind a gap is a finding, and the chain is walked only
  /// as far as there are events, because a forged seq may be as far away as 2^63 - 1.
  ///
  /// - Returns: the greatest seq, and the last seq to walk to.
  private static func checkDensity(
    _ journal: JournalReader, _ findings: FindingCollector
  ) throws(LedgerError) -> (head: Int64, last: Int64) {
    // One snapshot for all three queries, because a daemon may append meanwhile.
    try journal.beginSnapshot()
    defer { journal.endSnapshot() }
    let head = try journal.head().seq
    let count = try journal.eventCount()
    if head < count {
      findings.add(5, head, "is the last seq, but there are \(count) events")
    }
    for seq in try journal.seqs(after: count, limit: maximumFindings) {
      findings.add(5, seq, "leaves a gap before it: there are only \(count) events")
    }
    return (head, min(head, count))
  }

  /// Runs a step that reads one file. A damaged file ends this step alone and is a finding.
  static func step(
    _ findings: FindingCollector, _ promise: Int = 5, _ file: String = "journal.sqlite",
    _ body: () throws(LedgerError) -> Void
  ) throws(LedgerError) {
    try reportingDamage(findings, promise, file) { () throws(LedgerError) in
      try body()
    }
  }

  /// Runs a body and makes a finding of damage that ends it. An SQL error is damage too, because no
  /// statement fails on a file whose schema is as it was created.
  static func reportingDamage(
    _ findings: FindingCollector, _ promise: Int = 5, _ file: String = "journal.sqlite",
    _ body: () throws(LedgerError) -> Void
  ) throws(LedgerError) {
    do throws(LedgerError) {
      try body()
    } catch {
      guard [.corrupt, .sql].contains(error.code) else { throw error }
      findings.add(promise, nil, "\(file) is damaged: not all of it can be read")
    }
  }
}
