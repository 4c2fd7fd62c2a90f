/// A strict HTTP/1.1 parser as a value: bytes in, actions out, no socket and no clock.
///
/// What it guarantees:
/// - The same bytes give the same actions, however they are split.
/// - Where RFC 9112 permits both repairing and refusing, it refuses. Every refusal ends the
///   connection, because nothing is trusted after bytes that two readers could frame differently.
/// - Every byte is examined a bounded number of times; a body is copied once, in runs.
/// - It stores at most one head (bounded by the limits) and one body (bounded by the caller).
///
/// The caller passes input to `consume`, performs the action, and after `.head` calls `admit` or
/// `decline` before it calls `consume` again.
package struct RequestParser: Sendable {
  package enum Action: Sendable {
    /// All bytes are used; call again when there are more.
    case needMore
    /// A head is complete and well-formed: `admit` or `decline` it.
    case head(RequestHead)
    /// Send `100 Continue` (RFC 9110 section 10.1.1), then call again.
    case sendContinue
    /// A whole request; the bytes after it belong to the next one.
    case request(HTTPRequest)
    /// Answer with this status and close the connection. No other action follows.
    case refuse(status: Int)
  }

  /// Which part of a request is being read, for deadlines.
  enum Progress: Sendable {
    case idle, head, body
  }

  /// The part of a request that is read next. The properties below hold the data of each state.
  ///
  ///     requestLine ► fields ► admission ─┬► [interim] ► body ─────────────────► next request
  ///                                       └► [interim] ► chunkLine ► chunk ► chunkEnd ┐
  ///                                                        ▲──────────────────────────┤
  ///                                                        size 0 ► trailers ► next request
  ///
  /// Every state can change to `refused`, which is final.
  private enum State {
    case requestLine, fields, admission, interim
    case body, chunkLine, chunk, chunkEnd, trailers
    case refused(Int)
  }

  private var state = State.requestLine
  private var reader: HeadReader
  private let peer: Peer
  /// Set from `.head` until the request is whole.
  private var head: RequestHead?
  private var body: [UInt8] = []
  private var bodyLimit = 0
  /// The number of missing bytes of the body or of the current chunk.
  private var remaining = 0
  /// Old clients send one empty line before a request; two are refused.
  private var sawBlankLine = false

  /// A parser for one connection, from its first byte.
  package init(limits: ServerLimits, peer: Peer) {
    reader = HeadReader(limits: limits)
    self.peer = peer
  }

  /// The part of the current request that is being read.
  var progress: Progress {
    switch state {
    case .requestLine: reader.isEmpty ? .idle : .head
    case .fields: .head
    default: .body
    }
  }

  /// Consumes bytes of `input` from `cursor` on, moves `cursor` past them, and returns the action
  /// to perform.
  package mutating func consume(_ input: Span<UInt8>, at cursor: inout Int) -> Action {
    while true {
      do throws(HTTPParseError) {
        if let action = try step(input, &cursor) { return action }
      } catch {
        refuse(error.status)
      }
    }
  }

  /// The memory of the body that is being read, in bytes, and how much of it has arrived.
  var bodyMemory: Int { body.capacity }
  var bodyCount: Int { body.count }

  /// Ends parsing: the connection closes with this status. Releases the body.
  mutating func refuse(_ status: Int) {
    state = .refused(status)
    body = []
  }

  /// Accepts the head just returned: its body of at most `bodyLimit` bytes is read next.
  package mutating func admit(bodyLimit: Int) {
    // In any other state the call has no effect.
    guard case .admission = state, let head else { return }
    self.bodyLimit = bodyLimit
    if let status = Self.objection(to: head, bodyLimit) {
      state = .refused(status)
    } else {
      state = head.expectation == .continuing && head.hasBody ? .interim : bodyState(head)
    }
  }

  /// Declines the head just returned: the caller answers it without its body.
  ///
  /// - Returns: whether the next request can be read; false if the request has a body.
  mutating func decline() -> Bool {
    guard case .admission = state, let head, !head.hasBody else { return false }
    restart()
    return true
  }

  /// The status for an admitted head whose body cannot be read; nil if it can. Checked after
  /// admission, so that 404 and 405 take precedence.
  private static func objection(to head: RequestHead, _ bodyLimit: Int) -> Int? {
    // RFC 9110 section 10.1.1: an unknown expectation is refused, not ignored.
    if head.expectation == .unknown { return 417 }
    switch head.framing {
    // By RFC 9112 section 6.3 a POST without a length has an empty body. More likely the sender
    // forgot the length, and its body would be read as the next request.
    case .none: return head.method == "POST" ? 411 : nil
    case .length(let length): return length > bodyLimit ? 413 : nil
    case .chunked: return nil
    }
  }

  private mutating func bodyState(_ head: RequestHead) -> State {
    switch head.framing {
    case .none: remaining = 0
    case .length(let length): remaining = length
    case .chunked: return .chunkLine
    }
    // The length is only a claim: nothing is reserved before its bytes arrive.
    return .body
  }

  /// Prepares for the next request. An idle parser holds no memory.
  private mutating func restart() {
    state = .requestLine
    reader.restart()
    head = nil
    body = []
    remaining = 0
    sawBlankLine = false
  }
}

