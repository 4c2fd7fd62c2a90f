import Ledger
public import Platform
import Store

/// Checks that a backup is what it was when it was made, and that a daemon can start on it. Writes
/// nothing, neither to its files nor beside them.
///
/// The whole chain is walked: seqs, hashes of the bodies, columns against the bodies (promise 5),
/// quarantine, indexes. The signatures are not proven again; `verify --data` of the backup's folder
/// does that.
public enum BackupCheck {
  /// Checks the backup in a folder.
  ///
  /// - Parameters:
  ///   - path: the backup's folder.
  ///   - threads: how many threads walk the chain.
  /// - Throws: `LedgerError.unavailable` if there is no folder; `LedgerError.newer` if a
  ///   newer program made it; `LedgerError.stopped`. Damage is a finding.
  public static func run(
    _ path: String, threads: Int, progress: @escaping BackupProgress
  ) throws(LedgerError) -> BackupReport {
    let path = DataFolder(path: path).path
    guard try kind(path) == .folder else {
      throw .unavailable("\(path) is not a folder; give the one that `subledger backup` made")
    }
    let findings = FindingCollector()
    var report = BackupReport()
    do throws(BackupManifest.Fault) {
      report.manifest = try BackupManifest.read(path)
    } catch {
      switch error {
      case .newer(let version):
        throw .newer(found: version, known: Int(BackupManifest.version))
      case .malformed(let what): findings.add(5, nil, what)
      }
    }
    if let manifest = report.manifest {
      if try checkFiles(path, manifest, findings, progress) {
        report.events = try checkJournal(path, manifest, findings, threads, progress)
      }
    }
    (report.findings, report.findingCount) = findings.sorted
    return report
  }

  /// - Returns: whether the journal can be opened.
  private static func checkFiles(
    _ path: String, _ manifest: BackupManifest, _ findings: FindingCollector,
    _ progress: BackupProgress
  ) throws(LedgerError) -> Bool {
    var isReadable = true
    for expected in manifest.files {
      let name = expected.name
      guard try kind("\(path)/\(name)") == .file else {
        findings.add(5, nil, "\(name) is missing, or not a plain file")
        if name == BackupManifest.journal { isReadable = false }
        continue
      }
      var size: Int64 = 0
      let file = try BackupFile.read(name, in: path) { chunk in
        size += Int64(chunk.count)
        return progress(.copying, size, expected.bytes)
      }
      guard let file else { throw .stopped }
      if file != expected {
        findings.add(5, nil, "\(name) is not what \(BackupManifest.name) says: it was changed")
      }
    }
    // SQLite would read these files with the journal, and a restore does not copy them.
    for suffix in ["-wal", "-journal", "-shm"] {
      let name = BackupManifest.journal + suffix
      guard try kind("\(path)/\(name)") != nil else { continue }
      findings.add(5, nil, "\(name) is not part of a backup; move it away")
      isReadable = false
    }
    return isReadable
  }

  private static func kind(_ path: String) throws(LedgerError) -> FileKind? {
    try FileKind.of(path)
  }

  private static func checkJournal(
    _ path: String, _ manifest: BackupManifest, _ findings: FindingCollector, _ threads: Int,
    _ progress: @escaping BackupProgress
  ) throws(LedgerError) -> Int64 {
    let isChanged = findings.sorted.1 > 0
    let count: Int64?
    do throws(LedgerError) {
      count = try walk(DataFolder(path: path), manifest, findings, threads, progress)
    } catch {
      switch error.code {
      case .corrupt, .foreign:
        findings.add(5, nil, "\(BackupManifest.journal) cannot be read: \(error.detail)")
        return 0
      case .newer where isChanged: return 0
      default: throw error
      }
    }
    guard let count else { throw .stopped }
    return count
  }

  /// - Returns: how many events were checked; nil if it was stopped.
  private static func walk(
    _ folder: DataFolder, _ manifest: BackupManifest, _ findings: FindingCollector, _ threads: Int,
    _ progress: @escaping BackupProgress
  ) throws(LedgerError) -> Int64? {
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    let head = try journal.head()
    let work = ChainWork(head: head.seq) { done, all in progress(.checking, done, all) }
    try VerifyThreads.run(threads) { () throws(LedgerError) in
      try ChainCheck(folder, .columns, findings).run(work)
    }
    guard !work.isStopped else { return nil }
    try QuarantineCheck.run(journal, nil, findings)
    try compare(journal, head, manifest, findings)
    return work.done
  }

  /// Compares the journal with the manifest, and checks what the chain does not cover.
  private static func compare(
    _ journal: JournalReader, _ head: Head, _ manifest: BackupManifest,
    _ findings: FindingCollector
  ) throws(LedgerError) {
    if head != manifest.head {
      findings.add(5, nil, "the journal's head is not the one of \(BackupManifest.name)")
    }
    if try journal.journalId() != manifest.journalId {
      findings.add(5, nil, "the journal is not the one of \(BackupManifest.name)")
    }
    let count = try journal.eventCount()
    if count != head.seq {
      findings.add(5, nil, "\(count) events up to seq \(head.seq)")
    }
    if try journal.quarantineCounts().stored != manifest.quarantined {
      findings.add(2, nil, "the quarantine is not the one of \(BackupManifest.name)")
    }
    for fault in try journal.schemaFaults() + journal.rowFaults() + journal.pageFaults() {
      findings.add(5, nil, "the file: \(fault)")
    }
  }
}
