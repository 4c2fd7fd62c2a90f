import Glibc

/// The owner and the permissions of a file.
public struct FileMode: Sendable, Equatable {
  /// The permission bits alone, as in chmod(2).
  public let bits: UInt32
  /// The owner's user id.
  public let owner: UInt32
  /// Nil if the system has no name for that user id.
  public let ownerName: String?

  /// Whether group or others may read, write or enter it.
  public var isOpenToOthers: Bool { bits & 0o077 != 0 }

  /// Whether group or others may change it.
  public var isWritableByOthers: Bool { bits & 0o022 != 0 }

  /// Whether a file of this mode is kept from all but its owner. A secret of root may be read by
  /// its group too: a process of another user reads it as a member, as Kubernetes gives secrets.
  ///
  /// - Parameters:
  ///   - owner: the user id of the file's owner.
  ///   - user: the user id of the process that reads it.
  package static func isPrivate(bits: UInt32, owner: UInt32, readBy user: UInt32) -> Bool {
    bits & (owner == 0 && user != 0 ? 0o037 : 0o077) == 0
  }

  static func isPrivate(_ status: stat) -> Bool {
    isPrivate(bits: UInt32(status.st_mode), owner: status.st_uid, readBy: geteuid())
  }

  /// The mode of the file at a path; nil if there is none. Follows links.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func of(_ path: String) throws(LedgerError) -> FileMode? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw .last("read the status of \(path)")
    }
    return FileMode(
      bits: UInt32(status.st_mode) & 0o7777, owner: UInt32(status.st_uid),
      ownerName: getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) })
  }

  /// The bits in octal with four digits: `0700`.
  public var text: String {
    let digits = String(bits, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
