import Testing

/// The outcomes do not depend on how the bytes are split.
@Suite struct SplitTests {
  static let texts = [
    post("Content-Length: 2\r\n", "{}"),
    post("Content-Length: 2\r\nExpect: 100-continue\r\n", "{}") + post("Content-Length: 0\r\n"),
    chunked("2\r\n{}\r\nA;x=y\r\n0123456789\r\n0\r\nX-T: a\r\n\r\n")
      + "GET /x HTTP/1.1\r\nHost: h\r\n\r\n",
    "\r\n" + post("Content-Length: 2\r\n", "{}") + "\r\n\r\n",
    post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
    chunked("5\r\nhelloXX0\r\n\r\n"), chunked("5\r\nhello\n0\r\n\r\n"), chunked("g\r\n"),
    chunked("3e8\r\n" + String(repeating: "x", count: 1000) + "\r\n1\r\nx\r\n"),
    chunked("5;" + String(repeating: "e", count: 80) + "\r\nhello"),
    "GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
    "GET / HTTP/1.2\r\n\r\n", "GET /\r\n", "\u{16}\u{3}\u{1}\u{2}",
    "GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "X: y\r\n", count: 64) + "\r\n",
    "GET /" + String(repeating: "a", count: 2300) + " HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX: " + String(repeating: "a", count: 8300) + "\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + String(repeating: "a", count: 9000)
      + "\r\n\r\n",
    // Over the limit of the block, in a line with a wrong end.
    "GET / HTTP/1.1\r\nHost: h\r\n"
      + String(repeating: "X: " + String(repeating: "y", count: 8100) + "\r\n", count: 2)
      + "Y: " + String(repeating: "z", count: 400) + "\n\r\n",
    post("Content-Length: 5000\r\n"), post(""),
  ]

  @Test(arguments: texts)
  func `every split of the same bytes gives the same outcomes`(_ text: String) {
    let bytes = Array(text.utf8)
    let whole = outcomes([bytes])
    #expect(!whole.isEmpty)
    #expect(outcomes(bytes.map { [$0] }) == whole)
    for index in stride(from: 0, through: bytes.count, by: bytes.count > 3000 ? 97 : 1) {
      #expect(outcomes([Array(bytes[..<index]), Array(bytes[index...])]) == whole)
    }
  }

  @Test func `random bytes and mutated requests never trap, and splits never matter`() {
    var random = SystemRandomNumberGenerator()
    for round in 0..<3000 {
      var bytes = Array(Self.texts[round % Self.texts.count].utf8.prefix(400))
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        bytes[index] = UInt8.random(in: 0...255, using: &random)
      }
      let split = Int.random(in: 0...bytes.count, using: &random)
      let whole = outcomes([bytes])
      #expect(outcomes([Array(bytes[..<split]), Array(bytes[split...])]) == whole, "\(bytes)")
      #expect(outcomes(bytes.map { [$0] }) == whole, "\(bytes)")
    }
  }

  @Test func `a large body that arrives in large parts is read`() {
    let body = [UInt8](repeating: 0x61, count: 200_000)
    let head = Array(post("Content-Length: 200000\r\n").utf8)
    let parts = [head + body[..<60_000], Array(body[60_000..<150_000]), Array(body[150_000...])]
    #expect(
      outcomes(parts, limit: 262_144).last == .request("POST /v1/notifications", body: body))
  }
}
