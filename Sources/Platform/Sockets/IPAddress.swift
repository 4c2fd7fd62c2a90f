import Glibc

/// IP addresses as canonical text, so that equal addresses are equal strings.
public enum IPAddress {
  /// The canonical text of an IPv4 or IPv6 literal; nil for anything else. An IPv4-mapped IPv6
  /// address (RFC 4291 section 2.5.5.2) becomes the IPv4 address.
  public static func canonical(_ text: String) -> String? {
    if let address = v4(text, port: 0) { return self.text(of: address.sin_addr) }
    if let address = v6(text, port: 0) { return self.text(of: address.sin6_addr) }
    return nil
  }

  /// What connections of one client are counted by: an IPv4 address itself, and the /64 network of
  /// an IPv6 address, because a single host is given at least that (RFC 6177 section 2).
  ///
  /// - Parameter canonical: the text of an address as `canonical` returns it.
  public static func network(of canonical: String) -> String {
    guard var address = v6(canonical, port: 0)?.sin6_addr else { return canonical }
    withUnsafeMutableBytes(of: &address) { bytes in
      for index in 8..<bytes.count { bytes[index] = 0 }
    }
    return text(of: address) + "/64"
  }

  static func v4(_ text: String, port: UInt16) -> sockaddr_in? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    return inet_pton(AF_INET, text, &address.sin_addr) == 1 ? address : nil
  }

  static func v6(_ text: String, port: UInt16) -> sockaddr_in6? {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    return inet_pton(AF_INET6, text, &address.sin6_addr) == 1 ? address : nil
  }

  /// The text of a peer's address; nil for a unix socket.
  static func text(of storage: sockaddr_storage) -> String? {
    withUnsafeBytes(of: storage) { raw in
      switch Int32(storage.ss_family) {
      case AF_INET: text(of: raw.load(as: sockaddr_in.self).sin_addr)
      case AF_INET6: text(of: raw.load(as: sockaddr_in6.self).sin6_addr)
      default: nil
      }
    }
  }

  private static func text(of address: in_addr) -> String {
    var address = address
    return text(AF_INET, &address)
  }

  private static func text(of address: in6_addr) -> String {
    var address = address
    let text = text(AF_INET6, &address)
    let mapped = "::ffff:"
    return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(7)) : text
  }

  private static func text(_ family: Int32, _ address: UnsafeRawPointer) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      guard
        let start = inet_ntop(family, address, buffer.baseAddress, socklen_t(buffer.count))
      else { return "" }
      return String(cString: start)
    }
  }
}
