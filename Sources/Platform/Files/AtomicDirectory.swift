import CLinux
import Glibc

/// A folder that is filled under a temporary name and gets its final name only when it is complete.
/// Nothing that exists is ever replaced, and no link is followed.
///
/// mkdir(2) creates a folder or fails, also when the name is a dangling link.
public final class AtomicDirectory {
  /// The final path.
  let path: String
  /// The folder to fill: `path` and the suffix `.partial`. This process created it, so no other
  /// one uses it.
  public let partial: String
  /// Whether `deinit` removes the folder: from its creation until it has its final name.
  private var isToBeRemoved = false

  /// Creates the folder to fill, with mode 0700. The folder around it must exist.
  ///
  /// - Throws: `LedgerError.system` with EEXIST when `path` or `partial` exists, or the errno of
  ///   mkdir(2).
  public init(_ path: String) throws(LedgerError) {
    self.path = path
    partial = path + ".partial"
    guard try FileKind.of(path) == nil else { throw .system("create \(path)", EEXIST) }
    guard mkdir(partial, 0o700) == 0 else { throw .last("create \(partial)") }
    isToBeRemoved = true
  }

  /// Removes an unfinished folder and its files. It must not hold folders.
  deinit {
    guard isToBeRemoved else { return }
    for name in (try? FolderListing.names(partial)) ?? [] { unlink("\(partial)/\(name)") }
    rmdir(partial)
  }

  /// Gives the folder its final name, durably. The caller has synced the files in it.
  ///
  /// - Throws: `LedgerError.system` with EEXIST when something else got the name meanwhile, or
  ///   the errno of the sync or the rename.
  public func finish() throws(LedgerError) {
    try DurableFile.syncFolder(of: "\(partial)/.")
    try Self.rename(partial, to: path)
    isToBeRemoved = false
    try DurableFile.syncFolder(of: path)
  }

  private static func rename(_ from: String, to path: String) throws(LedgerError) {
    if renameat2(AT_FDCWD, from, AT_FDCWD, path, subledger_rename_noreplace) == 0 { return }
    // Network file systems and old kernels do not support the flag (rename(2)).
    guard errno == EINVAL || errno == ENOSYS else { throw .last("rename to \(path)") }
    try renameOntoOwn(from, to: path)
  }

  /// Renames without the flag. rename(2) replaces an empty folder and no other; the one it replaces
  /// here was created a moment before, or mkdir(2) has failed.
  ///
  /// - Throws: `LedgerError.system` with EEXIST when `path` exists, or the errno of rename(2).
  package static func renameOntoOwn(_ from: String, to path: String) throws(LedgerError) {
    guard mkdir(path, 0o700) == 0 else { throw .last("rename to \(path)") }
    guard Glibc.rename(from, path) == 0 else { throw .last("rename to \(path)") }
  }
}
