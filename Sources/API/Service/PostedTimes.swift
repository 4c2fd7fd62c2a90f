import AppStore
import Ledger
import Platform
import Store
import Synchronization

/// When Apple last posted to this service, by app and environment: what an alarm on silence rests
/// on. Apple's tests are apart, because they come on demand and tell nothing of customers.
///
/// What came from Apple's history, an import, an app or a file does not count. The journal tells of
/// the time before the start, except that it does not tell a file of bodies that was ingested from
/// what was posted, nor when an event was posted again.
final class PostedTimes: Sendable {
  typealias App = ProjectionReader.Counts.App

  /// Milliseconds since 1970; nil if none is known.
  struct Times: Equatable {
    var notification: Int64?
    var test: Int64?
  }

  private let times = Mutex<[App: Times]>([:])

  /// Events that are looked at with one question, and at most since the start: an app whose last
  /// notification is farther behind the head has been silent for long, or never had any.
  private static let batch: Int64 = 2_000
  private static let limit: Int64 = 1_000_000
  /// Events about no customer among which Apple's last test is looked for.
  private static let tests = 1_000

  /// Records a notification that Apple posted now and that is in the journal.
  ///
  /// - Parameter now: milliseconds since 1970.
  func record(_ received: Receiver.Received, at now: Int64) {
    guard case .event(let event) = received.submission else { return }
    let app = App(environment: event.environment, bundleId: event.bundleId)
    times.withLock { times in
      if event.notificationType == "TEST" {
        times[app, default: Times()].test = now
      } else {
        times[app, default: Times()].notification = now
      }
    }
  }

  func times(of app: App) -> Times { times.withLock { $0[app] ?? Times() } }

  // MARK: Before the start

  /// A search backwards from the head, in parts.
  struct Search {
    /// The seq through which is searched next; 0 once nothing is left.
    fileprivate var next: Int64
    fileprivate let end: Int64
    /// The apps that are still looked for.
    fileprivate var wanted: Set<App>
    var isDone: Bool { next <= end || wanted.isEmpty }
  }

  /// Looks for the last tests, and begins the search for the last notification of each app.
  ///
  /// - Throws: what SQLite reports.
  func beginSearch(_ journal: JournalReader) throws(LedgerError) -> Search {
    for found in try journal.lastTests(amongLast: Self.tests) {
      let app = App(environment: found.app.environment, bundleId: found.app.bundleId)
      times.withLock { times in
        if times[app]?.test == nil { times[app, default: Times()].test = found.receivedAt }
      }
    }
    let head = try journal.head().seq
    let apps = try journal.apps().map { App(environment: $0.environment, bundleId: $0.bundleId) }
    return Search(next: head, end: max(0, head - Self.limit), wanted: Set(apps))
  }

  /// Searches until a time, nanoseconds of the monotonic clock, and one part in any case.
  ///
  /// - Throws: what SQLite reports.
  func advance(
    _ search: inout Search, _ journal: JournalReader, until deadline: Int64
  ) throws(LedgerError) {
    repeat {
      guard !search.isDone else { return }
      let first = max(search.end + 1, search.next - Self.batch + 1)
      for found in try journal.lastPosted(from: first, through: search.next) {
        let app = App(environment: found.app.environment, bundleId: found.app.bundleId)
        guard search.wanted.remove(app) != nil else { continue }
        times.withLock { times in
          if times[app]?.notification == nil {
            times[app, default: Times()].notification = found.receivedAt
          }
        }
      }
      search.next = first - 1
    } while Clock.monotonicNanoseconds() < deadline
  }

  // MARK: Metrics

  func write(
    _ page: inout PrometheusText, _ configuration: Configuration, _ token: Configuration.ReadToken
  ) {
    var shown: [(labels: [(name: String, value: String)], times: Times)] = []
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId }) {
      for environment in app.environments.sorted()
      where token.covers(environment: environment, bundleId: app.bundleId) {
        shown.append(
          (
            [
              (name: "app", value: app.bundleId),
              (name: "environment", value: environment.rawValue),
            ],
            times(of: App(environment: environment, bundleId: app.bundleId))
          ))
      }
    }
    let families: [(name: String, help: String, time: (Times) -> Int64?)] = [
      (
        "subledger_last_notification_time_seconds",
        "When Apple last posted a notification other than its test, as Unix time; 0 if none is "
          + "known.", { $0.notification }
      ),
      (
        "subledger_last_test_time_seconds",
        "When Apple last posted its test notification, as Unix time; 0 if none is known.",
        { $0.test }
      ),
    ]
    for family in families {
      page.family(family.name, .gauge, family.help)
      for sample in shown {
        page.sample(family.name, sample.labels, Double(family.time(sample.times) ?? 0) / 1000)
      }
    }
  }
}
