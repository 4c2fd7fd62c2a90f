import Glibc
public import Platform
public import Store

/// Makes a data folder from a backup, which is not changed.
public enum Restore {
  /// Checks a backup and copies it into a folder that does not exist, or contains nothing but the
  /// file `lock`, which is never removed once it was made. The journal gets its name last, and
  /// under the folder's lock, so that no daemon starts on a part of it (promise 10).
  ///
  /// - Parameters:
  ///   - backup: the backup's folder.
  ///   - threads: how many threads check the backup.
  /// - Throws: `LedgerError.unavailable` if there is no backup, or the folder is not empty or
  ///   inside the backup; `.brokenBackup` if the backup has findings or changes meanwhile;
  ///   what the store throws if a file cannot be read or written, or a daemon holds the folder;
  ///   `LedgerError.stopped`.
  public static func run(
    _ backup: String, into folder: DataFolder, threads: Int, progress: @escaping BackupProgress
  ) throws(LedgerError) -> BackupManifest {
    try requireEmpty(folder)
    guard !(folder.path + "/").hasPrefix(DataFolder(path: backup).path + "/") else {
      throw .unavailable(
        "\(folder.path) is inside the backup, which must not change; give another --data")
    }
    let report = try BackupCheck.run(backup, threads: threads, progress: progress)
    guard let manifest = report.manifest, report.findings.isEmpty else {
      throw .broken(report.findings)
    }
    let lock = try makeAndLock(folder)
    defer { withExtendedLifetime(lock) {} }
    try requireEmpty(folder)
    let source = DataFolder(path: backup).path
    let others = manifest.files.filter { $0.name != BackupManifest.journal }
    // Made first: while the journal has its partial name, no daemon starts on this folder.
    let journal = try target(BackupManifest.journal, folder)
    do {
      for file in others {
        try fill(try target(file.name, folder), file, from: source, to: folder, progress)
      }
      for file in manifest.files where file.name == BackupManifest.journal {
        try fill(journal, file, from: source, to: folder, progress)
      }
    } catch {
      for file in others { try? DurableFile.remove("\(folder.path)/\(file.name)") }
      throw error
    }
    return manifest
  }

  private static func requireEmpty(_ folder: DataFolder) throws(LedgerError) {
    let next = "restore into a folder that does not exist or is empty: give another --data"
    let kind = try FileKind.of(folder.path)
    guard let kind else { return }
    guard kind == .folder else { throw .unavailable("\(folder.path) is not a folder; \(next)") }
    let names = try FolderListing.names(folder.path)
    guard let first = names.first(where: { $0 != "lock" }) else { return }
    throw .unavailable(
      "\(folder.path) is not empty, it contains \(first); \(next), or move its contents away")
  }

  private static func makeAndLock(_ folder: DataFolder) throws(LedgerError) -> FolderLock {
    try folder.create()
    guard chmod(folder.path, 0o700) == 0 else {
      throw .last("make \(folder.path) private")
    }
    return try folder.lock(thatGives: true)
  }

  private static func target(
    _ name: String, _ folder: DataFolder
  ) throws(LedgerError) -> AtomicFileWriter {
    try AtomicFileWriter("\(folder.path)/\(name)")
  }

  /// Copies a file. It gets its name only once it is whole, synced and as the manifest describes
  /// it.
  private static func fill(
    _ target: AtomicFileWriter, _ file: BackupFile, from source: String,
    to folder: DataFolder,
    _ progress: BackupProgress
  ) throws(LedgerError) {
    var size: Int64 = 0
    let copied = try BackupFile.read(file.name, in: source) { (chunk) throws(LedgerError) in
      try target.write(Array(chunk))
      size += Int64(chunk.count)
      return progress(.copying, size, file.bytes)
    }
    guard let copied else { throw .stopped }
    guard copied == file else {
      var findings = Findings()
      findings.add(5, nil, "\(file.name) changed while it was copied")
      throw .broken(findings)
    }
    try target.finish()
  }
}
