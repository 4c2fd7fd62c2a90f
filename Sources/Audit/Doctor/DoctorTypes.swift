import AppStore
import Entitlements
import Ledger
import Platform
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
