import Clients
import Glibc
import Support
import Testing

/// Which addresses are connected to, whatever name or spelling led to them.
@Suite struct AddressPolicyTests {
  private static func bytes(_ text: String) throws -> [UInt8] {
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
    var six = in6_addr()
    try #require(inet_pton(AF_INET6, text, &six) == 1, "\(text)")
    return withUnsafeBytes(of: six) { Array($0) }
  }

  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "192.0.0.8", "192.0.2.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1",
    "240.0.0.1", "255.255.255.255", "::", "fe80::1", "febf::1", "ff02::1", "2001::1",
    "2001:db8::1", "2002:7f00:1::", "3fff::1", "::ffff:169.254.169.254",
    "64:ff9b::169.254.169.254", "::ffff:0.0.0.0", "fd00:ec2::254", "100::1", "64:ff9b:1::1",
    "::2", "4000::1", "5f00::1",
    // Where machines of clouds find their credentials.
    "100.100.100.200", "168.63.129.16", "::ffff:100.100.100.200", "64:ff9b::168.63.129.16",
    "fd20:ce::254", "fd00:ec2::23",
  ]) func `some are never connected to`(_ text: String) throws {
    let address = try Self.bytes(text)
    #expect(!AddressPolicy.publicOnly.allows(address) && !AddressPolicy.privateToo.allows(address))
  }

  @Test(arguments: [
    "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1", "172.16.0.1",
    "172.31.255.255", "192.168.1.1", "::1", "fc00::1", "fd12::1", "100.100.100.201", "fd20:ce::253",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3", "64:ff9b::192.168.0.1", "64:ff9b::127.0.0.1",
  ]) func `private networks are connected to where that is configured`(_ text: String) throws {
    let address = try Self.bytes(text)
    #expect(!AddressPolicy.publicOnly.allows(address) && AddressPolicy.privateToo.allows(address))
  }

  @Test(arguments: [
    "1.1.1.1", "100.63.255.255", "100.128.0.1", "168.63.129.15", "168.63.129.17", "172.15.0.1",
    "172.32.0.1", "192.167.0.1",
    "192.0.1.1", "198.17.0.1", "198.20.0.1", "169.253.0.1", "223.255.255.255", "11.0.0.1",
    "2606:4700::1", "2a00::1", "2003::1", "::ffff:1.1.1.1", "64:ff9b::8.8.8.8",
  ]) func `all others are connected to`(_ text: String) throws {
    #expect(AddressPolicy.publicOnly.allows(try Self.bytes(text)))
  }

  /// Every spelling leads to a server that listens on loopback, and none to a connection.
  @Test(arguments: [
    "127.0.0.1", "0x7f000001", "2130706433", "017700000001", "127.1", "0", "localhost",
    "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "LOCALHOST",
    "127.0.0.1.",
  ]) func `no spelling of loopback is connected to without privateNetwork`(host: String) throws {
    let server = try ScriptedServer { _ in [.response(200, "reached")] }
    var settings = ClientSettings()
    settings.addresses = .publicOnly
    let client = try HTTPClient(settings)
    let text = "http://\(host):\(server.port)/"
    guard let url = ServiceURL(receiver: text, isPrivate: true) else { return }
    let error = try #require(throws: ClientError.self) {
      try client.send(ClientRequest(.post, url))
    }
    #expect(error == .address || error == .resolve, "\(error)")
    #expect(server.connections == 0)
  }

  /// Whatever a name server says, and whatever it said before.
  @Test(arguments: [
    "127.0.0.1", "127.8.9.1", "10.0.0.1", "100.64.0.1", "172.16.0.1", "192.168.0.1", "0.0.0.0",
    "169.254.169.254", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[fc00::1]", "[fe80::1]", "[ff02::1]",
    "[2001::1]", "[2001:db8::1]", "[2002:7f00:1::]", "[::ffff:127.0.0.1]",
    "[64:ff9b::7f00:1]", "[fd00:ec2::254]",
    // Rebinding: the first answer is allowed, and is not what is connected to.
    "[100::1],127.0.0.1", "127.0.0.1,[::1],10.0.0.1",
  ]) func `a name that leads to an address that is refused is not connected to`(
    _ addresses: String
  ) throws {
    let server = try ScriptedServer { _ in [.response(200, "reached")] }
    var settings = ClientSettings()
    settings.addresses = .publicOnly
    settings.resolved = ["receiver.example:\(server.port):\(addresses)"]
    let url = try #require(
      ServiceURL(receiver: "http://receiver.example:\(server.port)/", isPrivate: true))
    let client = try HTTPClient(settings)
    #expect(throws: ClientError.address) { try client.send(ClientRequest(.post, url)) }
    #expect(server.connections == 0)
  }

  @Test func `a redirect to loopback is not followed`() throws {
    let other = try ScriptedServer { _ in [.response(200, "reached")] }
    let server = try ScriptedServer { _ in
      [.response(302, "", fields: "Location: \(other.address)/\r\n")]
    }
    var settings = ClientSettings()
    settings.addresses = .privateToo
    let url = try #require(ServiceURL(receiver: server.address, isPrivate: true))
    #expect(try HTTPClient(settings).send(ClientRequest(.post, url)).status == 302)
    #expect(other.connections == 0)
  }

  @Test func `a variable that names a proxy is not obeyed`() throws {
    let proxy = try ScriptedServer { _ in [.response(200, "proxied")] }
    setenv("http_proxy", proxy.address, 1)
    defer { unsetenv("http_proxy") }
    let server = try ScriptedServer { _ in [.response(204, "")] }
    let url = try #require(ServiceURL(receiver: server.address, isPrivate: true))
    #expect(try HTTPClient().send(ClientRequest(.post, url)).status == 204)
    #expect(proxy.connections == 0)
  }
}
