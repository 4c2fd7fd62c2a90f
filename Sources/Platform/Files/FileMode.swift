import Glibc

/// Who owns a file, and who else may do what with it.
public struct FileMode: Sendable, Equatable {
  /// The permission bits alone, as in chmod(2).
  public let bits: UInt32
  public let owner: UInt32
  /// Nil where the system knows no name for the owner.
  public let ownerName: String?

  /// Whether somebody else than the owner may read, write or enter it.
  public var isOpenToOthers: Bool { bits & 0o077 != 0 }

  /// Whether somebody else than the owner may change it.
  public var isWritableByOthers: Bool { bits & 0o022 != 0 }

  /// Nil where nothing has that name. A link is followed.
  public static func of(_ path: String) throws(PlatformError) -> FileMode? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw .last("look at \(path)")
    }
    return FileMode(
      bits: UInt32(status.st_mode) & 0o7777, owner: UInt32(status.st_uid),
      ownerName: getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) })
  }

  /// As people write it: `0700`.
  public var text: String {
    let digits = String(bits, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
