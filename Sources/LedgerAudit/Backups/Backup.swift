import Glibc
public import JournalStore
import Platform
import StrictJSON

/// Makes a backup: the journal as it was at one moment, checked before it has its name.
///
/// A backup is a folder with `journal.sqlite`, which holds the quarantine as well, `anchor.key`
/// where there is one, and `backup.json`. Rows are not in it: they are folded from the journal
/// (promise 7). Nor is the configuration, which lies elsewhere.
public enum Backup {
  /// Makes the folder `path`, whether a daemon runs or not. It is filled as `path.partial`, and
  /// what did not come to its end is removed.
  ///
  /// - Parameters:
  ///   - path: not there yet; the folder it shall lie in is.
  ///   - program: the version to write down.
  ///   - now: milliseconds since 1970 UTC.
  ///   - threads: how many check.
  /// - Throws: `broken` where the journal is not as promised; then there is no backup.
  public static func run(
    _ folder: DataFolder, to path: String, program: String, now: Int64, threads: Int,
    progress: @escaping BackupProgress
  ) throws(BackupError) -> BackupManifest {
    let target = try begin(DataFolder(path: path).path)
    let copy = try BackupError.store { () throws(StoreError) in
      try JournalCopy.make(of: folder, at: "\(target.partial)/\(BackupManifest.journal)") {
        progress(.copying, $0, $1)
      }
    }
    guard let copy else { throw .stopped }
    try copyKey(folder, to: target.partial)
    let manifest = BackupManifest(
      journalId: copy.journalId, head: copy.head, schema: Int64(copy.schema),
      quarantined: copy.quarantined, takenAt: now, program: program,
      files: try files(target.partial) { progress(.copying, $0, $0) })
    try BackupError.files { () throws(PlatformError) in
      try DurableFile.write(
        Array((manifest.json.prettyText + "\n").utf8),
        to: "\(target.partial)/\(BackupManifest.name)")
    }
    try check(target.partial, threads: threads, progress: progress)
    do throws(PlatformError) {
      try target.finish()
    } catch {
      throw refusal(error, path)
    }
    return manifest
  }

  private static func begin(_ path: String) throws(BackupError) -> AtomicDirectory {
    do throws(PlatformError) {
      return try AtomicDirectory(path)
    } catch {
      throw refusal(error, path)
    }
  }

  private static func refusal(_ error: PlatformError, _ path: String) -> BackupError {
    guard case .system(_, let code) = error else { return .store(StoreError(error)) }
    let isThere = (try? FileKind.of(path)) != nil
    switch code {
    case EEXIST where isThere:
      return .refused(
        "\(path) is there already, and a backup overwrites nothing; give another name")
    case EEXIST:
      return .refused(
        "\(path).partial is there: another backup makes it now, or one was cut off; where none "
          + "runs, remove it (rm -r) and start again")
    case ENOENT, ENOTDIR:
      return .refused("\(error); the folder that it shall lie in has to be there: make it")
    default: return .store(StoreError(error))
    }
  }

  /// A link in the key's place is an error: a backup without the key would not be one.
  private static func copyKey(_ folder: DataFolder, to path: String) throws(BackupError) {
    try BackupError.files { () throws(PlatformError) in
      let name = BackupManifest.anchorKey
      guard try FileKind.of("\(folder.path)/\(name)") != nil else { return }
      let copy = try AtomicFileWriter("\(path)/\(name)")
      _ = try BackupManifest.File.read(name, in: folder.path) { (piece) throws(PlatformError) in
        try copy.write(Array(piece))
        return true
      }
      try copy.finish()
    }
  }

  /// What there is to be described, as it can be read back.
  private static func files(
    _ path: String, shouldContinue: (Int64) -> Bool
  ) throws(BackupError) -> [BackupManifest.File] {
    let names = try BackupError.files { () throws(PlatformError) in try FolderListing.names(path) }
    var files: [BackupManifest.File] = []
    for name in names {
      var size: Int64 = 0
      let file = try BackupError.files { () throws(PlatformError) in
        try BackupManifest.File.read(name, in: path) { piece in
          size += Int64(piece.count)
          return shouldContinue(size >> 20)
        }
      }
      guard let file else { throw .stopped }
      files.append(file)
    }
    return files
  }

  private static func check(
    _ path: String, threads: Int, progress: @escaping BackupProgress
  ) throws(BackupError) {
    // The snapshot has ended: from here on nothing waits for this, and the daemon comes first.
    ProcessLimits.yield(.toAll)
    let report = try BackupCheck.run(path, threads: threads, progress: progress)
    guard report.findingCount == 0 else {
      throw .broken(report.findings, count: report.findingCount)
    }
  }
}
