import Glibc

/// The process's environment variables.
public enum ProcessEnvironment {
  /// All variables by name; an entry without `=` is left out.
  public static var variables: [String: String] {
    var variables: [String: String] = [:]
    var entries = environ
    while let entry = entries.pointee {
      let parts = String(cString: entry).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      entries += 1
    }
    return variables
  }
}
