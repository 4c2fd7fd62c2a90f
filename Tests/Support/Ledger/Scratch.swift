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

  /// The bytes of a file, which may be empty; nil if there is none. `contents(atPath:)` and others
  /// that read a whole file leak 4 KiB of memory for an empty one.
  public static func bytes(of path: String) -> [UInt8]? {
    FileHandle(forReadingAtPath: path).map { file in
      Array((try? file.readToEnd()) ?? Data())
    }
  }

  /// The names and the bytes of all files of a folder.
  public static func allBytes(in folder: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      bytes += Array(name.utf8)
      bytes += Self.bytes(of: folder + "/" + name) ?? []
    }
    return bytes
  }
}
