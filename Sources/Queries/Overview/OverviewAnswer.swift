public import AppStore
import Entitlements
import Store
public import StrictJSON

extension Overview {
  /// The `overview` object of the public contract. Times are milliseconds since 1970.
  public struct Answer: Sendable {
    typealias Hour = (start: Int64, outcome: String, notificationType: String?, count: Int64)
    typealias AppKey = ProjectionReader.Counts.App
    typealias Status = (
      app: AppKey, status: Entitlement.Status, givesAccess: Bool, count: Int64
    )
    typealias Rows = (
      countedAt: Int64, foldedThrough: Int64, total: Int64, broken: Int64, byStatus: [Status]
    )
    typealias Quarantine = (
      count: Int64, onlyCounted: Int64?, byReason: [JournalReader.QuarantineCount]
    )
    typealias App = (
      key: AppKey, isConfigured: Bool, lastEvent: JournalReader.Arrival?,
      lastNotification: JournalReader.Arrival?
    )

    let question: Question
    let countedFrom: Int64
    let startedAt: Int64
    let throughSeq: Int64
    let notifications: [Hour]
    /// Nil until the rows have been counted once.
    let rows: Rows?
    let quarantine: Quarantine
    let refundRequests: [RefundCount]
    let apps: [App]
    let unmappedProducts: [EntitlementCatalog.Unmapped]
    public var recovery = RecoveryOverview()
    /// For which losses the configured mapping is not in force.
    public var refusedMapping: [MappingComparison.Loss] = []
  }

  /// What the daemon recovers by itself.
  public struct RecoveryOverview: Sendable {
    public var status: RecoveryStatus?
    public typealias App = (
      environment: Environment, bundleId: String, recover: String, last: RecoveryStatus.Last
    )
    public var apps: [App] = []

    public init() {}
  }
}

extension Overview.Answer {
  public static let object = JSONObject<Overview.Answer>("Overview", times + parts)

  private static let times: [JSONMember<Overview.Answer>] = [
    .type("overview"),
    JSONMember("at", .time("When the overview was requested.")) {
      $0.question.now
    },
    JSONMember("hours", .integer("The number of hours that are shown, the current one included.")) {
      $0.question.hours
    },
    JSONMember("from", .time("The start of the first hour.")) { $0.question.since },
    JSONMember(
      "counted_from",
      .time("Accepted events are counted from this time; equal to `from` once all are counted.")
    ) { $0.countedFrom },
    JSONMember(
      "started_at",
      .time("Duplicate, refused and unavailable notifications are counted from this time.")
    ) { $0.startedAt },
    JSONMember("through_seq", .integer("The last event that is counted.")) { $0.throughSeq },
  ]

  private static let parts: [JSONMember<Overview.Answer>] = [
    JSONMember("notifications", listOf: hour) { $0.notifications },
    JSONMember("rows", counts) { $0.rows },
    JSONMember("quarantine", quarantined.schema) { quarantined.json($0.quarantine) },
    JSONMember("refund_requests", listOf: refund) { $0.refundRequests },
    JSONMember("apps", listOf: app) { $0.apps },
    JSONMember("unmapped_products", listOf: unmapped) { $0.unmappedProducts },
    JSONMember("recovery", recovery.schema) { recovery.json($0.recovery) },
    JSONMember("refused_mapping", listOf: loss) { $0.refusedMapping },
  ]

  private static let hour = JSONObject<Hour>([
    JSONMember("hour", .time("The start of the hour.")) { $0.start },
    JSONMember(
      "outcome",
      .oneOf(
        [
          "accepted", "duplicate", "quarantined", "refused", "unavailable", "evidence", "statement",
        ],
        "accepted: a notification that was journaled. evidence: another fact that Apple signed. "
          + "statement: a claim or grant of yours.")
    ) { $0.outcome },
    JSONMember("notification_type", .text("The type; null if it is not proven.")) {
      $0.notificationType
    },
    JSONMember("count", .integer()) { $0.count },
  ])

  private static let counts = JSONObject<Rows>([
    JSONMember("counted_at", .time("The time that the statuses are for.")) { $0.countedAt },
    JSONMember("folded_through", .integer("The seq of the last event in the rows.")) {
      $0.foldedThrough
    },
    JSONMember("total", .integer()) { $0.total },
    JSONMember("broken", .integer("The rows whose fold failed.")) { $0.broken },
    JSONMember("by_status", listOf: status) { $0.byStatus },
  ])

  private static let status = JSONObject<Status>([
    JSONMember("environment", .environment) { $0.app.environment.rawValue },
    JSONMember("bundle_id", .bundleId) { $0.app.bundleId },
    JSONMember("status", .status) { $0.status.rawValue },
    JSONMember("gives_access", .boolean("Consumables give no access, and are counted apart.")) {
      $0.givesAccess
    },
    JSONMember("count", .integer()) { $0.count },
  ])

