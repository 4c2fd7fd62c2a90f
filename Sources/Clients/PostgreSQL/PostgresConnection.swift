import CPostgres
import Glibc
public import Platform

/// A connection to PostgreSQL, used by one thread. No call waits longer than its deadline; after a
/// timeout, or when the connection was lost, every further call throws `lost`.
public final class PostgresConnection {
  /// nil once it is closed.
  private var handle: OpaquePointer?
  private let noticeList: NoticeList
  /// Ends every wait.
  private let cancellation: Cancellation?

  /// Takes the handle over, whose notices the list receives.
  private init(
    _ handle: OpaquePointer, _ noticeList: NoticeList, _ cancellation: Cancellation?
  ) {
    self.handle = handle
    (self.noticeList, self.cancellation) = (noticeList, cancellation)
  }

  deinit { close() }

  /// Closes the connection; the server rolls back what is not committed, once it notices.
  public func close() {
    if let handle { PQfinish(handle) }
    handle = nil
  }

  // MARK: About the connection

  public var isUsable: Bool { handle.map { PQstatus($0) == CONNECTION_OK } ?? false }

  /// Whether it is encrypted with TLS.
  public var isEncrypted: Bool { handle.map { PQsslInUse($0) == 1 } ?? false }

  /// As a number: 150020 is 15.20. A pooler may say its own.
  public var serverVersion: Int { handle.map { Int(PQserverVersion($0)) } ?? 0 }

  /// The server's process, for `pg_stat_activity`. A pooler says a number of its own.
  public var backendId: Int32 { handle.map { PQbackendPID($0) } ?? 0 }

  /// A setting that the server reports without being asked, as `in_hot_standby`; nil where it does
  /// not, or where a pooler keeps it.
  public func reported(_ setting: String) -> String? {
    handle.flatMap { PQparameterStatus($0, setting) }.map { String(cString: $0) }
  }

  /// Whether an SQL transaction is open, as the server said last.
  public var isInTransaction: Bool {
    handle.map { [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus($0)) } ?? false
  }

  /// Removes and returns what the server sent beside its answers since the last call.
  public func takeNotices() -> [PostgresNotice] { noticeList.take() }

  /// Asks the server to cancel what it does for this connection. Makes a second connection and
  /// waits for it without a deadline of its own.
  public func cancel() {
    guard let handle, let request = PQgetCancel(handle) else { return }
    var message = [CChar](repeating: 0, count: 256)
    _ = PQcancel(request, &message, Int32(message.count))
    PQfreeCancel(request)
  }

  // MARK: Statements

  /// Runs one statement.
  ///
  /// - Throws: `PostgresError`; after `statement` the connection can be used further.
  public func execute(
    _ sql: String, _ parameters: [PostgresValue] = [], by deadline: Deadline
  ) throws(PostgresError) -> PostgresRows {
    let handle = try usable()
    try send(PostgresStatement(sql, parameters), handle)
    try flush(handle, deadline)
    return try answer(handle, deadline).get()
  }

