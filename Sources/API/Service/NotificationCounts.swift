import AppStore
public import Ledger
public import Store
import Synchronization

/// Notifications that were proven genuine, counted by app, environment, version, type and outcome.
///
/// Counting one concatenates no strings: labels become small numbers when they are added. Apps
/// that are not configured, and types that Apple has not documented, count as `other`, because
/// anyone with a developer account can send genuine notifications of any content.
public final class NotificationCounts: Sendable {
  private struct Key: Hashable {
    var app: Int16
    var environment: UInt8
    var version: UInt8
    var type: UInt8
    var outcome: UInt8
  }

  private struct State {
    /// The number of each app; it stays when a reload removes the app.
    var apps: [String: Int16] = [:]
    var counts: [Key: Int64] = [:]
  }

  private static let maximumApps = 1000
  private static let other = "other"
  private static let outcomes = [
    "accepted", "duplicate", "conflict", "quarantined", "not_kept",
  ]
  private static let environments = [other, "Production", "Sandbox"]
  private static let types = [other] + NotificationTypes.v2.union(NotificationTypes.v1).sorted()
  private static let typeNumbers = Dictionary(
    uniqueKeysWithValues: zip(types, 0...).map { ($0, UInt8($1)) })

  private let state = Mutex(State())

  public init() {}

  /// Counts these apps under their own names from now on.
  public func addApps(_ bundleIds: some Sequence<String>) {
    state.withLock { state in
      for bundleId in bundleIds where state.apps.count < Self.maximumApps {
        if state.apps[bundleId] == nil { state.apps[bundleId] = Int16(state.apps.count + 1) }
      }
    }
  }

  /// Counts one notification that is in the journal or in quarantine, or was too much for it.
  public func add(_ received: Receiver.Received, _ outcome: Outcome) {
    guard let number = Self.outcomes.firstIndex(of: outcome.name) else { return }
    switch received.submission {
    case .event(let event):
      add(event.bundleId, event.environment, event.source, event.notificationType, number)
    case .quarantine(let item):
      let claims = item.claims
      add(claims.bundleId, claims.environment, item.source, claims.notificationType, number)
    case .statement: break
    }
  }

  private func add(
    _ app: String?, _ environment: Environment?, _ source: EventSource, _ type: String?,
    _ outcome: Int
  ) {
    var key = Key(
      app: 0, environment: 0, version: source == .v1 ? 1 : 2,
      type: type.flatMap { Self.typeNumbers[$0] } ?? 0, outcome: UInt8(outcome))
    switch environment {
    case .production: key.environment = 1
    case .sandbox: key.environment = 2
    default: break
    }
    state.withLock { state in
      if let app { key.app = state.apps[app] ?? 0 }
      state.counts[key, default: 0] += 1
    }
  }

  /// Every combination of labels that has a count and that a token covers, sorted by its values,
  /// with the count.
  func samples(
    for token: Configuration.ReadToken
  ) -> [(labels: [(name: String, value: String)], count: Int64)] {
    let samples = state.withLock { state in
      let names = Dictionary(uniqueKeysWithValues: state.apps.map { ($0.value, $0.key) })
      let shown = state.counts.filter { key, _ in
        token.covers(
          environment: key.environment == 0
            ? nil : Environment(rawValue: Self.environments[Int(key.environment)]),
          bundleId: names[key.app])
      }
      return shown.map { key, count in
        (
          labels: [
            (name: "app", value: names[key.app] ?? Self.other),
            (name: "environment", value: Self.environments[Int(key.environment)]),
            (name: "version", value: String(key.version)),
            (name: "type", value: Self.types[Int(key.type)]),
            (name: "outcome", value: Self.outcomes[Int(key.outcome)]),
          ], count: count
        )
      }
    }
    return samples.sorted { one, two in
      one.labels.map(\.value).lexicographicallyPrecedes(two.labels.map(\.value))
    }
  }
}
