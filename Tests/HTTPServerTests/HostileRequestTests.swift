import Testing

/// The rows of the table of hostile HTTP inputs that the parser refuses, with variants.
@Suite struct HostileRequestTests {
  @Test(
    arguments: [
      "Content-Length: 2\r\nContent-Length: 3\r\n",
      "Content-Length: 2\r\nContent-Length: 2\r\n",
      "content-length: 2\r\nCONTENT-LENGTH: 2\r\n",
      "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
      "Transfer-Encoding : chunked\r\n", "Transfer-Encoding\t: chunked\r\n",
      " Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
      "Transfer-Encoding: identity\r\n", "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: \"chunked\"\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding:\r\n", "Transfer-Encoding: chunked;q=1\r\n",
      "Content-Length: +21\r\n", "Content-Length: -1\r\n", "Content-Length: 0x15\r\n",
      "Content-Length: 21, 21\r\n", "Content-Length:\r\n", "Content-Length: \r\n",
      "Content-Length: 2 1\r\n", "Content-Length: 2.0\r\n", "Content-Length: 1e2\r\n",
      "Content-Length: 1_0\r\n",
    ])
  func `H1 to H6: framing that two readers could read differently is refused`(_ headers: String) {
    #expect(refusal(post(headers, "{}")) == 400)
  }

  @Test(arguments: [
    "9223372036854775808", "18446744073709551617", String(repeating: "9", count: 30),
  ])
  func `H7: a length that no integer holds is refused`(_ length: String) {
    #expect(refusal(post("Content-Length: \(length)\r\n")) == 400)
  }

  @Test func `H8: a body over the limit is refused at once`() {
    #expect(refusal(post("Content-Length: 1001\r\n")) == 413)
    #expect(refusal(post("Content-Length: 999999999999999999\r\n")) == 413)
    #expect(refusal(post("Content-Length: 1000\r\n")) == nil)
    #expect(refusal(chunked("3e9\r\n")) == 413)
    let half = "1f4\r\n" + String(repeating: "x", count: 500) + "\r\n"
    #expect(refusal(chunked(half + half)) == nil)
    #expect(refusal(chunked(half + half + "1\r\n")) == 413)
  }

  @Test func `H9: POST without a length gets 411`() {
    #expect(outcomes(post("")) == [.head("POST /v1/notifications"), .refused(411)])
  }

  @Test(
    arguments: [
      "-5\r\nhello", "1 0\r\n", "g\r\n", "10000000000000005\r\n", "\r\n", " 5\r\nhello",
      "5 \r\nhello", "0x5\r\nhello", "+5\r\nhello", "5\nhello\r\n0\r\n\r\n", "5;\r\nhello",
      "5 ;a=b\r\nhello", "5;a=\u{7}\r\nhello", "5;a=b\nhello", "5\rhello\r\n", "5;a\rb\r\n",
      "5;" + String(repeating: "e", count: 1024) + "\r\nhello",
      "5;" + String(repeating: "e", count: 1024),
      "5\r\nhelloXX0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
      "5\r\nhello\r0\r\n\r\n",
      String(repeating: "0", count: 64) + "\r\n",
    ])
  func `H10: malformed chunk lines are refused`(_ body: String) {
    #expect(refusal(chunked(body)) == 400)
  }

  @Test(
    arguments: [
      "Content-Length: 5", "content-length: 5", "Host: x", "Transfer-Encoding: chunked",
      "Authorization: Bearer x", "Bad Name: x", "NoColon", " Folded: x", "X: \u{1}",
    ])
  func `H11: trailers that frame, route or authorize are refused`(_ trailer: String) {
    #expect(refusal(chunked("2\r\n{}\r\n0\r\n\(trailer)\r\n\r\n")) == 400)
  }

  @Test func `H11: other trailers are dropped, within the limits of headers`() {
    let good = chunked("2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n")
    #expect(outcomes(good).last == .request("POST /v1/notifications", body: Array("{}".utf8)))
    let many = String(repeating: "X: y\r\n", count: 65)
    #expect(refusal(chunked("0\r\n\(many)\r\n")) == 431)
    #expect(refusal(chunked("0\r\nX: " + String(repeating: "y", count: 9000))) == 431)
  }

