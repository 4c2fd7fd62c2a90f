import Clients
import Glibc
import Platform
import Support
import Testing

/// Requests to servers that behave and to servers that do not.
@Suite struct HTTPClientTests {
  private static let secret = "canary-4f1c"

  private static func settings(total: Int = 20_000, bytes: Int = 1000) -> ClientSettings {
    var settings = ClientSettings()
    settings.totalMilliseconds = total
    settings.bodyBytes = bytes
    return settings
  }

  private static func request(
    _ server: ScriptedServer, _ method: ClientRequest.Method = .get, body: [UInt8] = [],
    fields: [(name: String, value: String)] = []
  ) throws -> ClientRequest {
    let url = try #require(ServiceURL(server.address)).appending(["path", secret])
    return ClientRequest(
      method, url, fields: [("Authorization", "Bearer \(secret)")] + fields, body: body)
  }

  /// The error of a request, whose text must hold nothing of request and response.
  private static func failure(
    _ steps: [ScriptedServer.Step], total: Int = 20_000
  ) throws -> ClientError {
    let server = try ScriptedServer { _ in steps }
    let client = try HTTPClient(settings(total: total))
    let error = try #require(throws: ClientError.self) { try client.send(try request(server)) }
    #expect(!"\(error) \(String(reflecting: error))".contains(secret))
    return error
  }

  @Test func `a response is returned with status, fields and body`() throws {
    let server = try ScriptedServer { _ in
      [.response(418, "hello", fields: "X-One:  two \r\nX-One: three\r\n")]
    }
    let response = try HTTPClient().send(try Self.request(server))
    #expect(response.status == 418 && response.body == Array("hello".utf8))
    #expect(response.field("x-one") == "two" && response.field("x-two") == nil)
    #expect(response.field("content-type") == "application/json")
  }

  @Test func `only what was asked for is sent`() throws {
    let server = try ScriptedServer { _ in [.response(200, "")] }
    let client = try HTTPClient()
    _ = try client.send(try Self.request(server))
    let body = [UInt8](repeating: 0x61, count: 2_000_000)
    _ = try client.send(
      try Self.request(server, .post, body: body, fields: [("Content-Type", "application/json")]))
    _ = try client.send(try Self.request(server, .post))
    let requests = server.requests
    #expect(requests.map(\.method) == ["GET", "POST", "POST"])
    #expect(requests[0].target == "/path/\(Self.secret)")
    #expect(requests[1].body == body && requests[1].field("Expect") == nil)
    #expect(requests[1].field("Content-Type") == "application/json")
    #expect(requests[2].body.isEmpty && requests[2].field("Content-Length") == "0")
    #expect(requests[2].field("Content-Type") == nil)
    for request in requests {
      #expect(request.field("Authorization") == "Bearer \(Self.secret)")
      #expect(request.field("Accept-Encoding") == nil && request.field("User-Agent") == nil)
    }
    #expect(server.connections == 1, "a connection is kept for the next request")
  }

