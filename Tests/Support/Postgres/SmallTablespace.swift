import Foundation
import Platform

/// A tablespace of a server on a disk of its own, a small one in memory, that can be filled.
///
/// Mounting it needs root. It is unmounted with the value; a process that is killed leaves it.
package final class SmallTablespace {
  package let name = "small"
  private let server: TemporaryPostgres
  private let folder: String
  private var filler: String { folder + "/filler" }

  /// Whether this process may mount something.
  package static let isPossible: Bool = {
    guard getuid() == 0, let scratch = try? Scratch() else { return false }
    guard mount("tmpfs", scratch.path, "tmpfs", 0, "size=1m") == 0 else { return false }
    return umount2(scratch.path, Int32(MNT_DETACH)) == 0
  }()

  /// - Parameter megabytes: the disk's size.
  package init(on server: TemporaryPostgres, megabytes: Int) throws {
    self.server = server
    folder = "\(server.folder)/small"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false)
    guard mount("tmpfs", folder, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
      throw TestFailure("mount: \(String(cString: strerror(errno)))")
    }
    try server.makeFolder("\(folder)/space")
    try server.sql("CREATE TABLESPACE \(name) LOCATION '\(folder)/space'")
  }

  deinit { umount2(folder, Int32(MNT_DETACH)) }

  /// Fills the disk but for some kilobytes.
  package func fill(leaving kilobytes: Int) throws {
    let file = open(filler, O_WRONLY | O_CREAT, 0o600)
    defer { close(file) }
    let page = [UInt8](repeating: 1, count: 4096)
    var size = 0
    while write(file, page, page.count) == page.count { size += page.count }
    guard errno == ENOSPC, ftruncate(file, max(0, size - kilobytes * 1024)) == 0 else {
      throw TestFailure("the disk was not filled: \(String(cString: strerror(errno)))")
    }
  }

  package func empty() throws { try FileManager.default.removeItem(atPath: filler) }
}
