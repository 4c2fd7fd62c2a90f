import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import Store

/// The types of notifications that each app gets every day.
extension Doctor {
  /// How far back they are read: a silence of a month, and the days that it is compared with.
  private static let reach = Int64(31 + TypeSilence.comparedDays) * CivilTime.day
  /// How many events are read at once, so that no read transaction stays open for long.
  private static let batch: Int64 = 50_000

  private struct App: Hashable {
    let environment: Environment
    let bundleId: String
  }

  /// Only Production: what comes in the Sandbox depends on who tests.
  func examineTypes(_ reader: JournalReader) throws(LedgerError) {
    let found = try postedTimes(reader)
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId })
    where app.environments.contains(.production) {
      let types = found[App(environment: .production, bundleId: app.bundleId)] ?? [:]
      let all = types.values.flatMap { $0 }.sorted { $0.lowerBound < $1.lowerBound }
      for (type, times) in types.sorted(by: { $0.key < $1.key }) {
        guard let silence = TypeSilence(times, among: all) else { continue }
        report(silence, of: type, app.bundleId)
      }
    }
  }

  /// From when to when notifications came, by app and type, hour by hour.
  private func postedTimes(
    _ reader: JournalReader
  ) throws(LedgerError) -> [App: [String: [ClosedRange<Int64>]]] {
    var found: [App: [String: [ClosedRange<Int64>]]] = [:]
    var first = try reader.firstSeq(receivedFrom: now.subtracting(orBoundBy: Self.reach))
    let last = try reader.head().seq
    while first <= last {
      let end = min(last, first + Self.batch - 1)
      for hour in try reader.postedHours(from: first, through: end) {
        let app = App(environment: hour.environment, bundleId: hour.bundleId)
        found[app, default: [:]][hour.notificationType, default: []].append(hour.times)
      }
      first = end + 1
    }
    return found
  }

  private func report(_ silence: TypeSilence, of type: String, _ bundleId: String) {
    let elapsed = ReadableUnits.duration(milliseconds: now.subtracting(orBoundBy: silence.since))
    let pause = ReadableUnits.duration(milliseconds: silence.longestPause)
    reportFinding(
      "\(bundleId) Production: the last \(VisibleText.of(type)) came \(elapsed) ago, and others "
        + "come; before, it came on \(silence.days) of \(TypeSilence.comparedDays) days, and its "
        + "longest pause was \(pause)",
      next: "ask Apple whether it sent any: subledger recover --app \(bundleId) --environment "
        + "Production --since \(Timestamp.text(silence.since)) --dry-run; if not, see what changed "
        + "in App Store Connect that day")
  }
}

/// The members that Apple sends and this version does not know.
extension Doctor {
  /// How many of the newest events are read, and how many at a time.
  private static let readEvents: Int64 = 20_000
  private static let readAtOnce = 500
  /// How many names are told.
  private static let namedMembers = 200

  func examineMembers() throws(LedgerError) {
    guard let journal else { return }
    let head = try journal.head().seq
    let first = max(0, head - Self.readEvents)
    var found: [String: (count: Int, since: Int64)] = [:]
    var last = first
    while last < head {
      let events = try journal.events(after: last, limit: Self.readAtOnce)
      guard let end = events.last else { break }
      last = end.seq
      for event in events {
        for name in AppleMembers(JournaledPayload(event)).unknown {
          guard let known = found[name] else {
            if found.count < Self.namedMembers { found[name] = (1, event.signedDate) }
            continue
          }
          found[name] = (known.count + 1, min(known.since, event.signedDate))
        }
      }
    }
    if found.isEmpty { return report("all that Apple sends is known") }
    let among = first > 0 ? "the newest \(Self.readEvents)" : "\(head)"
    for (name, member) in found.sorted(by: { $0.key < $1.key }) {
      report(
        "Apple sends \(name) since \(Timestamp.text(member.since)), in \(member.count) of \(among) "
          + "events; this version does not read it: it is kept, and history shows it")
    }
  }
}