  @Test func `the longest body is read, and one byte more is refused`() throws {
    let server = try ScriptedServer { request in
      let count = request.field("X-Count").flatMap { Int($0) } ?? 0
      return [.response(200, String(repeating: "a", count: count))]
    }
    let client = try HTTPClient(Self.settings())
    let longest = try client.send(try Self.request(server, fields: [("X-Count", "1000")]))
    #expect(longest.body.count == 1000)
    #expect(throws: ClientError.tooLarge(limit: 1000)) {
      try client.send(try Self.request(server, fields: [("X-Count", "1001")]))
    }
  }

  @Test func `a body without an end is refused once it is too long`() throws {
    let steps = (0..<50).map { _ in
      ScriptedServer.Step.text("40\r\n" + String(repeating: "a", count: 64) + "\r\n")
    }
    let head = ScriptedServer.Step.text("HTTP/1.1 200 -\r\nTransfer-Encoding: chunked\r\n\r\n")
    #expect(try Self.failure([head] + steps) == .tooLarge(limit: 1000))
  }

  @Test func `a head without an end is refused`() throws {
    let line = "X-Long: " + String(repeating: Self.secret, count: 500) + "\r\n"
    let steps = [ScriptedServer.Step.text("HTTP/1.1 200 -\r\n")] + (0..<50).map { _ in .text(line) }
    #expect(try Self.failure(steps) == .tooLarge(limit: 65_536))
  }

  @Test func `a compressed answer is refused`() throws {
    for encoding in ["gzip", "br", "deflate, gzip"] {
      let steps = [
        ScriptedServer.Step.response(200, "x", fields: "Content-Encoding: \(encoding)\r\n")
      ]
      #expect(try Self.failure(steps) == .encoded)
    }
  }

  @Test(arguments: ["long", "endless", "compressed", "cut", "reset", "silent"])
  func `where no body is needed, the head is the answer, whatever follows`(_ rest: String) throws {
    let server = try ScriptedServer { request in
      guard request.connection == 1 else { return [.response(204, "")] }
      let head = "HTTP/1.1 503 -\r\nRetry-After: 9\r\nContent-Length: 99\r\n"
      return switch rest {
      case "long":
        [.response(503, String(repeating: "x", count: 2000), fields: "Retry-After: 9\r\n")]
      case "endless":
        [.text("HTTP/1.1 503 -\r\nRetry-After: 9\r\n\r\n")]
          + (0..<99).map { _ in .text(String(repeating: "x", count: 99)) }
      case "compressed": [.text(head + "Content-Encoding: gzip\r\n\r\nx"), .close]
      case "cut": [.text(head + "\r\nx"), .close]
      case "reset": [.text(head + "\r\nx"), .pause(milliseconds: 100), .reset]
      default: [.text(head + "\r\nx"), .pause(milliseconds: 600_000)]
      }
    }
    var settings = Self.settings(total: 500_000)
    settings.needsBody = false
    let client = try HTTPClient(settings)
    let response = try client.send(try Self.request(server))
    #expect(response.status == 503 && response.field("retry-after") == "9")
    #expect(try client.send(try Self.request(server)).status == 204)
  }

  @Test func `where no body is needed, a short one is read and its connection is kept`() throws {
    let server = try ScriptedServer { _ in
      [
        .text("HTTP/1.1 100 Continue\r\n\r\n"),
        .text("HTTP/1.1 200 -\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n"),
        .pause(milliseconds: 50), .text("ok"),
      ]
    }
    var settings = Self.settings()
    settings.needsBody = false
    let client = try HTTPClient(settings)
    for _ in 0..<3 { #expect(try client.send(try Self.request(server)).status == 200) }
    #expect(server.connections == 1)
  }

  @Test func `a redirect is an answer and is not followed`() throws {
    let server = try ScriptedServer { _ in
      [.response(302, "", fields: "Location: /elsewhere\r\n")]
    }
    #expect(try HTTPClient().send(try Self.request(server)).status == 302)
    #expect(server.requests.count == 1)
  }

  @Test func `a cut answer is an error`() throws {
    let head = "HTTP/1.1 200 -\r\nContent-Length: 100\r\n\r\n\(Self.secret)"
    #expect(try Self.failure([.text(head), .close]) == .cutOff)
    #expect(try Self.failure([.text(head), .reset]) == .cutOff)
    #expect(try Self.failure([.close]) == .cutOff)
    #expect(try Self.failure([.text("HTTP/1.1 200 -\r\nX: y"), .close]) == .cutOff)
    let chunked = "HTTP/1.1 200 -\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"
    #expect(try Self.failure([.text(chunked), .close]) == .cutOff)
  }

  @Test func `what is not HTTP is an error`() throws {
    #expect(try Self.failure([.text("\(Self.secret) is here\r\n\r\n"), .close]) == .malformed)
  }

  @Test func `each leg has an end, and the error names it`() throws {
    let slow = ScriptedServer.Step.pause(milliseconds: 60_000)
    #expect(try Self.failure([slow], total: 1_500) == .timeout(.answer))
    #expect(
      try Self.failure([.text("HTTP/1.1 200 -\r\nX: y\r\n"), slow], total: 1_500)
        == .timeout(.body))
    #expect(
      try Self.failure(
        [.text("HTTP/1.1 200 -\r\nContent-Length: 9\r\n\r\nabc"), slow], total: 1_500)
        == .timeout(.body))
    // A server that takes no part in the handshake.
    let server = try ScriptedServer { _ in [slow] }
    let url = try #require(ServiceURL("https://127.0.0.1:\(server.port)"))
    #expect(throws: ClientError.timeout(.tls)) {
      try HTTPClient(Self.settings(total: 1_500)).send(ClientRequest(.get, url))
    }
  }

  @Test func `a missing server and a missing name are different errors`() throws {
    var port: UInt16 = 0
    do { port = try Listener.tcp(host: "127.0.0.1", port: 0).port }
    let client = try HTTPClient(Self.settings(total: 3_000))
    let closed = try #require(ServiceURL("http://127.0.0.1:\(port)"))
    #expect(throws: ClientError.connect(code: ECONNREFUSED)) {
      try client.send(ClientRequest(.get, closed))
    }
    // RFC 6761 section 6.4: never in the DNS. Without a resolver it may take until the timeout.
    let nowhere = try #require(ServiceURL("https://nowhere.invalid"))
    let error = #expect(throws: ClientError.self) {
      try client.send(ClientRequest(.get, nowhere))
    }
    #expect(error == .resolve || error == .timeout(.resolve))
  }

  @Test func `a header field that would end its line is never sent`() throws {
    let server = try ScriptedServer { _ in [.response(200, "")] }
    let client = try HTTPClient()
    for value in ["a\r\nX-Other: b", "a\nb", "\u{0}", "\u{7F}"] {
      #expect(throws: ClientError.field(name: "X-One")) {
        try client.send(try Self.request(server, fields: [("X-One", value)]))
      }
    }
    #expect(throws: ClientError.field(name: "?")) {
      try client.send(try Self.request(server, fields: [("X: y\r\nZ", "")]))
    }
    #expect(server.connections == 0)
  }

  @Test func `a header name is a token of RFC 9110, and every token is sent`() throws {
    let server = try ScriptedServer { _ in [.response(200, "")] }
    let client = try HTTPClient()
    let letters = String(
      decoding: Array(0x61...0x7A) + Array(0x41...0x5A) as [UInt8], as: UTF8.self)
    let token = "!#$%&'*+-.^_`|~0123456789" + letters
    _ = try client.send(try Self.request(server, fields: [(token, "yes"), ("X_Key", "1")]))
    #expect(server.requests[0].field(token) == "yes" && server.requests[0].field("X_Key") == "1")
    let allowed = Set(token.utf8)
    for byte in UInt8(0)...UInt8(255) {
      #expect(
        ClientRequest.isFieldName("X" + String(Unicode.Scalar(byte))) == allowed.contains(byte))
    }
    for name in ["", " ", "X Y", "X:", "(X)", "X;", "X\"", "\u{E9}"] {
      #expect(!ClientRequest.isFieldName(name))
      #expect(throws: ClientError.field(name: "?")) {
        try client.send(try Self.request(server, fields: [(name, "1")]))
      }
    }
    #expect(server.requests.count == 1)
  }

  @Test func `another thread ends the wait for an answer`() throws {
    let server = try ScriptedServer { _ in [.pause(milliseconds: 20_000)] }
    let client = try HTTPClient()
    let cancellation = Cancellation()
    let thread = try Thread.start("cancel") {
      while server.requests.isEmpty { usleep(1_000) }
      cancellation.request()
    }
    let start = Clock.monotonicNanoseconds()
    #expect(throws: ClientError.cancelled) {
      try client.send(try Self.request(server), cancellation)
    }
    thread.join()
    #expect(Clock.monotonicNanoseconds() - start < 15_000_000_000)
    #expect(throws: ClientError.cancelled) {
      try client.send(try Self.request(server), cancellation)
    }
  }

  @Test func `several requests run at once, and a cancelled one has no result`() throws {
    let server = try ScriptedServer { request in
      request.field("X-Slow") == nil
        ? [.response(200, "fast")] : [.pause(milliseconds: 20_000)]
    }
    let client = try HTTPClient()
    let slow = try client.start(try Self.request(server, fields: [("X-Slow", "1")]))
    let fast = try (0..<3).map { _ in try client.start(try Self.request(server)) }
    var bodies: [[UInt8]] = []
    for id in fast {
      while true {
        if let result = client.take(id) {
          bodies.append(try result.get().body)
          break
        }
        client.wait(milliseconds: 1_000, Cancellation())
      }
    }
    #expect(bodies == Array(repeating: Array("fast".utf8), count: 3))
    #expect(client.take(slow) == nil)
    client.cancel(slow)
    client.wait(milliseconds: 10, Cancellation())
    #expect(client.take(slow) == nil)
  }

  @Test func `a request shows nothing of itself`() throws {
    let server = try ScriptedServer { _ in [] }
    let request = try Self.request(server, .post, body: Array(Self.secret.utf8))
    #expect("\(request) \(String(reflecting: request))" == "a POST request a POST request")
  }

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777_000),
      ("Sun Nov  6 08:49:37 1994", 784_111_777_000), ("soon", nil), ("", nil), ("1994", nil),
      ("Sun, 99 Nov 1994 08:49:37 GMT", nil), ("Sunday", nil), ("Tomorrow: noon", nil),
    ] as [(String, Int64?)]) func `dates are read in the three forms of HTTP`(
      text: String, milliseconds: Int64?
    )
  { #expect(HTTPDate.milliseconds(text) == milliseconds) }
}
