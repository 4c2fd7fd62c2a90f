import Platform

/// A parsed `HOST:PORT`.
public struct ListenAddress {
  let host: String
  let port: UInt16

  /// Takes an IPv4 address, `[IPv6]` or `localhost`, and a port from 0 to 65535; returns nil for
  /// anything else. Names are not looked up, because where a daemon listens should not depend on a
  /// resolver.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    var host = String(text[..<colon])
    if host == "localhost" { host = "127.0.0.1" }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
    if isBracketed { host = String(host.dropFirst().dropLast()) }
    guard host.contains(":") == isBracketed, IPAddress.canonical(host) != nil else { return nil }
    self.host = host
    self.port = port
  }
}
