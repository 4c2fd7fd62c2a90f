import CLinux
import Glibc

/// A folder that is filled under another name and has its own only once it is whole. Nothing that
/// is there is ever replaced, and no link is followed.
///
/// mkdir(2) makes a folder or fails, also where the name is a link that leads nowhere.
public final class AtomicDirectory {
  public let path: String
  /// Where to fill it: `path` with `.partial` behind. Of this process alone: it made it.
  public let partial: String
  /// From making it until it has its name: then it goes with this value.
  private var isToBeRemoved = false

  /// Makes the folder to be filled, with mode 0700 in a folder that is there.
  ///
  /// - Throws: `PlatformError.system`: EEXIST where `path` or its `.partial` is there.
  public init(_ path: String) throws(PlatformError) {
    self.path = path
    partial = path + ".partial"
    guard try FileKind.of(path) == nil else { throw .system("make \(path)", EEXIST) }
    guard mkdir(partial, 0o700) == 0 else { throw .last("make \(partial)") }
    isToBeRemoved = true
  }

  /// Leaves nothing behind where it was not finished. It holds plain files, no folders.
  deinit {
    guard isToBeRemoved else { return }
    for name in (try? FolderListing.names(partial)) ?? [] { unlink("\(partial)/\(name)") }
    rmdir(partial)
  }

  /// Gives it its name, durably; what is in it was synced before.
  ///
  /// - Throws: EEXIST where something has taken the name meanwhile.
  public func finish() throws(PlatformError) {
    try DurableFile.syncFolder(of: "\(partial)/.")
    try Self.rename(partial, to: path)
    isToBeRemoved = false
    try DurableFile.syncFolder(of: path)
  }

  private static func rename(_ from: String, to path: String) throws(PlatformError) {
    if renameat2(AT_FDCWD, from, AT_FDCWD, path, subledger_rename_noreplace) == 0 { return }
    // Network file systems and old kernels do not know the flag (rename(2)).
    guard errno == EINVAL || errno == ENOSYS else { throw .last("name \(path)") }
    try renameOntoOwn(from, to: path)
  }

  /// The same without the flag: rename(2) replaces no folder but an empty one, and the one it
  /// replaces is our own, or the making of it has failed.
  package static func renameOntoOwn(_ from: String, to path: String) throws(PlatformError) {
    guard mkdir(path, 0o700) == 0 else { throw .last("name \(path)") }
    guard Glibc.rename(from, path) == 0 else { throw .last("name \(path)") }
  }
}

/// The names in a folder.
public enum FolderListing {
  /// Without `.` and `..`, in order.
  public static func names(_ path: String) throws(PlatformError) -> [String] {
    guard let folder = opendir(path) else { throw .last("read the folder \(path)") }
    defer { closedir(folder) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
      errno = 0
    }
    guard errno == 0 else { throw .last("read the folder \(path)") }
    return names.sorted()
  }
}
