/// Why PostgreSQL did not do what was asked. No text of the server is in it, because such a text
/// may repeat values of a statement.
public enum PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
  /// No connection was made, in libpq's words: they name host and port.
  case connect(String)
  /// The server refused a connection.
  case refused(SQLState)
  /// The server refused a statement.
  case statement(SQLState)
  /// The time ran out. The connection is closed, and what the server did is not known.
  case timeout
  /// The connection ended, or it ended before. What the server did with the last statements is not
  /// known.
  case lost
  /// The server answered something that the statement does not give: a defect.
  case unexpected(String)

  public var description: String {
    switch self {
    case .connect(let reason): reason
    case .refused(let state): "the server refused the connection (SQLSTATE \(state))"
    case .statement(let state): "the server refused a statement (SQLSTATE \(state))"
    case .timeout: "the server did not answer in time"
    case .lost: "the connection to the server was lost"
    case .unexpected(let what): "an unexpected answer of the server: \(what)"
    }
  }

  /// What the server named; nil where it named nothing.
  public var state: SQLState? {
    switch self {
    case .refused(let state), .statement(let state): state
    default: nil
    }
  }
}
