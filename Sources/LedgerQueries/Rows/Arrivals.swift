import JournalStore
public import LedgerEngine
import Synchronization

/// What came over HTTP and left no trace in the journal, counted by hour since the start:
/// deliveries that came again, refusals, and what had to be put off.
public final class Arrivals: Sendable {
  public enum Outcome: String, Sendable, CaseIterable {
    case duplicate, refused, unavailable
  }

  struct Key: Hashable {
    /// The beginning of the hour, milliseconds since 1970.
    let hour: Int64
    let outcome: Outcome
    /// Nil of what nobody vouches for: it says nothing that could be believed.
    var environment: String?
    var bundleId: String?
    var notificationType: String?
  }

  /// Milliseconds since 1970.
  public let startedAt: Int64
  private let counts = Mutex<[Key: Int64]>([:])
  /// Hours times types of our own apps; past it the eldest hour goes.
  private static let maximumKeys = 10_000

  public init(startedAt: Int64) { self.startedAt = startedAt }

  public func note(_ outcome: Outcome, at now: Int64) {
    add(Key(hour: now / JournalReader.hour * JournalReader.hour, outcome: outcome))
  }

  /// As `note(_:at:)`, of a notification that was proven.
  public func note(_ outcome: Outcome, _ received: Receiver.Received, at now: Int64) {
    guard case .event(let event) = received.submission else { return note(outcome, at: now) }
    add(
      Key(
        hour: now / JournalReader.hour * JournalReader.hour, outcome: outcome,
        environment: event.environment, bundleId: event.bundleId,
        notificationType: event.notificationType))
  }

  private func add(_ key: Key) {
    counts.withLock { counts in
      if counts[key] == nil, counts.count >= Self.maximumKeys {
        let eldest = counts.keys.map(\.hour).min()
        counts = counts.filter { $0.key.hour != eldest }
      }
      counts[key, default: 0] += 1
    }
  }

  func counts(since time: Int64) -> [Key: Int64] {
    counts.withLock { $0.filter { $0.key.hour >= time } }
  }
}
