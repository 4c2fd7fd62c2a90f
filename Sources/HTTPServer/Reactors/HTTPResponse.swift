/// A response of the handler. `serialise` adds the framing and the headers of the connection.
public struct HTTPResponse: Sendable {
  public var status: Int
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// Whether the connection is closed after this response.
  public var closes: Bool
  /// The reason code of a refusal, for counters and logs.
  public var code: String?
  /// Sent in place of all of the above, except that `closes` holds: for a server that plays faults
  /// of others.
  package var wire: [UInt8]?
  /// Whether more of `wire` follows in further responses to the same request.
  package var isPart = false

  public init(
    status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    closes: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.closes = closes
  }

  /// Whether a header of this name is set; names are compared without case.
  func has(_ name: String) -> Bool {
    headers.contains { $0.name.lowercased() == name.lowercased() }
  }

  /// Appends the response (RFC 9112 section 4) to `output`.
  ///
  /// `Date` is this machine's clock: a client that compares it with its own knows how far the times
  /// in the answer are off. A header with a control character is omitted, because it could start a
  /// new line.
  ///
  /// - Parameter toHead: the request was HEAD: Content-Length is sent, the body is not.
  package func serialise(into output: inout [UInt8], toHead: Bool, closing: Bool) {
    if let wire { return output.append(contentsOf: wire) }
    output.reserveCapacity(output.count + body.count + 256)
    output.append(contentsOf: "HTTP/1.1 \(status) \(Self.reason(of: status))\r\n".utf8)
    for header in headers where Self.isSafe(header.name) && Self.isSafe(header.value) {
      output.append(contentsOf: header.name.utf8)
      output.append(contentsOf: ": ".utf8)
      output.append(contentsOf: header.value.utf8)
      output.append(contentsOf: "\r\n".utf8)
    }
    output.append(contentsOf: DateField.bytes)
    // RFC 9110 section 8.6: no Content-Length in a response that cannot have content.
    if status != 204 && status != 304 {
      output.append(contentsOf: "Content-Length: \(body.count)\r\n".utf8)
    }
    if closing || closes { output.append(contentsOf: "Connection: close\r\n".utf8) }
    // No type sniffing and no caching: entitlements change, and a cached one would grant access
    // that has ended (promise 8).
    output.append(
      contentsOf: "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\r\n".utf8)
    if !toHead && status != 204 && status != 304 { output.append(contentsOf: body) }
  }

  /// Whether there is no control character: CR and LF would end the line (RFC 9110 section 5.5).
  private static func isSafe(_ part: String) -> Bool {
    part.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
  }

  /// The reason phrase (RFC 9110 section 15) of each status that this server sends.
  package static func reason(of status: Int) -> String {
    switch status {
    case 200: "OK"
    case 204: "No Content"
    case 302: "Found"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    default: "Answer"
    }
  }
}

extension HTTPResponse {
  /// What Retry-After says in a 503 by the transport, in seconds.
  private static let retryAfterSeconds = "5"

  /// The response with a Retry-After header if it is a 503 without one (RFC 9110 section 10.2.3).
  /// Apple retries by its own schedule; proxies and readers obey the header.
  var withRetryAfter: HTTPResponse {
    guard status == 503, !has("Retry-After") else { return self }
    var response = self
    response.headers.append((name: "Retry-After", value: Self.retryAfterSeconds))
    return response
  }
}
