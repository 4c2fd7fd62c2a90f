/// Strict HTTP/1.1 as a value: bytes in, actions out, no socket and no clock.
///
/// What it guarantees:
/// - The same bytes give the same actions however they are cut into pieces.
/// - Where RFC 9112 leaves a choice between repairing and refusing, it refuses, and every refusal
///   ends the connection: after bytes that two readers could frame differently nothing is trusted.
/// - Every byte is looked at a bounded number of times; a body is copied once, in runs.
/// - It holds at most one head (bounded by the limits) and one body (bounded by the caller).
///
/// The caller feeds pieces to `consume`, obeys the action, and after `.head` says `admit` or
/// `decline` before it calls again.
package struct RequestParser: Sendable {
  package enum Action: Sendable {
    /// All bytes are used up; nothing is to be done until there are more.
    case needMore
    /// A head is complete and well-formed: `admit` or `decline` it.
    case head(RequestHead)
    /// Send `100 Continue` (RFC 9110 section 10.1.1), then go on.
    case sendContinue
    /// A whole request; the bytes after it belong to the next one.
    case request(HTTPRequest)
    /// Answer with this status and close. Nothing more comes.
    case refuse(status: Int)
  }

  /// How far the current request has come, for deadlines.
  package enum Progress: Sendable {
    case idle, head, body
  }

  /// Where the parser stands; what a state still misses is in the properties below.
  ///
  ///     requestLine ► fields ► admission ─┬► [interim] ► body ─────────────────► next request
  ///                                       └► [interim] ► chunkLine ► chunk ► chunkEnd ┐
  ///                                                        ▲──────────────────────────┤
  ///                                                        size 0 ► trailers ► next request
  ///
  /// Every state can go to `refused`, and nothing leaves it.
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
  /// Bytes still missing of the body or of the current chunk.
  private var remaining = 0
  /// One empty line before a request is an old habit of clients; two are somebody probing.
  private var sawBlankLine = false

  package init(limits: ServerLimits, peer: Peer) {
    reader = HeadReader(limits: limits)
    self.peer = peer
  }

  package var progress: Progress {
    switch state {
    case .requestLine: reader.isEmpty ? .idle : .head
    case .fields: .head
    default: .body
    }
  }

  /// Uses bytes of `input` from `cursor` on, moves `cursor` past them, and says what to do.
  package mutating func consume(_ input: Span<UInt8>, at cursor: inout Int) -> Action {
    while true {
      do throws(HTTPParseError) {
        if let action = try step(input, &cursor) { return action }
      } catch {
        state = .refused(error.status)
      }
    }
  }

  /// Reads the body of the head just given, of at most `bodyLimit` bytes.
  package mutating func admit(bodyLimit: Int) {
    // Called out of turn it does nothing: the state alone decides what is legal.
    guard case .admission = state, let head else { return }
    self.bodyLimit = bodyLimit
    if let status = Self.objection(to: head, bodyLimit) {
      state = .refused(status)
    } else {
      state = head.expectation == .continuing && head.hasBody ? .interim : bodyState(head)
    }
  }

  /// Gives up the head just given: the caller answers it by itself.
  ///
  /// - Returns: whether the next request can be read; not where a body follows.
  package mutating func decline() -> Bool {
    guard case .admission = state, let head, !head.hasBody else { return false }
    restart()
    return true
  }

  /// Why an admitted head cannot be read on. Only here, so that 404 and 405 come first.
  private static func objection(to head: RequestHead, _ bodyLimit: Int) -> Int? {
    // RFC 9110 section 10.1.1: an expectation that cannot be met is refused, not ignored.
    if head.expectation == .unknown { return 417 }
    switch head.framing {
    // A POST without a length has an empty body by RFC 9112 section 6.3; its sender more likely
    // forgot the length, and the bytes behind the head would be read as a request.
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
    // A length is only a claim: no more than a usual body is set aside before its bytes come.
    body.reserveCapacity(min(remaining, 32 * 1024))
    return .body
  }

  /// Forgets the request; what is idle keeps no memory.
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
  /// Goes one state further; nil means: call again.
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
    // A TLS hello or a byte order mark has no line end to wait for: the first byte tells.
    if reader.isEmpty { try HeadReader.checkFirst(input[cursor]) }
    guard let line = try reader.requestLine(input, &cursor) else { return .needMore }
    if line.isEmpty {
      // One empty line before a request is let pass (RFC 9112 section 2.2).
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
      try reader.takeField(line)
      return nil
    }
    let head = try reader.takeHead(from: peer)
    self.head = head
    state = .admission
    return .head(head)
  }

  private mutating func readBody(_ input: Span<UInt8>, _ cursor: inout Int) -> Action? {
    takeBytes(input, &cursor)
    return remaining == 0 ? finish() : .needMore
  }

  private mutating func readChunk(_ input: Span<UInt8>, _ cursor: inout Int) -> Action? {
    takeBytes(input, &cursor)
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
    // Judged by the announcement: the bytes of a chunk too many are never read.
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
    // The limits of a header block hold for trailers too.
    guard let line = try reader.fieldLine(input, &cursor) else { return .needMore }
    if line.isEmpty { return finish() }
    try reader.takeTrailer(line)
    return nil
  }

  /// Copies a run of the body in one piece, never byte by byte.
  private mutating func takeBytes(_ input: Span<UInt8>, _ cursor: inout Int) {
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
    // The body moves out: `restart` drops this reference before the caller gets the other.
    let request = HTTPRequest(head: head, body: body)
    restart()
    return .request(request)
  }
}
