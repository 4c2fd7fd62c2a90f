import Glibc
public import JournalStore
import Platform

/// Makes a data folder of a backup, which stays as it is.
public enum Restore {
  /// Checks a backup and copies it into a folder that is not there, or has nothing in it but the
  /// file `lock`, which stays for ever once there was one. The journal gets its name last, and
  /// under the folder's lock, so that no daemon starts on a part of it (promise 10).
  ///
  /// - Throws: `broken` where the backup is not what it was.
  public static func run(
    _ backup: String, into folder: DataFolder, threads: Int, progress: @escaping BackupProgress
  ) throws(BackupError) -> BackupManifest {
    try requireEmpty(folder)
    guard !(folder.path + "/").hasPrefix(DataFolder(path: backup).path + "/") else {
      throw .refused(
        "\(folder.path) is inside the backup, which stays as it is; give another --data")
    }
    let report = try BackupCheck.run(backup, threads: threads, progress: progress)
    guard let manifest = report.manifest, report.findingCount == 0 else {
      throw .broken(report.findings, count: report.findingCount)
    }
    let lock = try take(folder)
    defer { withExtendedLifetime(lock) {} }
    try requireEmpty(folder)
    let source = DataFolder(path: backup).path
    let others = manifest.files.filter { $0.name != BackupManifest.journal }
    // Under the name it has until it is whole, it keeps a start off the rest as well.
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

  private static func requireEmpty(_ folder: DataFolder) throws(BackupError) {
    let next = "restore into a folder that is not there, or is empty: give another --data"
    let kind = try BackupError.files { () throws(PlatformError) in try FileKind.of(folder.path) }
    guard let kind else { return }
    guard kind == .folder else { throw .refused("\(folder.path) is no folder; \(next)") }
    let names = try BackupError.files { () throws(PlatformError) in
      try FolderListing.names(folder.path)
    }
    guard let first = names.first(where: { $0 != "lock" }) else { return }
    throw .refused(
      "\(folder.path) is not empty, it has \(first); \(next), or move what is in it away")
  }

  private static func take(_ folder: DataFolder) throws(BackupError) -> FolderLock {
    try BackupError.store { () throws(StoreError) in
      try folder.create()
      guard chmod(folder.path, 0o700) == 0 else {
        throw StoreError(.last("make \(folder.path) private"))
      }
      return try folder.lock()
    }
  }

  private static func target(
    _ name: String, _ folder: DataFolder
  ) throws(BackupError) -> AtomicFileWriter {
    try BackupError.files { () throws(PlatformError) in
      try AtomicFileWriter("\(folder.path)/\(name)")
    }
  }

  /// The file is there under its name only whole, synced, and with the bytes that were described.
  private static func fill(
    _ target: AtomicFileWriter, _ file: BackupManifest.File, from source: String,
    to folder: DataFolder,
    _ progress: BackupProgress
  ) throws(BackupError) {
    var size: Int64 = 0
    let copied = try BackupError.files { () throws(PlatformError) in
      try BackupManifest.File.read(file.name, in: source) { (piece) throws(PlatformError) in
        try target.write(Array(piece))
        size += Int64(piece.count)
        return progress(.copying, size >> 20, file.bytes >> 20)
      }
    }
    guard let copied else { throw .stopped }
    guard copied == file else {
      let finding = Verify.Finding(promise: 5, seq: nil, what: "\(file.name) changes meanwhile")
      throw .broken([finding], count: 1)
    }
    try BackupError.files { () throws(PlatformError) in try target.finish() }
  }
}
