import AppStore
import Entitlements
import Ledger
import Platform
import Store
import StrictJSON

/// Makes the `overview` object of one question from the counts.
struct OverviewAnswer {
  private let count: OverviewCount
  /// Nil while no rows can be read.
  private let counts: ProjectionReader.Counts?
  private let arrivals: Arrivals
  private let configuration: Configuration

  init(
    _ count: OverviewCount, _ counts: ProjectionReader.Counts?, _ arrivals: Arrivals,
    _ configuration: Configuration
  ) {
    self.count = count
    self.counts = counts
    self.arrivals = arrivals
    self.configuration = configuration
  }

  /// The `overview` object.
  func json(to question: Overview.Question) throws(LedgerError) -> JSONValue {
    let isComplete = try count.isCounted(since: question.since)
    return .object([
      ("object", .string("overview")), ("at", .integer(question.now)),
      ("hours", .integer(question.hours)), ("from", .integer(question.since)),
      (
        "counted_from",
        .integer(isComplete ? question.since : try count.countedFrom() ?? question.now)
      ),
      ("started_at", .integer(arrivals.startedAt)), ("through_seq", .integer(count.lastCounted)),
      ("notifications", .array(notifications(question))), ("rows", rows(question)),
      ("quarantine", quarantine(question)), ("apps", .array(try apps(question))),
      ("unmapped_products", .array(unmappedProducts(question))),
    ])
  }

  // MARK: Notifications by hour

  private struct Bar: Hashable {
    let hour: Int64
    let outcome: String
    let notificationType: String?
  }

  private func notifications(_ question: Overview.Question) -> [JSONValue] {
    var bars: [Bar: Int64] = [:]
    func add(_ hour: Int64, _ outcome: String, _ type: String?, _ count: Int64) {
      bars[Bar(hour: hour, outcome: outcome, notificationType: type), default: 0] += count
    }
    for (hour, number) in count.hours
    where hour.start >= question.since
      && question.covers(hour.app.environment, hour.app.bundleId)
    {
      add(hour.start, Self.outcome(of: hour.source), hour.notificationType, number)
    }
    for part in count.quarantineHours
    where part.hour >= question.since && question.covers(part.environment, part.bundleId) {
      add(part.hour, "quarantined", part.notificationType, part.count)
    }
    for (key, number) in arrivals.counts(since: question.since)
    where question.covers(key.environment, key.bundleId) {
      add(key.hour, key.outcome.rawValue, key.notificationType, number)
    }
    let sorted = bars.sorted {
      ($0.key.hour, $0.key.outcome, $0.key.notificationType ?? "")
        < ($1.key.hour, $1.key.outcome, $1.key.notificationType ?? "")
    }
    return sorted.map { bar, number in
      .object([
        ("hour", .integer(bar.hour)), ("outcome", .string(bar.outcome)),
        ("notification_type", .optional(bar.notificationType)), ("count", .integer(number)),
      ])
    }
  }

  /// What an event counts as: not all are notifications.
  private static func outcome(of source: EventSource) -> String {
    source.isNotification ? "accepted" : source.isEvidence ? "evidence" : "statement"
  }

  // MARK: Rows

  private func rows(_ question: Overview.Question) -> JSONValue {
    guard let rows = counts else { return .null }
    var total: Int64 = 0
    var items: [JSONValue] = []
    for (app, statuses) in Self.sorted(rows.byStatus)
    where question.covers(app.environment, app.bundleId) {
      for status in Entitlement.Status.allCases {
        guard let number = statuses[status] else { continue }
        total += number
        items.append(
          .object([
            ("environment", .string(app.environment.rawValue)),
            ("bundle_id", .string(app.bundleId)),
            ("status", .string(status.rawValue)),
            ("gives_access", .boolean(count.reader.journal.fold.givesAccess(status))),
            ("count", .integer(number)),
          ]))
      }
    }
    let broken = rows.broken.filter { question.covers($0.key.environment, $0.key.bundleId) }
      .values.reduce(0, +)
    return .object([
      ("counted_at", .integer(rows.at)), ("folded_through", .integer(rows.foldedThrough)),
      ("total", .integer(total)), ("broken", .integer(broken)), ("by_status", .array(items)),
    ])
  }

  private static func sorted<Value>(
    _ apps: [OverviewCount.App: Value]
  ) -> [(OverviewCount.App, Value)] {
    apps.sorted { ($0.key.bundleId, $0.key.environment) < ($1.key.bundleId, $1.key.environment) }
      .map { ($0.key, $0.value) }
  }

  /// None while no entitlement is configured, or no rows can be read.
  private func unmappedProducts(_ question: Overview.Question) -> [JSONValue] {
    guard !configuration.entitlements.isEmpty, let projection = try? count.reader.projection(),
      let sold = try? projection.soldProducts()
    else { return [] }
    return configuration.entitlements.unmapped(
      sold.filter { question.covers($0.environment, $0.bundleId) }
    ).map { found in
      .object([
        ("bundle_id", .string(found.product.bundleId)),
        ("product_id", .string(found.product.productId)),
        ("suggestion", .optional(found.suggestion)),
      ])
    }
  }

  // MARK: Quarantine and apps

  private func quarantine(_ question: Overview.Question) -> JSONValue {
    let shown = count.quarantine.filter { question.covers($0.environment, $0.bundleId) }
    return .object([
      ("count", .integer(shown.map(\.count).reduce(0, +))),
      // Notifications of other or unknown apps: only shown to a token without lists.
      (
        "only_counted",
        question.covers(nil, nil) ? .integer(count.quarantineOverflow) : .null
      ),
      (
        "by_reason",
        .array(
          shown.map { part in
            .object([
              ("environment", .optional(part.environment?.rawValue)),
              ("bundle_id", .optional(part.bundleId)), ("reason", .string(part.reason)),
              ("count", .integer(part.count)),
              ("last_received_at", .integer(part.lastReceivedAt)),
            ])
          })
      ),
    ])
  }

  /// The configured apps, and those that have events but are not configured any more.
  private func apps(_ question: Overview.Question) throws(LedgerError) -> [JSONValue] {
    var configured: [OverviewCount.App: Bool] = [:]
    for app in configuration.apps.values {
      for environment in app.environments {
        configured[.init(environment: environment, bundleId: app.bundleId)] = true
      }
    }
    for app in count.lastSeqs.keys where configured[app] == nil { configured[app] = false }
    var items: [JSONValue] = []
    for (app, isConfigured) in Self.sorted(configured)
    where question.covers(app.environment, app.bundleId) {
      items.append(
        .object([
          ("environment", .string(app.environment.rawValue)), ("bundle_id", .string(app.bundleId)),
          ("configured", .boolean(isConfigured)),
          ("last_event", try arrival(at: count.lastSeqs[app])),
          ("last_notification", try arrival(at: count.lastNotifications[app])),
        ]))
    }
    return items
  }

  private func arrival(at seq: Int64?) throws(LedgerError) -> JSONValue {
    guard let seq, let arrival = try count.journal.arrival(at: seq) else {
      return .null
    }
    return .object([
      ("seq", .integer(arrival.seq)), ("notification_type", .string(arrival.notificationType)),
      ("subtype", .optional(arrival.subtype)), ("signed_date", .integer(arrival.signedDate)),
      ("received_at", .integer(arrival.receivedAt)),
    ])
  }
}
