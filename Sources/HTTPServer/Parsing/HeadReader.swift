import Glibc

/// Collects the lines of a head and reads them (RFC 9112 sections 2 to 6, RFC 9110 section 5).
///
/// The bytes of a head are copied here once; lines, names and values are ranges in them. A line is
/// checked when it is complete, and refused as soon as it is too long.
struct HeadReader: Sendable {
  private let limits: ServerLimits
  /// The head so far: the lines that are checked, and at most one that is not.
  private var text: [UInt8] = []
  private var lineStart = 0
  /// Where the header block begins, after the request line; `limits.headerBlock` counts from here.
  private var blockStart = 0
  private var fields: [HTTPHeaders.Field] = []
  private var trailerCount = 0
  private var method = 0..<0
  private var target = 0..<0
  private var isVersion10 = false

  init(limits: ServerLimits) { self.limits = limits }

  var isEmpty: Bool { text.isEmpty }

  /// Removes the line; the next part of the same request follows.
  mutating func nextPart() {
    text.removeAll(keepingCapacity: true)
    lineStart = 0
  }

  /// Removes everything and releases the memory, because the connection may now be idle for long.
  mutating func restart() {
    text = []
    lineStart = 0
    blockStart = 0
    trailerCount = 0
  }
}

// MARK: - Lines

extension HeadReader {
  /// The longest method that the request line has space for beside its target.
  private static let maximumMethod = 64

  /// Returns the range of the request line, or nil until it is complete.
  ///
  /// - Throws: `HTTPParseError.longTarget` when the line is too long, because the target nearly
  ///   always is the reason; `malformed` for a line end other than CRLF.
  mutating func requestLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, limits.requestTarget + Self.maximumMethod, .longTarget)
  }

  /// Returns the range of a header or trailer line, or nil until it is complete. The line counts
  /// against the block with its CRLF, so that a client cannot send short lines without end.
  ///
  /// `Authorization` may fill the block, because a long token that is unknown should get 401.
  ///
  /// - Throws: `HTTPParseError.largeHeader` when the line or the block is too long; `malformed` for
  ///   a line end other than CRLF.
  mutating func fieldLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, limits.headerField, .largeHeader, block: limits.headerBlock)
  }

  /// Returns the range of a line with the size of a chunk, or nil until it is complete.
  mutating func chunkLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, limits.chunkLine, .malformed)
  }

  /// Returns the range of the line end after a chunk, which is an empty line, or nil until it is
  /// complete.
  mutating func chunkEnd(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, 0, .malformed)
  }

  private static let credentials = Array("authorization:".utf8)

  /// Whether the current line starts as an Authorization field.
  private var holdsCredentials: Bool {
    let name = text[lineStart...].prefix(Self.credentials.count)
    return name.elementsEqual(Self.credentials) { Octet.lowercased($0) == $1 }
  }

  /// Returns the range of the next line without its CRLF, or nil until its end has been received.
  ///
  /// - Parameter block: the limit of the whole header block, and of the field that may fill it.
  private mutating func line(
    _ input: Span<UInt8>, _ cursor: inout Int, _ limit: Int, _ tooLong: HTTPParseError,
    block: Int? = nil
  ) throws(HTTPParseError) -> Range<Int>? {
    // memchr rather than a loop: nothing else is done for each byte of a long line, and it must be
    // fast in debug builds too.
    let complete = input.withUnsafeBufferPointer { bytes in
      let rest = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[cursor...]))
      guard let start = rest.baseAddress else { return false }
      let end = memchr(start, Int32(Octet.lineFeed), rest.count)
      let used = end.map { UnsafeRawPointer($0) - start + 1 } ?? rest.count
      text.append(contentsOf: rest[..<used])
      cursor += used
      return end != nil
    }
    // Checked before the line is, because otherwise the result would depend on how the bytes are
    // split.
    if let block, text.count - blockStart > block { throw tooLong }
    let isLong = text.count - lineStart > limit
    let limit = isLong && block != nil && holdsCredentials ? block ?? limit : limit
    guard complete else {
      // One more than the limit may be the CR.
      guard text.count - lineStart <= limit + 1 else { throw tooLong }
      return nil
    }
    let line = lineStart..<max(lineStart, text.count - 2)
    guard line.count <= limit else { throw tooLong }
    // A bare LF is not a line end (RFC 9112 section 2.2 permits both readings).
    guard text.count - lineStart >= 2, text[text.count - 2] == Octet.carriageReturn
    else { throw .malformed }
    lineStart = text.count
    return line
  }
}

// MARK: - The request line

extension HeadReader {
  /// Requires that a request starts with a method, or with the CR of one empty line.
  static func checkFirst(_ byte: UInt8) throws(HTTPParseError) {
    guard Octet.token.contains(byte) || byte == Octet.carriageReturn else { throw .malformed }
  }

  /// Reads `method SP target SP HTTP/1.x` with exactly these two spaces.
  mutating func splitRequestLine(_ line: Range<Int>) throws(HTTPParseError) {
    // The first and the last space: any other space is then in the target, which is refused there.
    guard let first = text[line].firstIndex(of: Octet.space),
      let last = text[line].lastIndex(of: Octet.space), first < last
    else { throw .malformed }
    method = line.lowerBound..<first
    target = first + 1..<last
    guard !method.isEmpty, text[method].allSatisfy(Octet.token.contains) else { throw .malformed }
    // The version before the target, so that the preface of HTTP/2 (`PRI *`) gets 505.
    try readVersion(last + 1..<line.upperBound)
    try checkTarget()
    blockStart = lineStart
  }

