import AppStore
import Entitlements
public import Ledger
public import Platform
package import Store

extension LedgerReader {
  /// What is counted, without what the daemon recovered. Events are counted with the rows, as far
  /// as these are folded; while no rows can be read, none are.
  ///
  /// - Parameters:
  ///   - counted: counts rows and quarantine again if the last counts are not young.
  ///   - arrivals: what was not journaled.
  /// - Throws: what SQLite reports about the journal.
  public func overview(
    _ question: Overview.Question, _ counted: RowCounts, _ arrivals: Arrivals,
    _ configuration: Configuration
  ) throws(LedgerError) -> Overview.Answer {
    let rows = counted.counts(self, at: question.now)
    return try OverviewMaker(
      reader: self, question: question, hours: hours(), rows: rows, quarantine: counted.quarantine,
      refunds: counted.refunds, arrivals: arrivals, configuration: configuration
    ).answer()
  }

  /// The events that are folded by hour, and through which seq; nil while no rows can be read.
  package func hours() -> (counts: [HourCount], through: Int64)? {
    guard let opened = readable() else { return nil }
    return rows { () throws(LedgerError) in
      try beginSnapshot()
      defer { endSnapshot() }
      return (try opened.reader.hours(), try opened.reader.foldedThrough())
    }
  }
}

/// Makes the answer to one question from the counts.
private struct OverviewMaker {
  typealias App = ProjectionReader.Counts.App

  let reader: LedgerReader
  let question: Overview.Question
  let hours: (counts: [HourCount], through: Int64)?
  /// Nil while no rows can be read.
  let rows: ProjectionReader.Counts?
  let quarantine: RowCounts.Quarantine
  let refunds: [RefundCount]
  let arrivals: Arrivals
  let configuration: Configuration

  func answer() throws(LedgerError) -> Overview.Answer {
    // After our clock was set back, the first hours that are asked for may be counted no longer.
    let kept = max(0, hours?.counts.last?.hour ?? 0) - HourCount.kept + JournalReader.hour
    return Overview.Answer(
      question: question, countedFrom: hours == nil ? question.now : max(question.since, kept),
      startedAt: arrivals.startedAt, throughSeq: hours?.through ?? 0,
      notifications: notifications(), rows: byStatus(), quarantine: quarantined(),
      refundRequests: refunds.filter { question.covers($0.app.environment, $0.app.bundleId) },
      apps: try apps(), unmappedProducts: unmappedProducts())
  }

  // MARK: Notifications by hour

  private struct Bar: Hashable {
    let hour: Int64
    let outcome: String
    let notificationType: String?
  }

  private func notifications() -> [Overview.Answer.Hour] {
    var bars: [Bar: Int64] = [:]
    func add(_ hour: Int64, _ outcome: String, _ type: String?, _ count: Int64) {
      bars[Bar(hour: hour, outcome: outcome, notificationType: type), default: 0] += count
    }
    for part in hours?.counts ?? []
    where part.hour >= question.since && question.covers(part.app.environment, part.app.bundleId) {
      add(part.hour, Self.outcome(of: part.source), part.notificationType, part.count)
    }
    for part in quarantine.byHour
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

  private func byStatus() -> Overview.Answer.Rows? {
    guard let rows else { return nil }
    var items: [Overview.Answer.Status] = []
    for (app, statuses) in Self.sorted(rows.byStatus)
    where question.covers(app.environment, app.bundleId) {
      for status in Entitlement.Status.allCases {
        guard let number = statuses[status] else { continue }
        let givesAccess = reader.journal.fold.givesAccess(status)
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
    _ apps: [App: Value]
  ) -> [(App, Value)] {
    apps.sorted { ($0.key.bundleId, $0.key.environment) < ($1.key.bundleId, $1.key.environment) }
      .map { ($0.key, $0.value) }
  }

  /// By the mapping in force. None while no entitlement is configured, or no rows can be read.
  private func unmappedProducts() -> [EntitlementCatalog.Unmapped] {
    guard !configuration.entitlements.isEmpty, let projection = try? reader.projection(),
      let sold = try? projection.soldProducts(), let inForce = try? reader.namesInForce()
    else { return [] }
    return configuration.entitlements.unmapped(
      sold.filter { question.covers($0.environment, $0.bundleId) }, inForce: inForce)
  }

  // MARK: Quarantine and apps

  private func quarantined() -> Overview.Answer.Quarantine {
    let shown = quarantine.byReason.filter { question.covers($0.environment, $0.bundleId) }
    // Notifications of other or unknown apps: only shown to a token without lists.
    let overflow = question.covers(nil, nil) ? quarantine.overflow : nil
    return (shown.map(\.count).reduce(0, +), overflow, shown)
  }

  /// The configured apps, and those that have events but are not configured any more.
  private func apps() throws(LedgerError) -> [Overview.Answer.App] {
    var configured: [App: Bool] = [:]
    for app in configuration.apps.values {
      for environment in app.environments {
        configured[App(environment: environment, bundleId: app.bundleId)] = true
      }
    }
    // A mapping is the last event of an app that has no other.
    let last = lastSeqs { $0 != .catalog }.merging(lastSeqs { $0 == .catalog }) { seq, _ in seq }
    let lastNotification = lastSeqs(where: \.isNotification)
    for app in last.keys where configured[app] == nil { configured[app] = false }
    var items: [Overview.Answer.App] = []
    for (app, isConfigured) in Self.sorted(configured)
    where question.covers(app.environment, app.bundleId) {
      items.append(
        (
          app, isConfigured, try arrival(at: last[app]), try arrival(at: lastNotification[app])
        ))
    }
    return items
  }

  /// The seq of each app's last event from some sources.
  private func lastSeqs(where isWanted: (EventSource) -> Bool) -> [App: Int64] {
    var seqs: [App: Int64] = [:]
    for part in hours?.counts ?? [] where isWanted(part.source) {
      seqs[part.app] = max(seqs[part.app] ?? 0, part.lastSeq)
    }
    return seqs
  }

  private func arrival(at seq: Int64?) throws(LedgerError) -> JournalReader.Arrival? {
    guard let seq else { return nil }
    return try reader.journal.arrival(at: seq)
  }
}
