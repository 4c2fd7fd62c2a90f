public import Ledger
public import Platform
public import Store

/// Checks every promise on the data at rest, without changing a byte of it.
public enum Verify {
  /// Checked on a thread of their own while others walk the chain; what takes longest is last.
  private static let beside: [Check] = [
    .projection, .customers, .quarantine, .held, .statements, .tables, .pages,
  ]

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
  ) throws(LedgerError) -> CheckReport {
    let run = CheckRun(
      folder, isChainAlone ? .chain : .signatures(configuration.trustRoots), threads: threads,
      CheckReport(comparesProjection: !isChainAlone, isChainAlone: isChainAlone),
      progress: progress)
    try run.run(
      [.schema, .chain(beside: isChainAlone ? [] : beside)] + (anchors.map { [.anchors($0)] } ?? [])
    )
    return run.report
  }
}