  private static let quarantined = JSONObject<Quarantine>([
    JSONMember("count", .integer("The notifications that are stored in quarantine.")) { $0.count },
    JSONMember(
      "only_counted",
      .integer("The notifications that are not stored, because quarantine was full.")
    ) { $0.onlyCounted },
    JSONMember("by_reason", listOf: reason) { $0.byReason },
  ])

  private static let reason = JSONObject<JournalReader.QuarantineCount>([
    JSONMember("environment", .text()) { $0.environment?.rawValue },
    JSONMember("bundle_id", .text()) { $0.bundleId },
    JSONMember("reason", .text()) { $0.reason }, JSONMember("count", .integer()) { $0.count },
    JSONMember("last_received_at", .time()) { $0.lastReceivedAt },
  ])

  private static let refund = JSONObject<RefundCount>([
    JSONMember("environment", .environment) { $0.app.environment.rawValue },
    JSONMember("bundle_id", .bundleId) { $0.app.bundleId },
    JSONMember("state", .oneOf(RefundRequest.State.allCases.map(\.rawValue))) { $0.state },
    JSONMember("policy", .text("The policy that decided, as of a request.")) { $0.policy },
    JSONMember("outcome", .text("What Apple decided, as of a request.")) { $0.outcome },
    JSONMember("count", .integer()) { $0.count },
  ])

  private static let app = JSONObject<App>([
    JSONMember("environment", .environment) { $0.key.environment.rawValue },
    JSONMember("bundle_id", .bundleId) { $0.key.bundleId },
    JSONMember(
      "configured", .boolean("Whether notifications of this app are admitted now.")
    ) { $0.isConfigured },
    JSONMember("last_event", arrival) { $0.lastEvent },
    JSONMember("last_notification", arrival) { $0.lastNotification },
  ])

  private static let arrival = JSONObject<JournalReader.Arrival>([
    JSONMember("seq", .integer()) { $0.seq },
    JSONMember("notification_type", .text()) { $0.notificationType },
    JSONMember("subtype", .text()) { $0.subtype },
    JSONMember("signed_date", .time()) { $0.signedDate },
    JSONMember("received_at", .time()) { $0.receivedAt },
  ])

  private static let unmapped = JSONObject<EntitlementCatalog.Unmapped>([
    JSONMember("bundle_id", .bundleId) { $0.product.bundleId },
    JSONMember("product_id", .text("It was sold and gives no entitlement by name.")) {
      $0.product.productId
    },
    JSONMember("suggestion", .text("The entitlement that it probably belongs to.")) {
      $0.suggestion
    },
  ])

  private static let loss = JSONObject<MappingComparison.Loss>([
    JSONMember("environment", .environment) { $0.group.app.environment.rawValue },
    JSONMember("bundle_id", .bundleId) { $0.group.app.bundleId },
    JSONMember(
      "name",
      .text("An entitlement for which the configured mapping is not in force: too many lose it.")
    ) { $0.group.name },
    JSONMember("would_lose", .integer("The customers who would lose it.")) { Int64($0.lost) },
    JSONMember("having", .integer("The customers who have it.")) { Int64($0.having) },
    JSONMember("limit_percent", .integer("As `entitlementLossLimit` is configured.")) {
      $0.limit
    },
  ])

  private static let recovery = JSONObject<Overview.RecoveryOverview>([
    JSONMember(
      "recovered_at", .time("When the last complete recovery since the daemon's start ended.")
    ) { $0.status?.succeededAt },
    JSONMember("next_at", .time("When the next recovery begins.")) { $0.status?.nextAt },
    JSONMember(
      "reconciled_at", .time("When the last complete daily reconciliation ended.")
    ) { $0.status?.reconciliation.succeededAt },
    JSONMember(
      "next_reconciliation_at", .time("When the next daily reconciliation begins.")
    ) { $0.status?.reconciliation.nextAt },
    JSONMember("apps", listOf: recoveredApp) { $0.apps },
  ])

  private static let recoveredApp = JSONObject<Overview.RecoveryOverview.App>([
    JSONMember("environment", .environment) { $0.environment.rawValue },
    JSONMember("bundle_id", .bundleId) { $0.bundleId },
    JSONMember(
      "recover",
      .oneOf(
        ["automatic", "off", "no_key"],
        "Whether the daemon asks Apple by itself: as configured, or without a key.")
    ) { $0.recover },
    JSONMember("last_recovery", RecoveryStatus.Recovery.object) { $0.last.recovery },
    JSONMember("last_reconciliation", RecoveryStatus.Reconciliation.object) {
      $0.last.reconciliation
    },
  ])
}
