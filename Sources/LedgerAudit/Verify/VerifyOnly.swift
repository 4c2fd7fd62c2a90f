public import Configuration
public import JournalStore

/// Checks the events and rows of one original transaction id: seconds where all of them are hours.
extension Verify {
  /// Whose. Without environment or bundle id: of all that have the id.
  public struct Only: Sendable {
    public var originalTransactionId: String
    public var environment: String?
    public var bundleId: String?

    public init(_ originalTransactionId: String, environment: String?, bundleId: String?) {
      self.originalTransactionId = originalTransactionId
      self.environment = environment
      self.bundleId = bundleId
    }

    func covers(_ key: StreamKey) -> Bool {
      (environment.map { $0 == key.environment } ?? true)
        && (bundleId.map { $0.utf8.elementsEqual(key.bundleId.utf8) } ?? true)
    }
  }

  /// Verifies what is of some streams: every signature, columns against bodies, bodies against
  /// their hashes, each event's own link in the chain, rows against their refold (promises 3, 5 and
  /// 7). The rest of the chain is not walked: an event that was taken away whole need not show.
  ///
  /// - Parameter progress: events checked and how many there are, now and then; false stops.
  /// - Returns: nil where there is no such event.
  public static func run(
    _ folder: DataFolder, _ configuration: Configuration, only: Only, threads: Int,
    progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(VerifyError) -> Report? {
    let findings = Findings()
    var report: Report? = Report(isWhole: false)
    try readable(findings) { () throws(VerifyError) in
      report = try check(folder, configuration, only, threads: threads, findings, progress)
    }
    guard var report else { return nil }
    (report.findings, report.findingCount) = findings.sorted
    return report
  }

  private static func check(
    _ folder: DataFolder, _ configuration: Configuration, _ only: Only, threads: Int,
    _ findings: Findings, _ progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(VerifyError) -> Report? {
    let journal = try VerifyError.store { () throws(StoreError) in
      try JournalReader.open(folder)
    }
    try step(findings) { () throws(StoreError) in
      for fault in try journal.schemaFaults() { findings.add(5, nil, "the file: \(fault)") }
    }
    let (keys, seqs) = try VerifyError.store { () throws(StoreError) in
      let keys = try journal.streams(withOriginalTransactionId: only.originalTransactionId)
        .filter(only.covers)
      var seqs: [Int64] = []
      for key in keys { seqs += try journal.seqs(of: key) }
      return (keys, seqs)
    }
    guard !seqs.isEmpty else { return nil }
    let work = ChainWork(head: Int64(seqs.count), size: 16, progress: progress)
    try eachThread(min(threads, seqs.count / 16 + 1)) { () throws(VerifyError) in
      try ChainCheck(folder, .signatures(configuration.trustRoots), findings).run(work, of: seqs)
    }
    var report = Report(events: work.done, isWhole: false, isStopped: work.isStopped)
    guard !work.isStopped else { return report }
    try step(findings, 7, "the rows' file") { () throws(StoreError) in
      let rows = try ProjectionCheck.run(folder, journal, only: only, keys, findings)
      (report.rows, report.comparesProjection) = (rows.rows, rows.isCompared)
    }
    return report
  }
}
