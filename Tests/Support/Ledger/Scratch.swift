import Foundation

/// A temporary folder that is removed with the value.
public final class Scratch {
  public let path: String

  /// Makes the folder, in memory if the machine allows that, because tests sync thousands of times.
  public init() throws {
    let memory = "/dev/shm"
    let parent =
      FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
    path = parent + "/subledger-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Makes or replaces a file of mode 0600.
  @discardableResult
  public func write(_ bytes: [UInt8], to name: String) throws -> String {
    let file = path + "/" + name
    guard
      FileManager.default.createFile(
        atPath: file, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    return file
  }

  @discardableResult
  public func write(_ text: String, to name: String) throws -> String {
    try write(Array(text.utf8), to: name)
  }

  /// The names and the bytes of all files, to search for what must not be there.
  public func allBytes() throws -> [UInt8] {
    try Self.allBytes(in: path)
  }

  /// The names and the bytes of all files of a folder. `contents(atPath:)` is avoided because it
  /// leaks 4 KiB of memory for an empty file.
  public static func allBytes(in folder: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      bytes += Array(name.utf8)
      let file = FileHandle(forReadingAtPath: folder + "/" + name)
      bytes += (try? file?.readToEnd()).map(Array.init) ?? []
    }
    return bytes
  }
}