  /// Accepts HTTP/1.1, and HTTP/1.0 because nginx uses it for its upstreams by default. A request
  /// of HTTP/1.0 has no chunked body and no interim response, and its connection is closed.
  private mutating func readVersion(_ range: Range<Int>) throws(HTTPParseError) {
    let version = text[range]
    if version.elementsEqual("HTTP/1.1".utf8) {
      isVersion10 = false
    } else if version.elementsEqual("HTTP/1.0".utf8) {
      isVersion10 = true
    } else {
      throw isVersion(version) ? .version : .malformed
    }
  }

  /// Whether this is an HTTP-version (RFC 9112 section 2.3).
  private func isVersion(_ version: ArraySlice<UInt8>) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let start = version.startIndex
    return version.count == 8 && version.starts(with: "HTTP/".utf8)
      && digits.contains(version[start + 5]) && version[start + 6] == UInt8(ascii: ".")
      && digits.contains(version[start + 7])
  }

  /// Accepts origin-form only. RFC 9112 section 3.2.2 requires servers to accept absolute-form too,
  /// for future clients; none uses it, and a host in the target could contradict the Host header.
  private func checkTarget() throws(HTTPParseError) {
    guard target.count <= limits.requestTarget else { throw .longTarget }
    guard !target.isEmpty, text[target.lowerBound] == UInt8(ascii: "/"),
      text[target].allSatisfy(Octet.target.contains)
    else { throw .malformed }
  }
}

// MARK: - Fields

extension HeadReader {
  /// Checks a header line and adds it to the fields.
  mutating func addField(_ line: Range<Int>) throws(HTTPParseError) {
    // Checked before the line is read: a field over the limit is not worth the work.
    guard fields.count < limits.headerFields else { throw .largeHeader }
    let (name, value) = try splitField(line)
    fields.append(
      HTTPHeaders.Field(
        name: UInt16(clamping: name.lowerBound)..<UInt16(clamping: name.upperBound),
        value: UInt16(clamping: value.lowerBound)..<UInt16(clamping: value.upperBound)))
  }

  /// Checks a trailer line and drops it. A trailer that would frame, route or authorize the request
  /// if it were in the head is an attack and is refused (RFC 9110 section 6.5.1).
  mutating func checkTrailer(_ line: Range<Int>) throws(HTTPParseError) {
    trailerCount += 1
    guard trailerCount <= limits.headerFields else { throw .largeHeader }
    let (name, _) = try splitField(line)
    let lowercased = text[name].map(Octet.lowercased)
    for forbidden in Self.notInTrailers where lowercased.elementsEqual(forbidden.utf8) {
      throw .malformed
    }
  }

  private static let notInTrailers = [
    "authorization", "connection", "content-encoding", "content-length", "content-type", "expect",
    "host", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Splits `name ":" OWS value OWS`. A line that starts with white space (obs-fold), has no name,
  /// or has white space in or after its name is refused, because its name is not a token.
  private func splitField(
    _ line: Range<Int>
  ) throws(HTTPParseError) -> (name: Range<Int>, value: Range<Int>) {
    guard let colon = text[line].firstIndex(of: UInt8(ascii: ":")) else { throw .malformed }
    let name = line.lowerBound..<colon
    guard !name.isEmpty, text[name].allSatisfy(Octet.token.contains) else { throw .malformed }
    var start = colon + 1
    var end = line.upperBound
    while start < end, isBlank(text[start]) { start += 1 }
    while end > start, isBlank(text[end - 1]) { end -= 1 }
    guard text[start..<end].allSatisfy(Octet.isFieldValue) else { throw .malformed }
    return (name, start..<end)
  }

  private func isBlank(_ byte: UInt8) -> Bool { byte == Octet.space || byte == Octet.tab }
}

// MARK: - The whole head

extension HeadReader {
  /// Returns the complete head, and prepares for the next one.
  mutating func finishHead(from peer: Peer) throws(HTTPParseError) -> RequestHead {
    let headers = HTTPHeaders(text: text, fields: fields)
    // The first `?` ends the path (RFC 3986 section 3.4); later ones belong to the query.
    let question = text[target].firstIndex(of: UInt8(ascii: "?")) ?? target.upperBound
    var head = RequestHead(
      method: string(method), path: string(target.lowerBound..<question),
      query: question < target.upperBound ? string(question + 1..<target.upperBound) : nil,
      headers: headers, peer: peer)
    try Framing.checkHost(headers)
    head.framing = try Framing.framing(headers, isVersion10: isVersion10)
    head.expectation = isVersion10 ? .none : Framing.expectation(headers)
    head.closes = isVersion10 || Framing.wantsClose(headers)
    fields = []
    restart()
    return head
  }

  private func string(_ range: Range<Int>) -> String {
    String(decoding: text[range], as: UTF8.self)
  }

  /// The size on a chunk line: hexadecimal, with an optional extension and no white space.
  ///
  /// Extensions are ignored, as RFC 9112 section 7.1.1 requires. They cannot hide a line end,
  /// because only visible ASCII is accepted, and `limits.chunkLine` limits their length.
  func chunkSize(_ line: Range<Int>) throws(HTTPParseError) -> Int {
    let digits = text[line].prefix { $0 != UInt8(ascii: ";") }
    let rest = text[line].dropFirst(digits.count)
    guard (1...15).contains(digits.count), rest.count != 1,
      rest.allSatisfy({ $0 > Octet.space && $0 < 0x7f })
    else { throw .malformed }
    // 15 digits are 60 bits: the sum below cannot overflow.
    var size = 0
    for byte in digits {
      guard let digit = Octet.hexValue(byte) else { throw .malformed }
      size = size << 4 | digit
    }
    return size
  }
}
