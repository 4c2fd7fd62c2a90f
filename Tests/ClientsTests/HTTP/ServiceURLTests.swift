import Clients
import Testing

/// Which addresses requests may go to.
@Suite struct ServiceURLTests {
  @Test(arguments: [
    "https://api.storekit.apple.com", "https://example.com:8443/prefix", "http://127.0.0.1:1",
    "http://127.1.2.3/x", "http://[::1]:80", "http://localhost:80", "https://10.0.0.1",
  ]) func `https anywhere and http on loopback are accepted`(text: String) {
    #expect(ServiceURL(text)?.text == text)
  }

  @Test(arguments: [
    "", "example.com", "http://example.com", "http://10.0.0.1", "http://127.evil.example",
    "http://localhost.example", "http://[::2]", "ftp://127.0.0.1", "file:///etc/passwd",
    "HTTPS://example.com", "https:/example.com", "https://", "https://user@example.com",
    "https://user:secret@example.com", "http://127.0.0.1@example.com", "https://example.com?a=b",
    "https://example.com/?", "https://example.com#x", "https://exa mple.com",
    "https://example.com/\r\nX: y", "https://example.com/\u{0}", "https://exämple.com",
    "http://127.0.0.1:99999", "https://\(String(repeating: "a", count: 3000))",
  ]) func `every other address is refused`(text: String) {
    #expect(ServiceURL(text) == nil)
  }

  @Test func `segments, names and values are percent-encoded`() throws {
    let base = try #require(ServiceURL("https://example.com/base/"))
    #expect(base.text == "https://example.com/base")
    let url = base.appending(["a b", "ü/..", "x?y#z"], query: [("k&", "v=+"), ("k", "2")])
    #expect(url.text == "https://example.com/base/a%20b/%C3%BC%2F../x%3Fy%23z?k%26=v%3D%2B&k=2")
  }
}
