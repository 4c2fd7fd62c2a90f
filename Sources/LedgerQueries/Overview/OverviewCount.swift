import Entitlements
import JournalStore
import Platform

/// The counts behind an overview, kept by the one thread that asks for them.
///
/// Everything is counted in pieces that take some milliseconds, and nothing twice: the journal only
/// grows and receive times never fall along it, so an hour that is over has its count for ever.
/// Rows change their status with time alone; they are counted anew now and then, never for one
/// question.
final class OverviewCount {
  typealias App = RowCount.App

  struct Hour: Hashable {
    let start: Int64
    let app: App
    let notificationType: String
  }

  private let reader: LedgerReader
  var journal: JournalReader { reader.journal }

  /// Accepted events by hour; from `low` through `high` every event is in.
  private(set) var hours: [Hour: Int64] = [:]
  private var low: Int64 = 1
  private(set) var high: Int64 = 0
  private var wantedLow = Int64.max
  private(set) var lastSeqs: [App: Int64] = [:]
  /// How far streams were asked for the last event of apps that have been silent; nil: all were.
  private var stream: Int64? = 0
  private(set) var quarantine: [JournalReader.QuarantineCount] = []
  private(set) var quarantineHours: [JournalReader.QuarantineHour] = []
  private(set) var quarantineOverflow: Int64 = 0
  private var quarantineAgenda = Agenda(rest: 2_000_000_000)
  /// Of the last whole pass.
  private(set) var rows: RowCount.Result?
  private var pass: RowCount?
  private var rowsAgenda = Agenda(rest: 10_000_000_000)

  /// Events and streams of one piece.
  private static let eventPiece: Int64 = 5_000
  private static let streamPiece = 5_000
  /// Hours that are asked about at most, and one more.
  private static let kept: Int64 = 170 * JournalReader.hour

  init(_ reader: LedgerReader) { self.reader = reader }

  /// When something that takes time is done again: never sooner than after `rest` nanoseconds, nor
  /// so often that it takes more than a fiftieth of a processor.
  private struct Agenda {
    let rest: Int64
    var took: Int64 = 0
    var due = Int64.min

    mutating func begin() { took = 0 }
    mutating func add(_ nanoseconds: Int64) { took += nanoseconds }
    mutating func finish(_ now: Int64) { due = now + max(rest, 50 * took) }
  }

  /// Counts on, until all that is wanted is counted or the time is up.
  ///
  /// - Parameters:
  ///   - since: events received at this time or later are wanted, ms.
  ///   - now: our clock, ms.
  ///   - deadline: nanoseconds of the clock that never steps.
  /// - Returns: whether all is counted.
  func advance(
    since: Int64, now: Int64, until deadline: Int64
  ) throws(StoreError) -> Bool {
    let head = try journal.head().seq
    if high == 0 { (low, high) = (head + 1, head) }
    wantedLow = min(low, try journal.firstSeq(receivedFrom: since))
    hours = hours.filter { $0.key.start > now - Self.kept }
    let apps = try journal.apps()
    while Clock.monotonicNanoseconds() < deadline {
      if try countForward(to: head) { continue }
      if try countQuarantine(since: now - Self.kept) { continue }
      if try countBackward() { continue }
      if try countSilent(apps) { continue }
      if try countByStatus(now) { continue }
      return true
    }
    return false
  }

  /// Whether everything received since then is counted.
  func reaches(_ since: Int64) throws(StoreError) -> Bool {
    low <= (try journal.firstSeq(receivedFrom: since))
  }

  /// When the first event that is counted arrived, ms; nil where none is.
  func countedFrom() throws(StoreError) -> Int64? { try journal.arrival(at: low)?.receivedAt }

  // MARK: The journal

  private func countForward(to head: Int64) throws(StoreError) -> Bool {
    guard high < head else { return false }
    let end = min(head, high + Self.eventPiece)
    try count(from: high + 1, through: end)
    high = end
    return true
  }

  private func countBackward() throws(StoreError) -> Bool {
    guard low > wantedLow else { return false }
    let start = max(wantedLow, low - Self.eventPiece)
    try count(from: start, through: low - 1)
    low = start
    return true
  }

  private func count(from first: Int64, through last: Int64) throws(StoreError) {
    for part in try journal.hourCounts(from: first, through: last) {
      let app = App(environment: part.environment, bundleId: part.bundleId)
      let hour = Hour(start: part.hour, app: app, notificationType: part.notificationType)
      hours[hour, default: 0] += part.count
      lastSeqs[app] = max(lastSeqs[app] ?? 0, part.lastSeq)
    }
  }

  /// The last event of apps of which none is in the counted hours. Once: what comes later is
  /// counted as it comes.
  private func countSilent(_ apps: [JournalReader.JournaledApp]) throws(StoreError) -> Bool {
    guard let start = stream else { return false }
    guard apps.contains(where: { lastSeqs[App($0)] == nil }) || start > 0 else { return false }
    let (places, next) = try journal.lastSeqs(afterStream: start, limit: Self.streamPiece)
    for app in apps {
      if let place = places[app.id] { lastSeqs[App(app)] = max(lastSeqs[App(app)] ?? 0, place) }
    }
    stream = next
    return true
  }

  private func countQuarantine(since: Int64) throws(StoreError) -> Bool {
    let begun = Clock.monotonicNanoseconds()
    guard begun >= quarantineAgenda.due else { return false }
    quarantine = try journal.quarantineByReason()
    quarantineHours = try journal.quarantineByHour(since: since)
    quarantineOverflow = try journal.quarantineCounts().overflow
    let now = Clock.monotonicNanoseconds()
    quarantineAgenda.begin()
    quarantineAgenda.add(now - begun)
    quarantineAgenda.finish(now)
    return true
  }

  // MARK: The rows

  private func countByStatus(_ now: Int64) throws(StoreError) -> Bool {
    let begun = Clock.monotonicNanoseconds()
    guard pass != nil || begun >= rowsAgenda.due else { return false }
    if pass == nil { rowsAgenda.begin() }
    let current = pass ?? RowCount(reader, at: now)
    pass = current
    do throws(LedgerReader.Failure) {
      let whole = try current.advance()
      let ended = Clock.monotonicNanoseconds()
      rowsAgenda.add(ended - begun)
      guard let whole else { return true }
      (rows, pass) = (whole, nil)
      rowsAgenda.finish(ended)
      return true
    } catch {
      (rows, pass) = (nil, nil)
      if case .store(let error) = error { throw error }
      return false
    }
  }
}

extension OverviewCount.App {
  init(_ app: JournalReader.JournaledApp) {
    self.init(environment: app.environment, bundleId: app.bundleId)
  }
}
