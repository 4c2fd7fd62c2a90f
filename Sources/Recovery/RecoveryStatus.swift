/// What the daemon recovered by itself, for metrics and the console. Times are milliseconds since
/// 1970 UTC.
public struct RecoveryStatus: Sendable, Equatable {
  /// Whether an app is configured that Apple can be asked about.
  public internal(set) var isOn = false
  public internal(set) var requests: Int64 = 0
  public internal(set) var recovered: Int64 = 0
  /// Events that were recovered though Apple believes them delivered.
  public internal(set) var delivered: Int64 = 0
  public internal(set) var failures: Int64 = 0
  /// When the last complete recovery ended; nil before any.
  public internal(set) var succeededAt: Int64?
  /// When the next one begins; nil if none is planned.
  public internal(set) var nextAt: Int64?
}
