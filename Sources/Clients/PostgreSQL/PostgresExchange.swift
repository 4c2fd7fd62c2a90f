import CPostgres
import Glibc
import Platform

/// Sending and waiting, which every kind of statement shares. libpq is in non-blocking mode, and
/// only `wait` waits.
extension PostgresConnection {
  func usable() throws(PostgresError) -> OpaquePointer {
    guard isUsable, let handle else { throw lose() }
    return handle
  }

  /// Closes the connection, whose state is not known any more.
  func lose(_ error: PostgresError = .lost) -> PostgresError {
    close()
    return error
  }

  /// Hands a statement to libpq, which copies it.
  func send(_ statement: PostgresStatement, _ handle: OpaquePointer) throws(PostgresError) {
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
  func flush(_ handle: OpaquePointer, _ deadline: Deadline) throws(PostgresError) {
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
  func nextResult(
    _ handle: OpaquePointer, _ deadline: Deadline
  ) throws(PostgresError) -> OpaquePointer? {
    while PQisBusy(handle) == 1 {
      _ = try wait(handle, Int16(POLLIN), deadline)
      try consume(handle)
    }
    return PQgetResult(handle)
  }

  /// The first result of a statement; the others, if any, are dropped.
  func answer(
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
  func consume(_ handle: OpaquePointer) throws(PostgresError) {
    guard PQconsumeInput(handle) == 1 || PQisBusy(handle) == 0 else { throw lose() }
  }

  /// Waits until the socket is ready.
  ///
  /// - Returns: the events that poll(2) reported.
  func wait(
    _ handle: OpaquePointer, _ events: Int16, _ deadline: Deadline
  ) throws(PostgresError) -> Int16 {
    let descriptor = PQsocket(handle)
    guard descriptor >= 0 else { throw lose() }
    guard let ready = Poll.wait(descriptor, events, deadline) else { throw lose(.timeout) }
    return ready
  }

  /// Takes a result over and judges it.
  static func outcome(_ result: OpaquePointer) -> Result<PostgresRows, PostgresError> {
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
enum Poll {
  /// The events of a descriptor; nil when the time is over. An error of the descriptor is reported
  /// as an event, so that reading or writing it says what is wrong.
  static func wait(_ descriptor: Int32, _ events: Int16, _ deadline: Deadline) -> Int16? {
    while true {
      var polled = pollfd(fd: descriptor, events: events, revents: 0)
      let count = poll(&polled, 1, deadline.millisecondsLeft)
      if count > 0 { return polled.revents }
      if count == 0 || errno != EINTR { return nil }
      if deadline.hasPassed { return nil }
    }
  }
}
