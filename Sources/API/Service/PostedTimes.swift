import AppStore
import Ledger
import Platform
import Store
import Synchronization

/// When Apple last posted to this service, by app and environment: what an alarm on silence rests
/// on. Apple's tests are apart, because they come on demand and tell nothing of customers.
///
/// What came from Apple's history, an import, an app or a file does not count. The rows' hours tell
/// of the time before the start, except that they do not tell a file of bodies that was ingested
/// from what was posted, nor when an event was posted again.
final class PostedTimes: Sendable {
  typealias App = ProjectionReader.Counts.App

  /// Milliseconds since 1970; nil if none is known.
  struct Times: Equatable {
    var notification: Int64?
    var test: Int64?
  }

  private let times = Mutex<[App: Times]>([:])

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

  /// Adds what was posted before the start.
  ///
  /// - Parameter hours: of a projection of the journal.
  /// - Throws: what SQLite reports.
  func add(_ hours: [HourCount], _ journal: JournalReader) throws(LedgerError) {
    var seqs: [App: (notification: Int64, test: Int64)] = [:]
    for hour in hours where hour.source.isNotification && hour.arrival == .posted {
      var last = seqs[hour.app] ?? (0, 0)
      if hour.notificationType == "TEST" {
        last.test = max(last.test, hour.lastSeq)
      } else {
        last.notification = max(last.notification, hour.lastSeq)
      }
      seqs[hour.app] = last
    }
    for (app, last) in seqs {
      let notification = try journal.receivedAt(of: last.notification)
      let test = try journal.receivedAt(of: last.test)
      times.withLock { times in
        let known = times[app] ?? Times()
        times[app] = Times(
          notification: known.notification ?? notification, test: known.test ?? test)
      }
    }
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
