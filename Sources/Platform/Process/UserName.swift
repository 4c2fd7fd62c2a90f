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

  /// Has a process of root go on as the user who owns a file, with the groups of that user
  /// (initgroups(3)), for good.
  ///
  /// - Returns: the user; nil if the process is not root's, the file is, or there is none.
  public static func becomeOwner(of path: String) -> String? {
    var status = stat()
    guard geteuid() == 0, stat(path, &status) == 0, status.st_uid != 0 else { return nil }
    let (user, name) = (status.st_uid, of(status.st_uid))
    let known = getpwuid(user)
    let group = known?.pointee.pw_gid ?? status.st_gid
    guard known == nil ? setgroups(0, nil) == 0 : initgroups(name, group) == 0,
      setgid(group) == 0, setuid(user) == 0
    else { return nil }
    return name
  }
}
