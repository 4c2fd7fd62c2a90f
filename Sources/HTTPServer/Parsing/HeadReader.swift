import Glibc

/// Collects the lines of a head and reads them (RFC 9112 sections 2 to 6, RFC 9110 section 5).
///
/// The bytes of a head are copied here once; lines, names and values are places in them. A line is
/// judged when it is complete, or as soon as it is too long to become a good one.
struct HeadReader: Sendable {
  private let limits: ServerLimits
  /// The head so far, at most one line longer than judged.
  private var text: [UInt8] = []
  private var lineStart = 0
  /// Where the header block begins, behind the request line: what `limits.headerBlock` counts from.
  private var blockStart = 0
  private var fields: [HTTPHeaders.Field] = []
  private var trailerCount = 0
  private var method = 0..<0
  private var target = 0..<0
  private var isVersion10 = false

  init(limits: ServerLimits) { self.limits = limits }

  var isEmpty: Bool { text.isEmpty }

  /// Forgets the line; the next piece of the same request follows.
  mutating func nextPart() {
    text.removeAll(keepingCapacity: true)
    lineStart = 0
  }

  /// Forgets all, and gives the memory back: the connection may now be idle for long.
  mutating func restart() {
    text = []
    lineStart = 0
    blockStart = 0
    trailerCount = 0
  }
}

// MARK: - Lines

extension HeadReader {
  /// The longest method that is worth telling from a long target.
  private static let methodRoom = 64

  /// The request line; one that is too long is called a long target, as it nearly always is.
  mutating func requestLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, limits.requestTarget + Self.methodRoom, .longTarget)
  }

  /// A header or trailer line, counted against the block with its CRLF, so that a client cannot
  /// send empty-looking lines for ever.
  ///
  /// `Authorization` may fill the block: a token of any length that fits is one that is known or is
  /// not, and 401 says so.
  mutating func fieldLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, limits.headerField, .largeHeader, block: limits.headerBlock)
  }

  /// A line with the size of a chunk.
  mutating func chunkLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, limits.chunkLine, .malformed)
  }

  /// The line end behind a chunk: a line with nothing in it.
  mutating func chunkEnd(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Range<Int>? {
    try line(input, &cursor, 0, .malformed)
  }

  private static let credentials = Array("authorization:".utf8)

  /// Whether the line under way is an Authorization field, as far as it has come.
  private var holdsCredentials: Bool {
    let name = text[lineStart...].prefix(Self.credentials.count)
    return name.elementsEqual(Self.credentials) { Octet.lowercased($0) == $1 }
  }

  /// The place of the next line without its CRLF, or nil while its end has not come.
  ///
  /// - Parameter block: the limit of the whole header block, and of the one field that may fill it.
  private mutating func line(
    _ input: Span<UInt8>, _ cursor: inout Int, _ limit: Int, _ tooLong: HTTPParseError,
    block: Int? = nil
  ) throws(HTTPParseError) -> Range<Int>? {
    // memchr rather than a loop: the search is the only thing done for each byte of a long line,
    // and it must be quick without optimisation as well.
    let complete = input.withUnsafeBufferPointer { bytes in
      let rest = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[cursor...]))
      guard let start = rest.baseAddress else { return false }
      let end = memchr(start, Int32(Octet.lineFeed), rest.count)
      let used = end.map { UnsafeRawPointer($0) - start + 1 } ?? rest.count
      text.append(contentsOf: rest[..<used])
      cursor += used
      return end != nil
    }
    // Before the line is judged, or bytes that come in pieces would be judged otherwise than whole.
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
    // A bare LF is not a line end (RFC 9112 section 2.2 lets us choose).
    guard text.count - lineStart >= 2, text[text.count - 2] == Octet.carriageReturn
    else { throw .malformed }
    lineStart = text.count
    return line
  }
}

// MARK: - The request line

