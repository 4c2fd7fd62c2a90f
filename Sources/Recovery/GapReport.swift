public import AppStore
public import Clients
public import Platform
public import Queries
public import Store
public import StrictJSON

/// What a recovery found: what was missing, when and why Apple could not deliver, and what cannot
/// be recovered (promise 11).
public struct GapReport: Sendable {
  public let plan: RecoveryPlan
  public let isDry: Bool
  public internal(set) var accounts: [Account] = []

  public init(_ plan: RecoveryPlan, isDry: Bool) {
    (self.plan, self.isDry) = (plan, isDry)
  }

  public mutating func add(_ account: Account) { accounts.append(account) }

  /// One app in one environment. Times are milliseconds since 1970 UTC.
  public struct Account: Sendable {
    public let environment: Environment
    public let bundleId: String
    /// What was asked for.
    public let window: Range<Int64>
    /// Of which Apple has nothing any more; nil if it has everything that was asked for.
    public let gone: Range<Int64>?
    /// Requests of this run.
    var requests: Int64 = 0
    /// Notifications that Apple listed.
    public let listed: Int64
    /// Those that the journal did not have.
    public internal(set) var recovered = JournalReader.Recovered()
    /// Those among them that Apple believes delivered, and the first seqs.
    public let delivered: Int64
    public let deliveredSeqs: [Int64]
    /// Those recovered that Apple delivered elsewhere before an import brought what they say.
    public let beforeImport: Int64
    /// Those that the journal has, though Apple believes that no attempt succeeded.
    public let answeredLate: Int64
    public let conflicts: Int64
    /// What was not journaled, by the code of the refusal.
    public let refused: [(code: String, count: Int64)]
    public let outages: [Outage]
    /// Events of the journal that Apple does not list, and the first seqs.
    public internal(set) var unlisted: Int64 = 0
    public internal(set) var unlistedSeqs: [Int64] = []
    /// Why it ended early; nil if it did not.
    public internal(set) var error: LedgerError?
    let goneBefore: Int64?

    init(_ account: AppStoreAccount, _ plan: RecoveryPlan, _ found: SliceResult) {
      (environment, bundleId) = (account.environment, account.bundleId)
      window = plan.window(account.environment)
      goneBefore = found.goneBefore
      if let since = plan.since, let before = found.goneBefore, since < before {
        gone = since..<before
      } else {
        gone = plan.gone(account.environment)
      }
      (listed, delivered, deliveredSeqs) = (found.listed, found.delivered, found.deliveredSeqs)
      (beforeImport, answeredLate) = (found.beforeImport, found.answeredLate)
      conflicts = found.conflicts
      refused = found.refused.sorted { $0.key < $1.key }.map { (code: $0.key, count: $0.value) }
      outages = found.timeline.outages()
    }

    /// An app that was not asked about.
    public init(_ account: AppStoreAccount, _ plan: RecoveryPlan, failedWith error: LedgerError) {
      self.init(account, plan, SliceResult())
      self.error = error
    }

    /// How many events were recovered.
    public var events: Int64 { recovered.counts.values.reduce(0, +) }

    /// Whether something needs an operator: what was delivered and lost, what is gone if it was
    /// asked for, or what could not be proven.
    var hasFindings: Bool {
      delivered > 0 || !refused.isEmpty || conflicts > 0 || gone.map { !$0.isEmpty } ?? false
    }
  }

  public var hasFindings: Bool { accounts.contains(where: \.hasFindings) }
  /// The first error; nil if everything was asked for.
  public var error: LedgerError? { accounts.lazy.compactMap(\.error).first }

  /// Whether it was stopped by the user.
  public var isCancelled: Bool {
    accounts.contains { account in
      account.error?.code == .stopped
    }
  }

  // MARK: JSON

  public var json: JSONValue {
    .object([
      ("object", .string("gap_report")), ("dry_run", .boolean(isDry)),
      ("started_at", .integer(plan.startedAt)), ("since", .optional(plan.since)),
      ("until", .optional(plan.until)), ("apps", .array(accounts.map(\.json))),
    ])
  }
}

extension GapReport.Account {
  var json: JSONValue {
    .object([
      ("environment", .string(environment.rawValue)), ("bundle_id", .string(bundleId)),
      ("asked", Self.range(window)), ("gone", gone.map(Self.range) ?? .null),
      ("requests", .integer(requests)), ("listed", .integer(listed)),
      ("recovered", recoveredJSON),
      ("delivered", Self.seqs(delivered, deliveredSeqs)),
      ("before_import", .integer(beforeImport)),
      ("answered_late", .integer(answeredLate)), ("conflicts", .integer(conflicts)),
      (
        "refused",
        .array(
          refused.map { .object([("code", .string($0.code)), ("count", .integer($0.count))]) })
      ),
      ("outages", .array(outages.map(Self.json))), ("unlisted", Self.seqs(unlisted, unlistedSeqs)),
      ("error", .optional(error?.description)),
    ])
  }

  /// What it found in a few numbers, for the API.
  public func summary(
    _ reason: RecoveryStatus.Reason, at time: Int64
  ) -> RecoveryStatus.Recovery {
    RecoveryStatus.Recovery(
      at: time, reason, listed: listed, recovered: events, delivered: delivered,
      refused: refused.reduce(conflicts) { $0 + $1.count },
      isGone: gone.map { !$0.isEmpty } ?? false, error: error?.description)
  }

  /// By type and subtype, in their order.
  public var types: [(kind: JournalReader.Recovered.Kind, count: Int64)] {
    recovered.counts.map { (kind: $0.key, count: $0.value) }.sorted {
      ($0.kind.notificationType, $0.kind.subtype ?? "")
        < ($1.kind.notificationType, $1.kind.subtype ?? "")
    }
  }

  private var recoveredJSON: JSONValue {
    .object([
      ("events", .integer(events)), ("customers", .integer(recovered.customers)),
      (
        "types",
        .array(
          types.map { type in
            .object([
              ("notification_type", .string(type.kind.notificationType)),
              ("subtype", .optional(type.kind.subtype)), ("count", .integer(type.count)),
            ])
          })
      ),
    ])
  }

  private static func range(_ range: Range<Int64>) -> JSONValue {
    .object([("from", .integer(range.lowerBound)), ("to", .integer(range.upperBound))])
  }

  private static func seqs(_ count: Int64, _ seqs: [Int64]) -> JSONValue {
    .object([("count", .integer(count)), ("seqs", .array(seqs.map(JSONValue.integer)))])
  }

  private static func json(_ outage: Outage) -> JSONValue {
    .object([
      ("cause", .string(outage.cause)), ("from", .integer(outage.from)),
      ("to", .optional(outage.to)), ("attempts", .integer(outage.attempts)),
    ])
  }
}
