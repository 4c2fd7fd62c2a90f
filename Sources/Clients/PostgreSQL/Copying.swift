import CPostgres
import Glibc
public import Platform

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
