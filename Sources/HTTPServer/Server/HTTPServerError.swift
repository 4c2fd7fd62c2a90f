public import Platform

/// Why the server did not start. Each description says what to do next.
public enum HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// The listen address is not `HOST:PORT` with an IP address or `localhost`.
  case listenAddress(String)
  case addressInUse(String)
  /// The kernel refused the address: it is not one of this machine's, the port needs privileges, or
  /// the like.
  case addressRefused(String, LedgerError)
  case socketInUse(String)
  case socketIsLink(String)
  case socketIsFile(String)
  case socketRefused(String, LedgerError)
  /// A trusted proxy is not an IP address.
  case trustedProxy(String)
  /// The hard limit on open files is below `least`; with `all`, every connection has its place.
  case fewDescriptors(limit: Int, least: Int, all: Int)
  /// The kernel has no thread or descriptor left.
  case resources(LedgerError)
  /// The closure that makes handlers threw.
  case handler(any Error)

  public var description: String {
    switch self {
    case .listenAddress(let text):
      "cannot listen on \"\(text)\": write HOST:PORT with an IP address or localhost, "
        + "such as 127.0.0.1:8080 or [::1]:8080"
    case .addressInUse(let text):
      "cannot listen on \(text): another process uses it; stop that process "
        + "(`ss -ltnp` shows which) or choose another port"
    case .addressRefused(let text, let error):
      "cannot listen on \(text): \(error.detail); choose an address of this machine and a port "
        + "above 1023"
    case .socketInUse(let path):
      "cannot listen on \(path): another process uses it; stop that process or choose another path"
    case .socketIsLink(let path):
      "cannot listen on \(path): it is a symbolic link, which is not followed; remove it"
    case .socketIsFile(let path):
      "cannot listen on \(path): it is a folder or a file, not a socket; remove it"
    case .socketRefused(let path, let error):
      "cannot listen on \(path): \(error.detail); choose a path of at most 107 bytes in a folder "
        + "that this user may write to"
    case .trustedProxy(let text):
      "trusted proxy \"\(text)\" is not an IP address: write one such as 10.0.0.7 or ::1"
    case .fewDescriptors(let limit, let least, let all):
      "cannot start: this process may open \(limit) files, and needs at least \(least), or \(all) "
        + "for all connections; raise the limit (`ulimit -n \(all)`, or LimitNOFILE= in the unit)"
    case .resources(let error):
      "cannot start: \(error.detail); raise the limits of this user (`ulimit -a`)"
    case .handler(let error): "cannot start: \(error)"
    }
  }
}
