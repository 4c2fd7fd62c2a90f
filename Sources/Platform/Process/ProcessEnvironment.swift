import Glibc

/// The process's environment variables.
public enum ProcessEnvironment {
  public static var variables: [String: String] {
    var variables: [String: String] = [:]
    var place = environ
    while let entry = place.pointee {
      let parts = String(cString: entry).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      place += 1
    }
    return variables
  }
}