  /// Runs statements without parameters, separated by semicolons, in one round trip. Without a
  /// BEGIN of their own they are one SQL transaction
  /// (postgresql.org/docs/15/protocol-flow.html#PROTOCOL-FLOW-MULTI-STATEMENT).
  ///
  /// - Throws: `PostgresError`; after `statement` the connection can be used further.
  public func run(script: String, by deadline: Deadline) throws(PostgresError) {
    let handle = try usable()
    guard PQsendQuery(handle, script) == 1 else { throw lose() }
    try flush(handle, deadline)
    var failure: PostgresError?
    while let result = try nextResult(handle, deadline) {
      if case .failure(let error) = Self.outcome(result) { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// Runs statements in one round trip
  /// (postgresql.org/docs/15/libpq-pipeline-mode.html). They are one implicit SQL transaction
  /// unless they say otherwise; after one that fails, none is run.
  ///
  /// - Returns: one answer for each statement.
  /// - Throws: `PipelineError`; after `statement` the connection can be used further.
  public func pipeline(
    _ statements: [PostgresStatement], by deadline: Deadline
  ) throws(PipelineError) -> [PostgresRows] {
    var answers: [Result<PostgresRows, PostgresError>] = []
    var lost: PostgresError?
    do throws(PostgresError) {
      let handle = try usable()
      guard PQenterPipelineMode(handle) == 1 else { throw lose() }
      for statement in statements { try send(statement, handle) }
      guard PQpipelineSync(handle) == 1 else { throw lose() }
      try flush(handle, deadline)
      for _ in statements { answers.append(try answer(handle, deadline)) }
      try leavePipeline(handle, deadline)
    } catch {
      lost = error
    }
    var rows: [PostgresRows] = []
    for (index, answer) in answers.enumerated() {
      switch answer {
      case .success(let found): rows.append(found)
      case .failure(let error): throw PipelineError(error: error, index: index)
      }
    }
    if let lost { throw PipelineError(error: lost, index: rows.count) }
    return rows
  }

  private func leavePipeline(
    _ handle: OpaquePointer, _ deadline: Deadline
  ) throws(PostgresError) {
    guard let result = try nextResult(handle, deadline) else { throw lose() }
    let isSynced = PQresultStatus(result) == PGRES_PIPELINE_SYNC
    PQclear(result)
    guard isSynced, PQexitPipelineMode(handle) == 1 else { throw lose() }
  }
}

extension PostgresConnection {
  /// Which of several servers is wanted.
  public enum Target: String, Sendable {
    case any
    /// Not a standby, and not one that was set to read-only.
    case writable = "read-write"
  }

  /// Where the connection string names none: lost servers are noticed within 11 s, a silent one
  /// that was written to within 5 s, and GSSAPI is not tried, which costs a round trip.
  private static let defaults = [
    "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
    "tcp_user_timeout": "5000", "gssencmode": "disable", "fallback_application_name": "subledger",
  ]

  /// How long one server may take, so that the next one is tried before the deadline.
  private static let millisecondsPerHost: Int64 = 3_000

  /// Connects to the first server that takes the connection, in the order of the connection string.
  /// Resolving a name waits without a deadline (getaddrinfo(3)).
  ///
  /// - Parameters:
  ///   - password: nil if the server asks for none. Passed with each call, because it may change.
  ///   - deadline: of all attempts together.
  ///   - cancellation: ends every wait of the connection, with `timeout`.
  /// - Throws: `PostgresError` of the last attempt: `connect`, `refused` or `timeout`.
  public static func dial(
    _ address: PostgresAddress, password: String?, target: Target = .any, by deadline: Deadline,
    until cancellation: Cancellation? = nil
  ) throws(PostgresError) -> PostgresConnection {
    var last = PostgresError.timeout
    for host in address.hosts where !deadline.hasPassed {
      let own = Deadline(milliseconds: millisecondsPerHost)
      let isOnly = address.hosts.count == 1
      do throws(PostgresError) {
        return try dial(
          parameters(address, host, password, target), by: isOnly ? deadline : min(own, deadline),
          until: cancellation)
      } catch {
        last = error
      }
    }
    throw last
  }

  private static func parameters(
    _ address: PostgresAddress, _ host: PostgresAddress.Host, _ password: String?, _ target: Target
  ) -> [String: String] {
    var parameters = defaults.merging(address.parameters) { $1 }
    parameters["client_encoding"] = "UTF8"
    parameters["target_session_attrs"] = target.rawValue
    parameters["host"] = host.name
    parameters["hostaddr"] = host.address
    parameters["port"] = host.port
    parameters["password"] = password
    return parameters
  }

  private static func dial(
    _ parameters: [String: String], by deadline: Deadline, until cancellation: Cancellation?
  ) throws(PostgresError) -> PostgresConnection {
    guard let handle = start(parameters) else { throw .connect("libpq has no memory") }
    let notices = NoticeList()
    let connection = PostgresConnection(handle, notices, cancellation)
    notices.receive(from: handle)
    try connection.finishDialling(handle, by: deadline)
    return connection
  }

  private func finishDialling(
    _ handle: OpaquePointer, by deadline: Deadline
  ) throws(PostgresError) {
    // libpq then reports the SQLSTATE of a refusal and not the server's text.
    _ = PQsetErrorVerbosity(handle, PQERRORS_SQLSTATE)
    guard PQstatus(handle) != CONNECTION_BAD else { throw dialFailure(handle) }
    var wanted = PGRES_POLLING_WRITING
    while wanted != PGRES_POLLING_OK {
      guard wanted != PGRES_POLLING_FAILED else { throw dialFailure(handle) }
      let events = Int16(wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT)
      _ = try wait(handle, events, deadline)
      wanted = PQconnectPoll(handle)
    }
    guard PQsetnonblocking(handle, 1) == 0 else { throw lose() }
  }

  private static func start(_ parameters: [String: String]) -> OpaquePointer? {
    let parameters = Array(parameters)
    let names = parameters.map { strdup($0.key) }
    let values = parameters.map { strdup($0.value) }
    defer { for text in names + values { free(text) } }
    return PQconnectStartParams(
      names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
  }

  /// libpq's message ends with `FATAL:  28P01` where the server answered. Otherwise it is libpq's
  /// own, without anything of the server.
  private func dialFailure(_ handle: OpaquePointer) -> PostgresError {
    let message = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    let lines = message.split(separator: "\n")
    if let word = lines.first?.split(separator: " ").last, let state = SQLState(word) {
      return .refused(state)
    }
    return .connect(String((lines.first ?? "no connection").prefix(300)))
  }
}

/// Sending and waiting, which every kind of statement shares. libpq is in non-blocking mode, and
/// only `wait` waits.
extension PostgresConnection {
  private func usable() throws(PostgresError) -> OpaquePointer {
    guard isUsable, let handle else { throw lose() }
    return handle
  }

  /// Closes the connection, whose state is not known any more.
  private func lose(_ error: PostgresError = .lost) -> PostgresError {
    close()
    return error
  }

  /// Hands a statement to libpq, which copies it.
  private func send(_ statement: PostgresStatement, _ handle: OpaquePointer) throws(PostgresError) {
    // A text with a zero byte would end there, as the statement itself would.
    guard !statement.sql.utf8.contains(0) else { throw .unexpected("a zero byte in a statement") }
    var bytes: [UInt8] = []
    var offsets: [Int] = []
    for parameter in statement.parameters {
      offsets.append(bytes.count)
      parameter.append(to: &bytes)
    }
    let ends = offsets.dropFirst() + [bytes.count]
    let lengths = zip(offsets, ends).map { Int32($1 - $0) }
    // An empty value needs a pointer that is not null.
    bytes.append(0)
    let count = Int32(offsets.count)
    let isSent = bytes.withUnsafeBytes { bytes in
      let values = zip(offsets, statement.parameters).map { offset, parameter in
        parameter == .null
          ? nil : bytes.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
      }
      return PQsendQueryParams(
        handle, statement.sql, count, statement.parameters.map { Oid($0.typeNumber) }, values,
        lengths, [Int32](repeating: 1, count: offsets.count), 1) == 1
    }
    guard isSent else { throw lose() }
  }

  /// Sends what libpq holds, and reads meanwhile: a server stops reading while its answers are not
  /// read.
  private func flush(_ handle: OpaquePointer, _ deadline: Deadline) throws(PostgresError) {
    while true {
      switch PQflush(handle) {
      case 0: return
      case 1:
        let ready = try wait(handle, Int16(POLLIN | POLLOUT), deadline)
        if ready & Int16(POLLIN) != 0 { try consume(handle) }
      default: throw lose()
      }
    }
  }

  /// The next result; nil at the end of a statement's results. The caller frees it.
  private func nextResult(
    _ handle: OpaquePointer, _ deadline: Deadline
  ) throws(PostgresError) -> OpaquePointer? {
    while PQisBusy(handle) == 1 {
      _ = try wait(handle, Int16(POLLIN), deadline)
      try consume(handle)
    }
    return PQgetResult(handle)
  }

  /// The first result of a statement; the others, if any, are dropped.
  private func answer(
    _ handle: OpaquePointer, _ deadline: Deadline
  ) throws(PostgresError) -> Result<PostgresRows, PostgresError> {
    guard let result = try nextResult(handle, deadline) else { throw lose() }
    let outcome = Self.outcome(result)
    do throws(PostgresError) {
      while let more = try nextResult(handle, deadline) { PQclear(more) }
    } catch {
      // What the server said before the connection ended tells more than that it ended.
      if case .success = outcome { throw error }
    }
    return outcome
  }

  /// Reads what has arrived.
  ///
  /// A failure is not the end yet: libpq may hold the server's last words, as 57P01. They become
  /// the next result, and what follows them finds the connection lost.
  private func consume(_ handle: OpaquePointer) throws(PostgresError) {
    guard PQconsumeInput(handle) == 1 || PQisBusy(handle) == 0 else { throw lose() }
  }

  /// Waits until the socket is ready.
  ///
  /// - Returns: the events that poll(2) reported.
  private func wait(
    _ handle: OpaquePointer, _ events: Int16, _ deadline: Deadline
  ) throws(PostgresError) -> Int16 {
    let descriptor = PQsocket(handle)
    guard descriptor >= 0 else { throw lose() }
    guard let ready = Poll.wait(descriptor, events, deadline, cancellation) else {
      throw lose(.timeout)
    }
    return ready
  }

  /// Takes a result over and judges it.
  private static func outcome(_ result: OpaquePointer) -> Result<PostgresRows, PostgresError> {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
      return .success(PostgresRows(result))
    case PGRES_FATAL_ERROR:
      defer { PQclear(result) }
      // Without a SQLSTATE the error is libpq's own: the connection ended.
      let code = PQresultErrorField(result, subledger_state_field).map { String(cString: $0) }
      return .failure(code.flatMap { SQLState($0) }.map { .statement($0) } ?? .lost)
    case PGRES_PIPELINE_ABORTED:
      PQclear(result)
      return .failure(.unexpected("a statement was not run"))
    default:
      let status = String(cString: PQresStatus(PQresultStatus(result)))
      PQclear(result)
      return .failure(.unexpected(status))
    }
  }
}

/// poll(2) with a deadline.
private enum Poll {
  /// The events of a descriptor; nil when the time is over or the cancellation is requested. An
  /// error of the descriptor is reported as an event, so that reading or writing it says what is
  /// wrong.
  static func wait(
    _ descriptor: Int32, _ events: Int16, _ deadline: Deadline, _ cancellation: Cancellation?
  ) -> Int16? {
    while true {
      var polled = [
        pollfd(fd: descriptor, events: events, revents: 0),
        // poll(2) ignores a negative one.
        pollfd(fd: cancellation?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let count = poll(&polled, 2, deadline.millisecondsLeft)
      if count > 0 { return cancellation?.isRequested == true ? nil : polled[0].revents }
      if count == 0 || errno != EINTR { return nil }
      if deadline.hasPassed { return nil }
    }
  }
}

/// COPY in both directions (postgresql.org/docs/15/sql-copy.html).
extension PostgresConnection {
  /// How many bytes are handed to libpq at once.
  private static let chunk = 256 << 10

  /// Inserts rows with a `COPY … FROM STDIN (FORMAT binary)`.
  ///
  /// - Parameter rows: values in the order of the statement's columns. Their types must be the
  ///   columns' own: COPY converts nothing.
  /// - Returns: the number of rows.
  /// - Throws: `PostgresError`; after `statement` the connection can be used further, and no row
  ///   was inserted.
  @discardableResult
  public func copy(
    in sql: String, _ rows: some Sequence<[PostgresValue]>, by deadline: Deadline
  ) throws(PostgresError) -> Int {
    let handle = try usable()
    try begin(sql, PGRES_COPY_IN, handle, deadline)
    // Signature, no flags, no extension; at the end the number of fields -1.
    var bytes = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)
    for row in rows {
      BigEndian.append(Int16(row.count), to: &bytes)
      for value in row { value.appendField(to: &bytes) }
      guard bytes.count >= Self.chunk else { continue }
      try put(bytes, handle, deadline)
      bytes.removeAll(keepingCapacity: true)
    }
    BigEndian.append(Int16(-1), to: &bytes)
    try put(bytes, handle, deadline)
    while true {
      switch PQputCopyEnd(handle, nil) {
      case 1:
        try flush(handle, deadline)
        return try answer(handle, deadline).get().affected
      case 0: _ = try wait(handle, Int16(POLLOUT), deadline)
      default: throw lose()
      }
    }
  }

  /// Reads with a `COPY … TO STDOUT`.
  ///
  /// - Parameter receive: is given one row at a time, as the statement's format writes it. What it
  ///   throws closes the connection, because the server sends the rest anyway.
  /// - Throws: `PostgresError`.
  public func copy(
    out sql: String, by deadline: Deadline,
    _ receive: ([UInt8]) throws(PostgresError) -> Void
  ) throws(PostgresError) {
    let handle = try usable()
    try begin(sql, PGRES_COPY_OUT, handle, deadline)
    while true {
      var row: UnsafeMutablePointer<CChar>?
      let count = PQgetCopyData(handle, &row, 1)
      if count > 0, let row {
        let bytes = Array(UnsafeRawBufferPointer(start: row, count: Int(count)))
        PQfreemem(row)
        do throws(PostgresError) { try receive(bytes) } catch { throw lose(error) }
      } else if count == 0 {
        _ = try wait(handle, Int16(POLLIN), deadline)
        try consume(handle)
      } else {
        _ = try answer(handle, deadline).get()
        return
      }
    }
  }

  private func begin(
    _ sql: String, _ expected: ExecStatusType, _ handle: OpaquePointer, _ deadline: Deadline
  ) throws(PostgresError) {
    try send(PostgresStatement(sql), handle)
    try flush(handle, deadline)
    guard let result = try nextResult(handle, deadline) else { throw lose() }
    guard PQresultStatus(result) != expected else { return PQclear(result) }
    let outcome = Self.outcome(result)
    while let more = try nextResult(handle, deadline) { PQclear(more) }
    _ = try outcome.get()
    throw .unexpected("the statement copies nothing")
  }

  private func put(
    _ bytes: [UInt8], _ handle: OpaquePointer, _ deadline: Deadline
  ) throws(PostgresError) {
    while true {
      let taken = bytes.withUnsafeBytes {
        PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
      }
      switch taken {
      case 1: return try flush(handle, deadline)
      case 0: _ = try wait(handle, Int16(POLLOUT), deadline)
      default: throw lose()
      }
    }
  }
}