extension HeadReader {
  /// A request starts with a method, or with the CR of one empty line.
  static func checkFirst(_ byte: UInt8) throws(HTTPParseError) {
    guard Octet.token.contains(byte) || byte == Octet.carriageReturn else { throw .malformed }
  }

  /// Reads `method SP target SP HTTP/1.x`, with single spaces and nothing else.
  mutating func splitRequestLine(_ line: Range<Int>) throws(HTTPParseError) {
    // First and last space: a space in between is then a character of the target, where no space
    // may be, and so a second one anywhere is refused.
    guard let first = text[line].firstIndex(of: Octet.space),
      let last = text[line].lastIndex(of: Octet.space), first < last
    else { throw .malformed }
    method = line.lowerBound..<first
    target = first + 1..<last
    guard !method.isEmpty, text[method].allSatisfy(Octet.token.contains) else { throw .malformed }
    // The version before the target: what HTTP/2 sends first (`PRI *`) deserves 505.
    try readVersion(last + 1..<line.upperBound)
    try checkTarget()
    blockStart = lineStart
  }

  /// HTTP/1.1, and HTTP/1.0 because nginx speaks it to what it proxies unless told otherwise; such
  /// a request gets no chunked body, no interim answer, and its connection closes.
  private mutating func readVersion(_ place: Range<Int>) throws(HTTPParseError) {
    let version = text[place]
    if version.elementsEqual("HTTP/1.1".utf8) {
      isVersion10 = false
    } else if version.elementsEqual("HTTP/1.0".utf8) {
      isVersion10 = true
    } else {
      throw isVersion(version) ? .version : .malformed
    }
  }

  /// HTTP-version of RFC 9112 section 2.3.
  private func isVersion(_ version: ArraySlice<UInt8>) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let start = version.startIndex
    return version.count == 8 && version.starts(with: "HTTP/".utf8)
      && digits.contains(version[start + 5]) && version[start + 6] == UInt8(ascii: ".")
      && digits.contains(version[start + 7])
  }

  /// Only origin-form. RFC 9112 section 3.2.2 wants servers to take absolute-form too, for a day
  /// when clients use it; they do not, and a second place for the host is a second answer to who is
  /// asked.
  private func checkTarget() throws(HTTPParseError) {
    guard target.count <= limits.requestTarget else { throw .longTarget }
    guard !target.isEmpty, text[target.lowerBound] == UInt8(ascii: "/"),
      text[target].allSatisfy(Octet.target.contains)
    else { throw .malformed }
  }
}

// MARK: - Fields

extension HeadReader {
  mutating func takeField(_ line: Range<Int>) throws(HTTPParseError) {
    // Before it is read: a field too many is not worth the work.
    guard fields.count < limits.headerFields else { throw .largeHeader }
    let (name, value) = try splitField(line)
    fields.append(
      HTTPHeaders.Field(
        name: UInt16(clamping: name.lowerBound)..<UInt16(clamping: name.upperBound),
        value: UInt16(clamping: value.lowerBound)..<UInt16(clamping: value.upperBound)))
  }

  /// A trailer is checked and forgotten. One that would have framed, routed or allowed something in
  /// the head shows that somebody tries (RFC 9110 section 6.5.1).
  mutating func takeTrailer(_ line: Range<Int>) throws(HTTPParseError) {
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

  /// `name ":" OWS value OWS`; a line that starts with white space (obs-fold), has none of a name,
  /// or white space in or after it, fails because its name is no token.
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
  /// Hands the finished head over and starts anew.
  mutating func takeHead(from peer: Peer) throws(HTTPParseError) -> RequestHead {
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

  private func string(_ place: Range<Int>) -> String {
    String(decoding: text[place], as: UTF8.self)
  }

  /// The size on a chunk line: hexadecimal, optionally an extension, no white space anywhere.
  ///
  /// Extensions are ignored as RFC 9112 section 7.1.1 demands; they cannot hide a line end, because
  /// nothing but visible ASCII passes, and `limits.chunkLine` bounds them.
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
