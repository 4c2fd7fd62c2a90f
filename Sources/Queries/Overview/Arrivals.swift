import AppStore
public import Ledger
public import Store
import Synchronization

/// Counts the notifications that arrived over HTTP and were not journaled, by hour, since this
/// process started: duplicates, refusals, and those answered 503. Thread-safe.
public final class Arrivals: Sendable {
  /// What became of a notification: journaled before, answered 4xx, answered 503.
  enum Counted: String {
    case duplicate, refused, unavailable
  }

  struct Key: Hashable {
    /// The beginning of the hour, milliseconds since 1970.
    let hour: Int64
    let outcome: Counted
    /// This and what follows is nil for a notification that was not proven genuine.
    var environment: Environment?
    var bundleId: String?
    var notificationType: String?
  }

  /// When counting began, milliseconds since 1970.
  let startedAt: Int64
  private let counts = Mutex<[Key: Int64]>([:])
  /// The most counts that are held; past it the oldest hour is removed. Keys are hours times the
  /// types of our own apps.
  private static let maximumKeys = 10_000

  public init(startedAt: Int64) { self.startedAt = startedAt }

  /// Counts a notification; a duplicate under its app and type. One that is now in the journal or
  /// in quarantine is counted from there, and not here.
  ///
  /// - Parameters:
  ///   - received: nil for a notification that was not proven genuine.
  ///   - now: the current time, milliseconds since 1970.
  public func record(
    _ outcome: Outcome, _ received: Receiver.Received?, at now: Int64
  ) {
    let hour = now / JournalReader.hour * JournalReader.hour
    switch outcome {
    case .duplicate, .conflict:
      var key = Key(hour: hour, outcome: .duplicate)
      if case .event(let event)? = received?.submission {
        key.environment = event.environment
        key.bundleId = event.bundleId
        key.notificationType = event.notificationType
      }
      add(key)
    case .refused(.malformed), .refused(.untrusted): add(Key(hour: hour, outcome: .refused))
    case .refused(.unavailable): add(Key(hour: hour, outcome: .unavailable))
    case .accepted, .held, .quarantined, .quarantineFull, .noPurchases, .skipped,
      .refused(.notAdmitted), .refused(.notFound):
      break
    }
  }

  private func add(_ key: Key) {
    counts.withLock { counts in
      if counts[key] == nil, counts.count >= Self.maximumKeys {
        let oldest = counts.keys.map(\.hour).min()
        counts = counts.filter { $0.key.hour != oldest }
      }
      counts[key, default: 0] += 1
    }
  }

  /// The counts of the hours that begin at a time or later, milliseconds since 1970.
  func counts(since time: Int64) -> [Key: Int64] {
    counts.withLock { $0.filter { $0.key.hour >= time } }
  }
}
