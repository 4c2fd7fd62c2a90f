import Glibc
public import Platform
public import Store
import StrictJSON

/// Makes a backup: a snapshot of the journal, checked before the backup gets its name.
///
/// A backup is a folder with `journal.sqlite`, which also holds the quarantine, `backup.json`, and
/// `anchor.key` and `sinks.names` if there are any. It has no projection, which is folded from the
/// journal (promise 7), and no configuration, which is stored elsewhere.
public enum Backup {
  /// Makes the folder `path`, whether a daemon runs or not. It is filled as `path.partial`, which
  /// is removed if the backup does not succeed.
  ///
  /// - Parameters:
  ///   - path: a path that does not exist, in a folder that does.
  ///   - program: the program's version, for the manifest.
  ///   - now: our clock, in milliseconds since 1970 UTC.
  ///   - threads: how many threads check the copy.
  /// - Throws: `LedgerError.unavailable` if the path is taken or its folder is missing;
  ///   `.brokenBackup` if the copy has findings; what the store throws if a file cannot be read
  ///   or written; `LedgerError.stopped`. There is no backup then.
  public static func run(
    _ folder: DataFolder, to path: String, program: String, now: Int64, threads: Int,
    progress: @escaping BackupProgress
  ) throws(LedgerError) -> BackupManifest {
    let target = try begin(DataFolder(path: path).path)
    let copy = try JournalCopy.make(of: folder, at: "\(target.partial)/\(BackupManifest.journal)") {
      progress(.copying, $0, $1)
    }
    guard let copy else { throw .stopped }
    for name in [BackupManifest.anchorKey, BackupManifest.sinkNames] {
      try copyFile(name, folder, to: target.partial)
    }
    let manifest = BackupManifest(
      journalId: copy.journalId, head: copy.head, schema: Int64(copy.schema),
      quarantined: copy.quarantined, takenAt: now, program: program,
      files: try files(target.partial) { progress(.copying, $0, $0) })
    try DurableFile.write(
      Array((manifest.json.prettyText + "\n").utf8),
      to: "\(target.partial)/\(BackupManifest.name)")
    try check(target.partial, threads: threads, progress: progress)
    do throws(LedgerError) {
      try target.finish()
    } catch {
      throw refusal(error, path)
    }
    return manifest
  }

  private static func begin(_ path: String) throws(LedgerError) -> AtomicDirectory {
    do throws(LedgerError) {
      return try AtomicDirectory(path)
    } catch {
      throw refusal(error, path)
    }
  }

  private static func refusal(_ error: LedgerError, _ path: String) -> LedgerError {
    let isThere = (try? FileKind.of(path)) != nil
    switch error.number {
    case EEXIST where isThere:
      return .unavailable(
        "\(path) exists already, and a backup overwrites nothing; give another name")
    case EEXIST:
      return .unavailable(
        "\(path).partial exists: another backup is running, or one was interrupted; if none is "
          + "running, remove it (rm -r) and start again")
    case ENOENT, ENOTDIR:
      return .unavailable("\(error.detail); the folder above it must exist: make it")
    default: return error
    }
  }

  /// Copies a small file, if there is one. A link under its name is an error, because a backup
  /// without it would be incomplete.
  private static func copyFile(
    _ name: String, _ folder: DataFolder, to path: String
  ) throws(LedgerError) {
    guard try FileKind.of("\(folder.path)/\(name)") != nil else { return }
    let copy = try AtomicFileWriter("\(path)/\(name)")
    _ = try BackupFile.read(name, in: folder.path) { (chunk) throws(LedgerError) in
      try copy.write(Array(chunk))
      return true
    }
    try copy.finish()
  }

  /// Describes the files that were written, from what is read back.
  private static func files(
    _ path: String, shouldContinue: (Int64) -> Bool
  ) throws(LedgerError) -> [BackupFile] {
    let names = try FolderListing.names(path)
    var files: [BackupFile] = []
    for name in names {
      var size: Int64 = 0
      let file = try BackupFile.read(name, in: path) { chunk in
        size += Int64(chunk.count)
        return shouldContinue(size)
      }
      guard let file else { throw .stopped }
      files.append(file)
    }
    return files
  }

  private static func check(
    _ path: String, threads: Int, progress: @escaping BackupProgress
  ) throws(LedgerError) {
    // The snapshot has ended, so nothing waits for this check, and the daemon has precedence.
    Niceness.background.apply()
    let report = try BackupCheck.run(path, threads: threads, progress: progress)
    guard report.findings.isEmpty else { throw .broken(report.findings) }
  }
}
