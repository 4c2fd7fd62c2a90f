/// One SQL statement with its parameters `$1`, `$2` …. It is never named at the server, so that a
/// pooler may run each SQL transaction on another connection.
public struct PostgresStatement: Sendable {
  let sql: String
  let parameters: [PostgresValue]

  public init(_ sql: String, _ parameters: [PostgresValue] = []) {
    self.sql = sql
    self.parameters = parameters
  }
}

/// A statement of a pipeline failed, or an answer to it did not come.
public struct PipelineError: Error, Sendable {
  public let error: PostgresError
  /// The statement's place in the pipeline, from 0. The server did what was before it and nothing
  /// of what is after it, if it named an error.
  public let index: Int
}
