import Platform
import Testing

/// Equal addresses have equal text.
@Suite struct IPAddressTests {
  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("::1", "::1"),
    ("0:0:0:0:0:0:0:1", "::1"), ("::", "::"), ("2001:DB8::00ff", "2001:db8::ff"),
    ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("::ffff:192.0.2.1", "192.0.2.1"),
    ("::FFFF:C000:201", "192.0.2.1"), ("0:0:0:0:0:ffff:7f00:1", "127.0.0.1"),
    ("::fffe:192.0.2.1", "::fffe:c000:201"), ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
  ])
  func `an address has one text`(_ text: String, _ canonical: String) {
    #expect(IPAddress.canonical(text) == canonical)
    #expect(IPAddress.canonical(canonical) == canonical)
  }

  @Test(arguments: [
    "", " ", "localhost", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "0x7f.0.0.1", "127.1",
    "2130706433", "127.0.0.1:80", "127.0.0.1 ", " 127.0.0.1", "[::1]", "::1%lo", "::1/128",
    ":::", "1::2::3", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::g", "１.1.1.1",
  ])
  func `refuses text that is no address`(_ text: String) {
    #expect(IPAddress.canonical(text) == nil)
  }

  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8:1:2::", "2001:db8:1:2::/64"),
    ("2001:db8:1:3::6", "2001:db8:1:3::/64"), ("::1", "::/64"),
  ])
  func `clients are told apart by IPv4 address and by IPv6 network`(
    _ text: String, _ network: String
  ) throws {
    #expect(IPAddress.network(of: try #require(IPAddress.canonical(text))) == network)
  }
}