// MARK: - One step

extension RequestParser {
  /// Performs one state transition; nil means that the caller must call again.
  private mutating func step(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Action? {
    switch state {
    case .requestLine: return try readRequestLine(input, &cursor)
    case .fields: return try readField(input, &cursor)
    case .admission: return .needMore
    case .interim:
      if let head { state = bodyState(head) }
      return .sendContinue
    case .body: return readBody(input, &cursor)
    case .chunkLine: return try readChunkLine(input, &cursor)
    case .chunk: return readChunk(input, &cursor)
    case .chunkEnd: return try readChunkEnd(input, &cursor)
    case .trailers: return try readTrailer(input, &cursor)
    case .refused(let status): return .refuse(status: status)
    }
  }

  private mutating func readRequestLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Action? {
    guard cursor < input.count else { return .needMore }
    // A TLS hello or a byte order mark may have no line end: the first byte is checked at once.
    if reader.isEmpty { try HeadReader.checkFirst(input[cursor]) }
    guard let line = try reader.requestLine(input, &cursor) else { return .needMore }
    if line.isEmpty {
      // One empty line before a request is ignored (RFC 9112 section 2.2).
      guard !sawBlankLine else { throw .malformed }
      sawBlankLine = true
      reader.restart()
      return nil
    }
    try reader.splitRequestLine(line)
    state = .fields
    return nil
  }

  private mutating func readField(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Action? {
    guard let line = try reader.fieldLine(input, &cursor) else { return .needMore }
    guard line.isEmpty else {
      try reader.addField(line)
      return nil
    }
    let head = try reader.finishHead(from: peer)
    self.head = head
    state = .admission
    return .head(head)
  }

  private mutating func readBody(_ input: Span<UInt8>, _ cursor: inout Int) -> Action? {
    readBytes(input, &cursor)
    return remaining == 0 ? finish() : .needMore
  }

  private mutating func readChunk(_ input: Span<UInt8>, _ cursor: inout Int) -> Action? {
    readBytes(input, &cursor)
    guard remaining == 0 else { return .needMore }
    state = .chunkEnd
    return nil
  }

  private mutating func readChunkLine(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Action? {
    guard let line = try reader.chunkLine(input, &cursor) else { return .needMore }
    let size = try reader.chunkSize(line)
    reader.nextPart()
    // Judged by the announced size: the bytes of a chunk over the limit are never read.
    guard size <= bodyLimit - body.count else { throw .tooLarge }
    remaining = size
    state = size == 0 ? .trailers : .chunk
    return nil
  }

  private mutating func readChunkEnd(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Action? {
    guard let line = try reader.chunkEnd(input, &cursor) else { return .needMore }
    guard line.isEmpty else { throw .malformed }
    reader.nextPart()
    state = .chunkLine
    return nil
  }

  private mutating func readTrailer(
    _ input: Span<UInt8>, _ cursor: inout Int
  ) throws(HTTPParseError) -> Action? {
    // The limits of a header block apply to trailers too.
    guard let line = try reader.fieldLine(input, &cursor) else { return .needMore }
    if line.isEmpty { return finish() }
    try reader.checkTrailer(line)
    return nil
  }

  /// Copies the available bytes of the body at once, not byte by byte.
  private mutating func readBytes(_ input: Span<UInt8>, _ cursor: inout Int) {
    let count = min(remaining, input.count - cursor)
    guard count > 0 else { return }
    input.withUnsafeBufferPointer { bytes in
      body.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[cursor..<cursor + count]))
    }
    cursor += count
    remaining -= count
  }

  private mutating func finish() -> Action? {
    guard let head else { return nil }
    // The body is moved: `restart` drops this reference before the caller uses the other.
    let request = HTTPRequest(head: head, body: body)
    restart()
    return .request(request)
  }
}
