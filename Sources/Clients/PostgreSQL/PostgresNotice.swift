/// A message that accompanies an answer and is no error. Its text is not kept, because it may
/// repeat values.
public struct PostgresNotice: Sendable, Equatable {
  /// In English whatever the server's language is (PG_DIAG_SEVERITY_NONLOCALIZED): `WARNING`,
  /// `NOTICE`, `DEBUG`, `INFO` or `LOG`.
  public let severity: String
  /// nil if the server named none.
  public let state: SQLState?

  /// Whether the server did something else than what was asked, or less. After a COMMIT: it may be
  /// durable here and not on the standby.
  public var isWarning: Bool { severity == "WARNING" }
}
