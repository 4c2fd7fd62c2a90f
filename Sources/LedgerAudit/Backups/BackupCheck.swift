import Configuration
import JournalStore
import Platform

/// Whether a backup is what it was when it was made, and a journal that can be started on. Writes
/// nothing, also not beside its files.
///
/// The whole chain is walked: places, hashes from the bodies, columns against the bodies (promise
/// 5), quarantine, indexes. The signatures are not proven again; `verify --data` of the backup's
/// folder does that.
public enum BackupCheck {
  public struct Report: Sendable {
    /// Nil where it could not be read.
    public var manifest: BackupManifest?
    /// How many events were checked.
    public var events: Int64 = 0
    /// Lowest place first; at most `Verify.maximumFindings`.
    public var findings: [Verify.Finding] = []
    /// How many there are, kept or not.
    public var findingCount = 0
  }

  /// Checks the backup in a folder.
  ///
  /// - Throws: `store(.newer)` for one that a newer program made; `refused` where there is none.
  public static func run(
    _ path: String, threads: Int, progress: @escaping BackupProgress
  ) throws(BackupError) -> Report {
    let path = DataFolder(path: path).path
    guard try kind(path) == .folder else {
      throw .refused("\(path) is no folder; give the one that `subledger backup` made")
    }
    let findings = Verify.Findings()
    var report = Report()
    do throws(BackupManifest.Fault) {
      report.manifest = try BackupManifest.read(path)
    } catch {
      switch error {
      case .newer(let version):
        throw .store(.newer(found: version, known: Int(BackupManifest.version)))
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

  /// - Returns: whether the journal can be looked into.
  private static func checkFiles(
    _ path: String, _ manifest: BackupManifest, _ findings: Verify.Findings,
    _ progress: BackupProgress
  ) throws(BackupError) -> Bool {
    var isReadable = true
    for expected in manifest.files {
      let name = expected.name
      guard try kind("\(path)/\(name)") == .file else {
        findings.add(5, nil, "\(name) is missing, or no plain file")
        if name == BackupManifest.journal { isReadable = false }
        continue
      }
      var size: Int64 = 0
      let file = try BackupError.files { () throws(PlatformError) in
        try BackupManifest.File.read(name, in: path) { piece in
          size += Int64(piece.count)
          return progress(.copying, size >> 20, expected.bytes >> 20)
        }
      }
      guard let file else { throw .stopped }
      if file != expected {
        findings.add(5, nil, "\(name) is not what \(BackupManifest.name) says: it was changed")
      }
    }
    // SQLite would read them with the file, and no restore copies them.
    for suffix in ["-wal", "-journal", "-shm"] {
      let name = BackupManifest.journal + suffix
      guard try kind("\(path)/\(name)") != nil else { continue }
      findings.add(5, nil, "\(name) is no part of a backup; move it away")
      isReadable = false
    }
    return isReadable
  }

  private static func kind(_ path: String) throws(BackupError) -> FileKind? {
    try BackupError.files { () throws(PlatformError) in try FileKind.of(path) }
  }

  private static func checkJournal(
    _ path: String, _ manifest: BackupManifest, _ findings: Verify.Findings, _ threads: Int,
    _ progress: @escaping BackupProgress
  ) throws(BackupError) -> Int64 {
    let isChanged = findings.sorted.1 > 0
    let count: Int64?
    do throws(VerifyError) {
      count = try walk(DataFolder(path: path), manifest, findings, threads, progress)
    } catch {
      switch error {
      case .store(.corrupt(let what)), .store(.foreign(let what)):
        findings.add(5, nil, "\(BackupManifest.journal) cannot be read: \(what)")
        return 0
      case .store(.newer) where isChanged: return 0
      case .store(let error): throw .store(error)
      case .configuration(let error): throw .refused(error.description)
      case .anchors(let error): throw .refused(error.description)
      }
    }
    guard let count else { throw .stopped }
    return count
  }

  /// - Returns: how many events there are; nil where it was stopped.
  private static func walk(
    _ folder: DataFolder, _ manifest: BackupManifest, _ findings: Verify.Findings, _ threads: Int,
    _ progress: @escaping BackupProgress
  ) throws(VerifyError) -> Int64? {
    let journal = try VerifyError.store { () throws(StoreError) in try JournalReader.open(folder) }
    defer { journal.close() }
    let head = try VerifyError.store { () throws(StoreError) in try journal.head() }
    let work = ChainWork(head: head.seq) { done, all in progress(.checking, done, all) }
    try Verify.eachThread(threads) { () throws(VerifyError) in
      try ChainCheck(folder, .columns, findings).run(work)
    }
    guard !work.isStopped else { return nil }
    try VerifyError.store { () throws(StoreError) in
      try QuarantineCheck.run(journal, nil, findings)
      try compare(journal, head, manifest, findings)
    }
    return work.done
  }

  /// What the manifest says of the journal, and what the chain cannot show.
  private static func compare(
    _ journal: JournalReader, _ head: Head, _ manifest: BackupManifest,
    _ findings: Verify.Findings
  ) throws(StoreError) {
    if head != manifest.head {
      findings.add(5, nil, "the journal's head is not the one of \(BackupManifest.name)")
    }
    if try journal.journalId() != manifest.journalId {
      findings.add(5, nil, "the journal is another one than \(BackupManifest.name) says")
    }
    let count = try journal.eventCount()
    if count != head.seq {
      findings.add(5, nil, "\(count) events up to seq \(head.seq)")
    }
    if try journal.quarantineCounts().kept != manifest.quarantined {
      findings.add(2, nil, "the quarantine is not the one of \(BackupManifest.name)")
    }
    for fault in try journal.schemaFaults() + journal.pageFaults() {
      findings.add(5, nil, "the file: \(fault)")
    }
  }
}
