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
  ) throws(LedgerError) -> CheckReport {
    let path = DataFolder(path: path).path
    guard try kind(path) == .folder else {
      throw .unavailable("\(path) is not a folder; give the one that `subledger backup` made")
    }
    let run = CheckRun(DataFolder(path: path), .columns, threads: threads) { done, all in
      progress(.checking, done, all)
    }
    do throws(BackupManifest.Fault) {
      let manifest = try BackupManifest.read(path)
      run.report { $0.manifest = manifest }
    } catch {
      switch error {
      case .newer(let version):
        throw .newer(found: version, known: Int(BackupManifest.version))
      case .malformed(let what): run.add(5, nil, what)
      }
    }
    if let manifest = run.report.manifest, try checkFiles(path, manifest, run, progress) {
      try checkJournal(manifest, run)
    }
    guard !run.isStopped else { throw .stopped }
    return run.report
  }

  /// - Returns: whether the journal can be opened.
  private static func checkFiles(
    _ path: String, _ manifest: BackupManifest, _ run: CheckRun, _ progress: BackupProgress
  ) throws(LedgerError) -> Bool {
    var isReadable = true
    for expected in manifest.files {
      let name = expected.name
      guard try kind("\(path)/\(name)") == .file else {
        run.add(5, nil, "\(name) is missing, or not a plain file")
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
        run.add(5, nil, "\(name) is not what \(BackupManifest.name) says: it was changed")
      }
    }
    // SQLite would read these files with the journal, and a restore does not copy them.
    for suffix in ["-wal", "-journal", "-shm"] {
      let name = BackupManifest.journal + suffix
      guard try kind("\(path)/\(name)") != nil else { continue }
      run.add(5, nil, "\(name) is not part of a backup; move it away")
      isReadable = false
    }
    return isReadable
  }

  private static func kind(_ path: String) throws(LedgerError) -> FileKind? {
    try FileKind.of(path)
  }

  private static func checkJournal(
    _ manifest: BackupManifest, _ run: CheckRun
  ) throws(LedgerError) {
    let isChanged = !run.report.findings.isEmpty
    do throws(LedgerError) {
      try run.run([.chain(), .quarantine, .manifest(manifest), .schema, .tables, .pages])
    } catch {
      switch error.code {
      case .foreign:
        run.add(5, nil, "\(BackupManifest.journal) cannot be read: \(error.detail)")
      case .newer where isChanged: return
      default: throw error
      }
    }
  }
}

extension Check {
  /// The journal is the one that the manifest of a backup describes.
  fileprivate static func manifest(_ manifest: BackupManifest) -> Check {
    Check { (journal, run) throws(LedgerError) in
      if try journal.head() != manifest.head {
        run.add(5, nil, "the journal's head is not the one of \(BackupManifest.name)")
      }
      if try journal.journalId() != manifest.journalId {
        run.add(5, nil, "the journal is not the one of \(BackupManifest.name)")
      }
      if try journal.quarantineCounts().stored != manifest.quarantined {
        run.add(2, nil, "the quarantine is not the one of \(BackupManifest.name)")
      }
    }
  }
}
