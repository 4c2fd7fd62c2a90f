import Foundation

/// A folder that goes with its owner.
public final class Scratch {
  public let path: String

  /// In memory where the machine offers that: trials sync thousands of times.
  public init() throws {
    let memory = "/dev/shm"
    let parent =
      FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
    path = parent + "/subledger-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Makes a file of mode 0600, or writes over one.
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

  /// All bytes of all files, with the names before them: for those who look for what must be gone.
  public func everything() throws -> [UInt8] {
    try Self.everything(in: path)
  }

  /// Some of them are empty, and `contents(atPath:)` loses 4 KiB of memory there.
  public static func everything(in folder: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      bytes += Array(name.utf8)
      let file = FileHandle(forReadingAtPath: folder + "/" + name)
      bytes += (try? file?.readToEnd()).map(Array.init) ?? []
    }
    return bytes
  }
}
