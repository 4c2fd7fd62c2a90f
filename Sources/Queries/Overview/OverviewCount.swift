import AppStore
import Platform
import Store

/// The counts of an overview. Not thread-safe: the overview's thread owns them.
///
/// Counts in batches that take a few milliseconds. Events are counted once: the journal only grows
/// and receive times never decrease along it, so the count of an hour that is over is final.
final class OverviewCount {
  typealias App = ProjectionReader.Counts.App

  /// Events of one app, type and source that were received in one hour.
  struct Hour: Hashable {
    /// The beginning of the hour, milliseconds since 1970.
    let start: Int64
    let app: App
    let notificationType: String
    let source: EventSource
  }

  let reader: LedgerReader
  var journal: JournalReader { reader.journal }

  /// Accepted events by hour: every event from `firstCounted` through `lastCounted`.
  private(set) var hours: [Hour: Int64] = [:]
  private var firstCounted: Int64 = 1
  private(set) var lastCounted: Int64 = 0
  private var firstWanted = Int64.max
  /// The seq of each app's last event, mappings left out.
  private(set) var lastSeqs: [App: Int64] = [:]
  /// The seq of each app's last notification, as far as it is found.
  private(set) var lastNotifications: [App: Int64] = [:]
  /// Apps without a notification in the counted hours: below this seq it is looked for.
  private var searchedNotifications: [App: Int64] = [:]
  /// The streams through this id were searched for the last events of silent apps; nil: all were.
  private var searchedStreams: Int64? = 0
  private(set) var quarantine: [JournalReader.QuarantineCount] = []
  private(set) var quarantineHours: [JournalReader.QuarantineHour] = []
  /// Notifications that were counted and not stored, because quarantine was full.
  private(set) var quarantineOverflow: Int64 = 0
  /// When quarantine is counted again, nanoseconds of the monotonic clock.
  private var quarantineDue = Int64.min

  /// Events and streams of one batch.
  private static let eventBatch: Int64 = 5_000
  private static let streamBatch = 5_000
  /// How long the counts of an hour are retained, milliseconds: a little more than the 168 hours
  /// that can be asked for.
  private static let retention: Int64 = 170 * JournalReader.hour

  init(_ reader: LedgerReader) { self.reader = reader }

  /// Counts until everything wanted and due is counted, or the deadline has passed.
  ///
  /// - Parameters:
  ///   - since: events received at this time or later are wanted, milliseconds since 1970.
  ///   - now: the current time, milliseconds since 1970.
  ///   - deadline: nanoseconds of the monotonic clock.
  /// - Returns: whether everything is counted.
  func advance(
    since: Int64, now: Int64, until deadline: Int64
  ) throws(LedgerError) -> Bool {
    let head = try journal.head().seq
    if lastCounted == 0 { (firstCounted, lastCounted) = (head + 1, head) }
    firstWanted = min(firstCounted, try journal.firstSeq(receivedFrom: since))
    hours = hours.filter { $0.key.start > now - Self.retention }
    let apps = try journal.apps()
    while Clock.monotonicNanoseconds() < deadline {
      if try countForward(to: head) { continue }
      if try countQuarantine(since: now - Self.retention) { continue }
      if try countBackward() { continue }
      if try countSilentApps(apps) { continue }
      if try findLastNotification(apps) { continue }
      return true
    }
    return false
  }

  /// Whether all events received since a time, milliseconds since 1970, are counted.
  func isCounted(since: Int64) throws(LedgerError) -> Bool {
    firstCounted <= (try journal.firstSeq(receivedFrom: since))
  }

  /// When the first counted event was received, milliseconds since 1970; nil if none is counted.
  func countedFrom() throws(LedgerError) -> Int64? {
    try journal.arrival(at: firstCounted)?.receivedAt
  }

  // MARK: The journal

  private func countForward(to head: Int64) throws(LedgerError) -> Bool {
    guard lastCounted < head else { return false }
    let end = min(head, lastCounted + Self.eventBatch)
    try count(from: lastCounted + 1, through: end)
    lastCounted = end
    return true
  }

  private func countBackward() throws(LedgerError) -> Bool {
    guard firstCounted > firstWanted else { return false }
    let start = max(firstWanted, firstCounted - Self.eventBatch)
    try count(from: start, through: firstCounted - 1)
    firstCounted = start
    return true
  }

  private func count(from first: Int64, through last: Int64) throws(LedgerError) {
    for part in try journal.hourCounts(from: first, through: last) {
      let app = App(environment: part.environment, bundleId: part.bundleId)
      let hour = Hour(
        start: part.hour, app: app, notificationType: part.notificationType,
        source: part.source)
      hours[hour, default: 0] += part.count
      // An app that was configured once by mistake has mappings, and is shown no longer.
      if part.source != .catalog { lastSeqs[app] = max(lastSeqs[app] ?? 0, part.lastSeq) }
      if part.source.isNotification {
        lastNotifications[app] = max(lastNotifications[app] ?? 0, part.lastSeq)
      }
    }
  }

  /// Finds the last event of apps that have none in the counted hours. Done once: later events are
  /// counted as they arrive.
  private func countSilentApps(_ apps: [JournalReader.JournaledApp]) throws(LedgerError) -> Bool {
    guard let start = searchedStreams else { return false }
    guard apps.contains(where: { lastSeqs[App($0)] == nil }) || start > 0 else { return false }
    let (seqs, next) = try journal.lastSeqs(afterStream: start, limit: Self.streamBatch)
    for app in apps {
      if let seq = seqs[app.id] { lastSeqs[App(app)] = max(lastSeqs[App(app)] ?? 0, seq) }
    }
    searchedStreams = next
    return true
  }

  /// Looks for the last notification of an app that has none in the counted hours, backwards from
  /// its last event. Done once: later ones are counted as they arrive.
  private func findLastNotification(
    _ apps: [JournalReader.JournaledApp]
  ) throws(LedgerError) -> Bool {
    for app in apps {
      let key = App(app)
      guard lastNotifications[key] == nil, let seq = lastSeqs[key] else { continue }
      let last = searchedNotifications[key] ?? seq
      guard last > 0 else { continue }
      let first = max(1, last - Self.eventBatch)
      lastNotifications[key] = try journal.lastNotification(of: app.id, from: first, through: last)
      searchedNotifications[key] = first - 1
      return true
    }
    return false
  }

  private func countQuarantine(since: Int64) throws(LedgerError) -> Bool {
    let begun = Clock.monotonicNanoseconds()
    guard begun >= quarantineDue else { return false }
    quarantine = try journal.quarantineByReason()
    quarantineHours = try journal.quarantineByHour(since: since)
    quarantineOverflow = try journal.quarantineCounts().overflow
    let now = Clock.monotonicNanoseconds()
    quarantineDue = now + max(Self.quarantinePause, 50 * (now - begun))
    return true
  }

  /// The shortest time between two counts of quarantine, nanoseconds. Counting takes at most a
  /// fiftieth of a processor.
  private static let quarantinePause: Int64 = 2_000_000_000
}

extension OverviewCount.App {
  init(_ app: JournalReader.JournaledApp) {
    self.init(environment: app.environment, bundleId: app.bundleId)
  }
}
