/// The address of a service: `http://HOST[:PORT][/PATH]`. Only plain HTTP, because it is meant for
/// a service on the same machine.
public struct ServiceAddress: Sendable, Equatable {
  public let host: String
  public let port: String
  /// Begins with a slash; `/v1/notifications` if the text has none.
  public let path: String

  /// Returns nil if the text is not such an address. IPv6 hosts are in brackets.
  public init?(_ text: String) {
    guard text.hasPrefix("http://"),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
    else { return nil }
    let rest = text.dropFirst("http://".count)
    let authority = rest.prefix { $0 != "/" }
    let path = rest.dropFirst(authority.count)
    let host: Substring
    var port = authority[...]
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[..<end].dropFirst()
      port = authority[end...].dropFirst()
    } else {
      host = authority.prefix { $0 != ":" }
      port = authority.dropFirst(host.count)
    }
    guard !host.isEmpty, !host.contains("@") else { return nil }
    guard port.isEmpty || port.first == ":" else { return nil }
    let digits = port.isEmpty ? "80" : port.dropFirst()
    guard let number = UInt16(digits), number > 0, digits.allSatisfy(\.isNumber) else { return nil }
    self.host = String(host)
    self.port = String(number)
    self.path = path.isEmpty || path == "/" ? "/v1/notifications" : String(path)
  }

  /// The Host field (RFC 9110 section 7.2).
  var hostField: String { (host.contains(":") ? "[\(host)]" : host) + ":" + port }
}
