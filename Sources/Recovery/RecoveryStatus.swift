public import AppStore
public import StrictJSON

/// What the daemon recovered and reconciled by itself, for metrics and the console. Times are
/// milliseconds since 1970 UTC.
public struct RecoveryStatus: Sendable {
  /// Whether an app is configured that Apple can be asked about.
  public internal(set) var isOn = false
  public internal(set) var requests: Int64 = 0
  public internal(set) var recovered: Int64 = 0
  /// Events that were recovered though Apple believes them delivered.
  var delivered: Int64 = 0
  public internal(set) var failures: Int64 = 0
  /// When the last complete recovery ended; nil before any.
  public internal(set) var succeededAt: Int64?
  /// When the next one begins; nil if none is planned.
  public internal(set) var nextAt: Int64?
  public internal(set) var reconciliation = Reconciliations()
  /// By app and environment.
  public internal(set) var apps: [App: Last] = [:]

  /// The daily comparisons with what Apple says.
  public struct Reconciliations: Sendable {
    /// Customers that Apple was asked about.
    public internal(set) var asked: Int64 = 0
    /// Those of whom Apple said something else than the row.
    public internal(set) var differed: Int64 = 0
    /// Events that were journaled.
    public internal(set) var journaled: Int64 = 0
    public internal(set) var failures: Int64 = 0
    /// When the last complete one ended, also before the daemon's start; nil before any.
    public internal(set) var succeededAt: Int64?
    /// When the next one begins; nil if none is planned.
    public internal(set) var nextAt: Int64?
  }

  /// One app in one environment.
  public struct App: Sendable, Hashable {
    public let environment: Environment
    public let bundleId: String

    init(_ environment: Environment, _ bundleId: String) {
      (self.environment, self.bundleId) = (environment, bundleId)
    }
  }

  /// What was last done since the daemon's start, as objects of the API; nil before any.
  public struct Last: Sendable {
    public internal(set) var recovery: JSONValue?
    public internal(set) var reconciliation: JSONValue?
  }
}
