import Glibc

/// The names of this machine's users.
public enum UserName {
  /// The name of a user; the number as text if there is none.
  public static func of(_ id: UInt32) -> String {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 4096)
    guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil,
      let name = entry.pw_name
    else { return "\(id)" }
    return String(cString: name)
  }
}
