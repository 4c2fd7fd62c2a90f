import Testing

@testable import HTTPServer

@Suite struct MessageTests {
  private func serialised(_ response: HTTPResponse, toHead: Bool = false, closing: Bool = false)
    -> String
  {
    var output: [UInt8] = []
    response.serialise(into: &output, toHead: toHead, closing: closing)
    return String(decoding: output, as: UTF8.self)
  }

  @Test func `a response is serialised with its framing and security headers`() {
    let response = HTTPResponse(
      status: 405, headers: [("Allow", "POST"), ("Content-Type", "application/problem+json")],
      body: Array("{}".utf8))
    let lines = serialised(response).replacing(/Date: [^\r]*\r\n/, with: "")
    #expect(
      lines == """
        HTTP/1.1 405 Method Not Allowed\r
        Allow: POST\r
        Content-Type: application/problem+json\r
        Content-Length: 2\r
        X-Content-Type-Options: nosniff\r
        Cache-Control: no-store\r
        \r
        {}
        """)
  }

  /// The date of RFC 9110's own example, a leap day, and times before 1970.
  @Test func `every response has a date in the form of HTTP`() {
    #expect(serialised(HTTPResponse(status: 304)).contains(#/\r\nDate: \w{3}, \d\d \w{3} \d{4}/#))
    for (second, text) in [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
      (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
      (1_795_484_598, "Tue, 24 Nov 2026 01:43:18 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ] as [(Int64, String)] {
      #expect(DateField.text(second) == text)
    }
  }

  @Test func `HEAD gets the length but no body`() {
    let text = serialised(HTTPResponse(status: 200, body: [1, 2, 3]), toHead: true, closing: true)
    #expect(text.contains("Content-Length: 3\r\nConnection: close\r\n"))
    #expect(text.hasSuffix("\r\n\r\n"))
  }

  @Test func `a header with a line break is omitted`() {
    let response = HTTPResponse(status: 200, headers: [("X", "a\r\nSet-Cookie: b"), ("Y", "c")])
    let text = serialised(response)
    #expect(!text.contains("Set-Cookie"))
    #expect(text.contains("\r\nY: c\r\n"))
  }

  @Test func `every status that the server sends has a reason phrase`() {
    for status in [
      200, 400, 401, 404, 405, 408, 411, 413, 414, 415, 417, 422, 431, 500, 501, 503, 505,
    ] {
      #expect(HTTPResponse.reason(of: status) != "Answer")
    }
  }

  @Test func `header names are compared without case`() {
    let headers = HTTPHeaders([("Content-Type", "a"), ("x-y", "1"), ("X-Y", "2")])
    #expect(headers.first("content-TYPE") == "a")
    #expect(headers.all("X-y") == ["1", "2"])
    #expect(headers.first("content-typ") == nil)
    #expect(headers.count == 3)
  }

  @Test func `header values are trimmed and the target is split at the question mark`() throws {
    var parser = RequestParser(limits: ServerLimits(), peer: .address("192.0.2.1"))
    let text = "GET /a?b=c&d HTTP/1.1\r\nHost:\t h \r\nAuthorization:Bearer x y\t\r\nE:\r\n\r\n"
    var cursor = 0
    let bytes = Array(text.utf8)
    guard case .head(let head) = parser.consume(bytes.span, at: &cursor) else {
      Issue.record("no head")
      return
    }
    #expect(head.headers.first("host") == "h")
    #expect(head.headers.first("authorization") == "Bearer x y")
    #expect(head.headers.first("e") == "")
    #expect(head.path == "/a")
    #expect(head.query == "b=c&d")
    #expect(head.peer == .address("192.0.2.1"))
    #expect(!head.closes)
  }

  @Test(
    arguments: [
      ("close", true), ("Close", true), ("keep-alive, close", true), ("keep-alive ,\tclose ", true),
      ("closed", false), ("keep-alive", false), ("x-close", false),
    ])
  func `the option close is found in a Connection header`(_ value: String, _ closes: Bool) {
    var parser = RequestParser(limits: ServerLimits(), peer: .local(user: 0))
    let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nConnection: \(value)\r\n\r\n".utf8)
    var cursor = 0
    guard case .head(let head) = parser.consume(bytes.span, at: &cursor) else {
      Issue.record("no head")
      return
    }
    #expect(head.closes == closes)
  }
}
