import AppStore
import JournalStore
public import LedgerEngine
import Synchronization

/// Notifications that were proven, counted by app, environment, version, type and outcome.
///
/// Counted for each one, so nothing is put together: names become small numbers once. Apps that
/// are not configured, and types Apple has not documented, are `other`: whoever has a developer
/// account can send genuine notifications that say anything.
public final class NotificationCounts: Sendable {
  public enum Outcome: String, Sendable, CaseIterable {
    case accepted, duplicate, conflict, quarantined
  }

  private struct Key: Hashable {
    var app: Int16
    var environment: UInt8
    var version: UInt8
    var type: UInt8
    var outcome: Outcome
  }

  private struct State {
    /// Numbers of apps; they stay when a reload takes an app away.
    var apps: [String: Int16] = [:]
    var counts: [Key: Int64] = [:]
  }

  private static let maximumApps = 1000
  private static let other = "other"
  private static let environments = [other, "Production", "Sandbox"]
  private static let types = [other] + NotificationTypes.v2.union(NotificationTypes.v1).sorted()
  private static let typeNumbers = Dictionary(
    uniqueKeysWithValues: zip(types, 0...).map { ($0, UInt8($1)) })

  private let state = Mutex(State())

  public init() {}

  /// The apps that are counted by name from here on.
  public func know(_ bundleIds: some Sequence<String>) {
    state.withLock { state in
      for bundleId in bundleIds where state.apps.count < Self.maximumApps {
        if state.apps[bundleId] == nil { state.apps[bundleId] = Int16(state.apps.count + 1) }
      }
    }
  }

  public func add(_ received: Receiver.Received, _ outcome: Outcome) {
    switch received.submission {
    case .event(let event):
      add(event.bundleId, event.environment, event.source, event.notificationType, outcome)
    case .quarantine(let item):
      add(item.bundleId, item.environment, item.source, item.notificationType, outcome)
    }
  }

  private func add(
    _ app: String?, _ environment: String?, _ source: String, _ type: String?, _ outcome: Outcome
  ) {
    var key = Key(
      app: 0, environment: 0, version: source == "v1" ? 1 : 2,
      type: type.flatMap { Self.typeNumbers[$0] } ?? 0, outcome: outcome)
    switch environment {
    case "Production": key.environment = 1
    case "Sandbox": key.environment = 2
    default: break
    }
    state.withLock { state in
      if let app { key.app = state.apps[app] ?? 0 }
      state.counts[key, default: 0] += 1
    }
  }

  /// Every label that has a count, in order, and that count.
  public func samples() -> [(labels: [(name: String, value: String)], count: Int64)] {
    let samples = state.withLock { state in
      let names = Dictionary(uniqueKeysWithValues: state.apps.map { ($0.value, $0.key) })
      return state.counts.map { key, count in
        (
          labels: [
            (name: "app", value: names[key.app] ?? Self.other),
            (name: "environment", value: Self.environments[Int(key.environment)]),
            (name: "version", value: String(key.version)),
            (name: "type", value: Self.types[Int(key.type)]),
            (name: "outcome", value: key.outcome.rawValue),
          ], count: count
        )
      }
    }
    return samples.sorted { one, two in
      one.labels.map(\.value).lexicographicallyPrecedes(two.labels.map(\.value))
    }
  }

  /// Of all apps together.
  public func count(_ outcome: Outcome) -> Int64 {
    state.withLock { state in
      state.counts.reduce(0) { $1.key.outcome == outcome ? $0 + $1.value : $0 }
    }
  }
}
