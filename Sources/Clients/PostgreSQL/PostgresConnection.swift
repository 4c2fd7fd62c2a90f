import CPostgres
import Glibc
public import Platform

/// A connection to PostgreSQL, used by one thread. No call waits longer than its deadline; after a
/// timeout, or when the connection was lost, every further call throws `lost`.
public final class PostgresConnection {
  /// nil once it is closed.
  private(set) var handle: OpaquePointer?
  private let noticeList: NoticeList

  /// Takes the handle over, whose notices the list receives.
  init(_ handle: OpaquePointer, _ noticeList: NoticeList) {
    self.handle = handle
    self.noticeList = noticeList
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
