import AppStore
import Entitlements
import Ledger
import Platform
import Store

/// Makes the answer to one question from the counts.
struct OverviewMaker {
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

  /// - Returns: the answer without what the daemon recovered.
  func answer(to question: Overview.Question) throws(LedgerError) -> Overview.Answer {
    let isComplete = try count.isCounted(since: question.since)
    return Overview.Answer(
      question: question,
      countedFrom: isComplete ? question.since : try count.countedFrom() ?? question.now,
      startedAt: arrivals.startedAt, throughSeq: count.lastCounted,
      notifications: notifications(question), rows: rows(question),
      quarantine: quarantine(question), apps: try apps(question),
      unmappedProducts: unmappedProducts(question))
  }

  // MARK: Notifications by hour

  private struct Bar: Hashable {
    let hour: Int64
    let outcome: String
    let notificationType: String?
  }

  private func notifications(_ question: Overview.Question) -> [Overview.Answer.Hour] {
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
    return sorted.map { ($0.hour, $0.outcome, $0.notificationType, $1) }
  }

  /// What an event counts as: not all are notifications.
  private static func outcome(of source: EventSource) -> String {
    source.isNotification ? "accepted" : source.isEvidence ? "evidence" : "statement"
  }

  // MARK: Rows

  private func rows(_ question: Overview.Question) -> Overview.Answer.Rows? {
    guard let rows = counts else { return nil }
    var items: [Overview.Answer.Status] = []
    for (app, statuses) in Self.sorted(rows.byStatus)
    where question.covers(app.environment, app.bundleId) {
      for status in Entitlement.Status.allCases {
        guard let number = statuses[status] else { continue }
        let givesAccess = count.reader.journal.fold.givesAccess(status)
        // Consumables are active and give nothing.
        let idle = givesAccess ? rows.withoutAccess[app]?[status] ?? 0 : number
        if number > idle { items.append((app, status, true, number - idle)) }
        if idle > 0 { items.append((app, status, false, idle)) }
      }
    }
    let broken = rows.broken.filter { question.covers($0.key.environment, $0.key.bundleId) }
      .values.reduce(0, +)
    return (rows.at, rows.foldedThrough, items.reduce(0) { $0 + $1.count }, broken, items)
  }

  private static func sorted<Value>(
    _ apps: [OverviewCount.App: Value]
  ) -> [(OverviewCount.App, Value)] {
    apps.sorted { ($0.key.bundleId, $0.key.environment) < ($1.key.bundleId, $1.key.environment) }
      .map { ($0.key, $0.value) }
  }

  /// By the mapping in force. None while no entitlement is configured, or no rows can be read.
  private func unmappedProducts(
    _ question: Overview.Question
  ) -> [EntitlementCatalog.Unmapped] {
    guard !configuration.entitlements.isEmpty, let projection = try? count.reader.projection(),
      let sold = try? projection.soldProducts(), let inForce = try? count.reader.namesInForce()
    else { return [] }
    return configuration.entitlements.unmapped(
      sold.filter { question.covers($0.environment, $0.bundleId) }, inForce: inForce)
  }

  // MARK: Quarantine and apps

  private func quarantine(_ question: Overview.Question) -> Overview.Answer.Quarantine {
    let shown = count.quarantine.filter { question.covers($0.environment, $0.bundleId) }
    // Notifications of other or unknown apps: only shown to a token without lists.
    let overflow = question.covers(nil, nil) ? count.quarantineOverflow : nil
    return (shown.map(\.count).reduce(0, +), overflow, shown)
  }

  /// The configured apps, and those that have events but are not configured any more.
  private func apps(_ question: Overview.Question) throws(LedgerError) -> [Overview.Answer.App] {
    var configured: [OverviewCount.App: Bool] = [:]
    for app in configuration.apps.values {
      for environment in app.environments {
        configured[.init(environment: environment, bundleId: app.bundleId)] = true
      }
    }
    for app in count.lastSeqs.keys where configured[app] == nil { configured[app] = false }
    var items: [Overview.Answer.App] = []
    for (app, isConfigured) in Self.sorted(configured)
    where question.covers(app.environment, app.bundleId) {
      items.append(
        (
          app, isConfigured, try arrival(at: count.lastSeqs[app]),
          try arrival(at: count.lastNotifications[app])
        ))
    }
    return items
  }

  private func arrival(at seq: Int64?) throws(LedgerError) -> JournalReader.Arrival? {
    guard let seq else { return nil }
    return try count.journal.arrival(at: seq)
  }
}
