public import Platform

/// Why the server did not start; each says what to do next.
public enum HTTPFrontError: Error, Sendable, CustomStringConvertible {
  /// Not `HOST:PORT` with an IP address or `localhost`.
  case listenAddress(String)
  case addressInUse(String)
  /// The address is not one of this machine's, the port needs privileges, and the like.
  case addressRefused(String, PlatformError)
  case socketInUse(String)
  case socketRefused(String, PlatformError)
  case trustedProxy(String)
  /// The kernel has no thread or descriptor left.
  case resources(PlatformError)
  /// The factory of the handlers threw.
  case handler(any Error)

  public var description: String {
    switch self {
    case .listenAddress(let text):
      "cannot listen on \"\(text)\": write HOST:PORT with an IP address or localhost, "
        + "such as 127.0.0.1:8080 or [::1]:8080"
    case .addressInUse(let text):
      "cannot listen on \(text): another process does; stop it "
        + "(`ss -ltnp` names it) or choose another port"
    case .addressRefused(let text, let error):
      "cannot listen on \(text): \(error); choose an address of this machine and a port above 1023"
    case .socketInUse(let path):
      "cannot listen on \(path): another process does; stop it or choose another path"
    case .socketRefused(let path, let error):
      "cannot listen on \(path): \(error); choose a path of at most 107 bytes in a folder "
        + "that this user may write to"
    case .trustedProxy(let text):
      "trusted proxy \"\(text)\" is not an IP address: write one such as 10.0.0.7 or ::1"
    case .resources(let error):
      "cannot start: \(error); raise the limits of this user (`ulimit -a`)"
    case .handler(let error): "cannot start: \(error)"
    }
  }
}
