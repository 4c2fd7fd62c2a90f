public import AppStore
public import StrictJSON

/// What the daemon recovered and reconciled by itself, for metrics and the console. Times are
/// milliseconds since 1970 UTC.
public struct RecoveryStatus: Sendable {
  /// Whether an app is configured that Apple can be asked about.
  public var isOn = false
  public var requests: Int64 = 0
  public var recovered: Int64 = 0
  /// Events that were recovered though Apple believes them delivered.
  public var delivered: Int64 = 0
  public var failures: Int64 = 0
  /// When the last complete recovery ended; nil before any.
  public var succeededAt: Int64?
  /// When the next one begins; nil if none is planned.
  public var nextAt: Int64?
  public var reconciliation = Reconciliations()
  /// By app and environment.
  public var apps: [App: Last] = [:]

  public init() {}

  /// The daily comparisons with what Apple says.
  public struct Reconciliations: Sendable {
    /// Customers that Apple was asked about.
    public var asked: Int64 = 0
    /// Those of whom Apple said something else than the row.
    public var differed: Int64 = 0
    /// Events that were journaled.
    public var journaled: Int64 = 0
    public var failures: Int64 = 0
    /// When the last complete one ended, also before the daemon's start; nil before any.
    public var succeededAt: Int64?
    /// When the next one begins; nil if none is planned.
    public var nextAt: Int64?
  }

  /// One app in one environment.
  public struct App: Sendable, Hashable {
    public let environment: Environment
    public let bundleId: String

    public init(_ environment: Environment, _ bundleId: String) {
      (self.environment, self.bundleId) = (environment, bundleId)
    }
  }

  /// What was last done since the daemon's start; nil before any.
  public struct Last: Sendable {
    public var recovery: Recovery?
    public var reconciliation: Reconciliation?

    public init() {}
  }

  /// Why Apple's history is asked for.
  public enum Reason: String, Sendable, CaseIterable {
    case start, restore, silence
    /// Again over the newest time: Apple may list late.
    case again
    /// What Apple could not deliver in the last eight days, which is as long as it tries.
    case failures
    /// Customers of whom Apple has said nothing since their paid period ended: no recovery.
    case reconciliation
    /// `subledger recover`.
    case command
  }

  /// What a recovery of an app found, in a few numbers.
  public struct Recovery: Sendable {
    let at: Int64
    let reason: Reason
    let listed, recovered, delivered, refused: Int64
    let isGone: Bool
    let error: String?

    public init(
      at: Int64, _ reason: Reason, listed: Int64, recovered: Int64, delivered: Int64,
      refused: Int64, isGone: Bool, error: String?
    ) {
      (self.at, self.reason, self.listed, self.recovered) = (at, reason, listed, recovered)
      (self.delivered, self.refused, self.isGone) = (delivered, refused, isGone)
      self.error = error
    }

    fileprivate init?(_ root: JSONElement) {
      guard let at = root["at"]?.integer else { return nil }
      func count(_ name: String) -> Int64 { root[name]?.integer ?? 0 }
      self.init(
        at: at, .command, listed: count("listed"), recovered: count("recovered"),
        delivered: count("delivered"), refused: count("refused"),
        isGone: root["gone"]?.boolean ?? false, error: root["error"]?.string)
    }

    static let object = JSONObject<Recovery>([
      JSONMember("at", .time("When it ended.")) { $0.at },
      JSONMember(
        "reason",
        .oneOf(
          Reason.allCases.filter { $0 != .reconciliation }.map(\.rawValue), "Why Apple was asked.")
      ) { $0.reason.rawValue },
      JSONMember("listed", .integer("The notifications that Apple listed.")) { $0.listed },
      JSONMember("recovered", .integer("Those of them that were missing.")) { $0.recovered },
      JSONMember(
        "delivered", .integer("Those that were missing though Apple believes them delivered.")
      ) { $0.delivered },
      JSONMember("refused", .integer("Those that could not be journaled.")) { $0.refused },
      JSONMember(
        "gone",
        .boolean("Whether Apple no longer has a part of the time that was asked for.")
      ) { $0.isGone },
      JSONMember("error", .text("Why it did not come to its end; it is tried again.")) {
        $0.error
      },
    ])
  }

  /// What the daily comparison of an app's customers found.
  public struct Reconciliation: Sendable {
    public var at: Int64 = 0
    /// Customers that Apple was asked about.
    public var asked: Int64 = 0
    /// Those of whom Apple said something else than the row.
    public var differed: Int64 = 0
    /// Those of whom it still does, with everything that it signed.
    public var remaining: Int64 = 0
    /// Those that Apple does not know.
    public var unknown: Int64 = 0
    /// Those that it could not be asked about.
    public var failed: Int64 = 0
    /// Events that were journaled.
    public var journaled: Int64 = 0
    /// Why not all could be compared; nil if all were.
    public var error: String?
    /// Whether `subledger reconcile` compared them.
    public var isByHand = false

    public init() {}

    fileprivate init?(_ root: JSONElement) {
      guard let at = root["at"]?.integer else { return nil }
      func count(_ name: String) -> Int64 { root[name]?.integer ?? 0 }
      (self.at, asked, differed) = (at, count("asked"), count("differed"))
      (remaining, unknown, failed) = (count("remaining"), count("unknown"), count("failed"))
      (journaled, error, isByHand) = (count("journaled"), root["error"]?.string, true)
    }

    static let object = JSONObject<Reconciliation>([
      JSONMember("at", .time("When it ended.")) { $0.at },
      JSONMember(
        "asked",
        .integer(
          "The customers of whom Apple had said nothing since their paid period ended, and about "
            + "whom it was asked.")
      ) { $0.asked },
      JSONMember(
        "differed", .integer("Those of whom Apple said something else than the row.")
      ) { $0.differed },
      JSONMember(
        "remaining",
        .integer("Those of whom it still does, with everything that Apple signed.")
      ) { $0.remaining },
      JSONMember("unknown", .integer("Those that Apple does not know.")) { $0.unknown },
      JSONMember("failed", .integer("Those that Apple could not be asked about.")) { $0.failed },
      JSONMember("journaled", .integer("The events that were journaled.")) { $0.journaled },
      JSONMember("error", .text("Why not all were compared; it is tried again.")) { $0.error },
      JSONMember("by_hand", .boolean("Whether a command compared them.")) { $0.isByHand },
    ])
  }
}

extension RecoveryStatus.Last {
  /// As a command tells the daemon what it found.
  public var json: JSONValue {
    .object([
      ("recovery", recovery.map(RecoveryStatus.Recovery.object.json) ?? .null),
      ("reconciliation", reconciliation.map(RecoveryStatus.Reconciliation.object.json) ?? .null),
    ])
  }

  public init(_ root: JSONElement) {
    recovery = root["recovery"].flatMap(RecoveryStatus.Recovery.init)
    reconciliation = root["reconciliation"].flatMap(RecoveryStatus.Reconciliation.init)
  }

  /// The later of both, for each of the two.
  public func latest(_ other: Self?) -> Self {
    var latest = self
    if let it = other?.recovery, it.at > recovery?.at ?? 0 { latest.recovery = it }
    if let it = other?.reconciliation, it.at > reconciliation?.at ?? 0 {
      latest.reconciliation = it
    }
    return latest
  }
}