  @Test(
    arguments: [
      "GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\n\r\n", "\nGET / HTTP/1.1\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\n\n", "GET / HTTP/1.1\rHost: h\r\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n",
      "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: \u{1}\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: \u{7f}\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX Y: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX(: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX\0: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX\u{e9}: a\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nX: y\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
      "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n",
      "GET / HTTP/1.0\r\n\r\n",
      "GET / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
  func `H12 to H16: malformed lines, names, values and hosts are refused`(_ text: String) {
    #expect(refusal(text) == 400)
  }

  @Test(
    arguments: [
      ("GET / HTTP/1.2\r\n", 505), ("GET / HTTP/2.0\r\n", 505), ("GET / HTTP/0.9\r\n", 505),
      ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505), ("GET /\r\n", 400), ("GET / http/1.1\r\n", 400),
      ("GET / HTTP/1.1 \r\n", 400), ("GET  / HTTP/1.1\r\n", 400), ("GET / HTTP/11\r\n", 400),
      ("GET / HTTP/1.10\r\n", 400), ("GET\t/ HTTP/1.1\r\n", 400), (" GET / HTTP/1.1\r\n", 400),
      ("GET / HTTPS/1.1\r\n", 400), ("\u{16}\u{3}\u{1}", 400), ("\r\n\r\nGET", 400),
      ("/ HTTP/1.1\r\n", 400), ("G@T / HTTP/1.1\r\n", 400),
    ])
  func `H17: other versions and other protocols are refused`(_ text: String, _ status: Int) {
    #expect(refusal(text) == status)
  }

  @Test func `H18: a head over the limits gets 431, complete or not`() {
    func head(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: h\r\n\(fields)" }
    func field(_ size: Int) -> String { "X: " + String(repeating: "y", count: size - 3) + "\r\n" }
    #expect(refusal(head(String(repeating: field(1000), count: 40) + "\r\n")) == 431)
    #expect(refusal(head(String(repeating: "X: y\r\n", count: 64) + "\r\n")) == 431)
    #expect(refusal(head(String(repeating: "X: y\r\n", count: 63) + "\r\n")) == nil)
    #expect(refusal(head(field(9216) + "\r\n")) == 431)
    #expect(refusal(head("X: " + String(repeating: "y", count: 9216))) == 431)
    #expect(refusal(head(field(8192) + "\r\n")) == nil)
    #expect(refusal(head(field(8193) + "\r\n")) == 431)
    #expect(refusal(head(field(8192) + field(8192) + "\r\n")) == 431)
  }

  @Test func `H18, A1: a token may fill the header block, and no more`() {
    func head(_ name: String, _ size: Int) -> String {
      "GET / HTTP/1.1\r\nHost: h\r\n\(name): Bearer " + String(repeating: "y", count: size)
    }
    #expect(refusal(head("Authorization", 10_240) + "\r\n\r\n") == nil)
    #expect(refusal(head("AUTHORIZATION", 16_000) + "\r\n\r\n") == nil)
    #expect(refusal(head("Authorization", 16_400) + "\r\n\r\n") == 431)
    #expect(refusal(head("Authorization", 16_400)) == 431)
    for name in ["X-Authorization", "Authorization2", "Authorization ", "Proxy-Authorization"] {
      #expect(refusal(head(name, 9216) + "\r\n\r\n") == 431)
    }
  }

  @Test func `H19: a long target gets 414, complete or not`() {
    let path = "/" + String(repeating: "a", count: 2047)
    #expect(refusal("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n") == nil)
    #expect(refusal("GET \(path)a HTTP/1.1\r\nHost: h\r\n\r\n") == 414)
    #expect(refusal("GET \(path)\(path) HTTP/1.1\r\n") == 414)
    #expect(refusal("GET \(path)\(path)") == 414)
  }

  @Test(
    arguments: [
      "GET http://evil.example/v1/notifications", "CONNECT x:443", "OPTIONS *", "GET *", "GET x",
      "GET ?a", "GET /a#b", "GET /a\\b", "GET /a\"b", "GET /<", "GET /\u{7f}", "GET /\u{e9}",
    ])
  func `H20: other forms of the target are refused`(_ start: String) {
    #expect(refusal("\(start) HTTP/1.1\r\nHost: h\r\n\r\n") == 400)
  }

  @Test(
    arguments: [
      "/..%2f..%2fetc%00", "//v1/notifications", "/v1/notifications/", "/v1;x/notifications",
      "/V1/notifications", "/%76%31/notifications", "/v1/./notifications",
    ])
  func `H21: the path is not decoded or normalised`(_ path: String) {
    let text = "GET \(path)?a=%20&b HTTP/1.1\r\nHost: h\r\n\r\n"
    #expect(outcomes(text) == [.head("GET \(path)"), .request("GET \(path)", body: [])])
  }

  @Test func `H25, H26: unknown expectations get 417, and a body over the limit gets no 100`() {
    #expect(refusal(post("Expect: 200-ok\r\nContent-Length: 2\r\n")) == 417)
    #expect(refusal(post("Expect: 100-continue, x\r\nContent-Length: 2\r\n")) == 417)
    let over = outcomes(post("Expect: 100-continue\r\nContent-Length: 2000\r\n"))
    #expect(over == [.head("POST /v1/notifications"), .refused(413)])
    let good = outcomes(post("Expect: 100-Continue\r\nContent-Length: 2\r\n", "{}"))
    #expect(good.map(\.description).dropFirst() == ["100", "request POST /v1/notifications +2"])
  }

  @Test func `H27: a body that stops short is not a request`() {
    #expect(outcomes(post("Content-Length: 5\r\n", "{}")) == [.head("POST /v1/notifications")])
  }

  @Test func `H29, H30: the bytes after a body are the next request`() {
    let one = post("Content-Length: 2\r\n", "{}")
    let request = Outcome.request("POST /v1/notifications", body: Array("{}".utf8))
    let head = Outcome.head("POST /v1/notifications")
    #expect(outcomes(one + one) == [head, request, head, request])
    #expect(outcomes(one + "garbage \r\n") == [head, request, .refused(400)])
    #expect(outcomes(one + "\r\n" + one) == [head, request, head, request])
  }

  @Test func `H31: an offer to upgrade is ignored`() {
    let offer =
      "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    #expect(refusal("GET / HTTP/1.1\r\nHost: h\r\n\(offer)\r\n") == nil)
  }

  @Test(
    arguments: [
      [0xef, 0xbb, 0xbf] + Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8),
      Array("G".utf8) + [0xc9] + Array("T / HTTP/1.1\r\nHost: h\r\n\r\n".utf8),
      Array("GET / HTTP/1.1\r\nHost: h\r\nX: ".utf8) + [0xff] + Array("\r\n\r\n".utf8),
      Array("GET / HTTP/1.1\r\nHost: ".utf8) + [0x80] + Array("\r\n\r\n".utf8),
    ] as [[UInt8]])
  func `H35: bytes outside ASCII are refused`(_ bytes: [UInt8]) {
    #expect(refusal(bytes) == 400)
  }
}
