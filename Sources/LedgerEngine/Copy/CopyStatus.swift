public import JournalStore
public import Observability
import Platform
import StrictJSON
import Synchronization

/// How a copy stands to its shared journal, for all threads.
public final class CopyStatus: Sendable {
  private struct State {
    /// When the copy last had everything, nanoseconds of the monotonic clock; nil if never.
    var wholeAt: Int64?
    var failure: SharedJournalError?
  }

  private let state = Mutex(State())
  private let startedAt = Clock.monotonicNanoseconds()
  /// Commits that had to be tried again, and commits of which the outcome was not known.
  public let retries = Counter()
  public let unknowns = Counter()
  /// Shared journals that had forgotten something, found since the start.
  public let regressions = Counter()

  /// Milliseconds after which a copy that did not see the shared journal is no longer ready.
  public static let readyMilliseconds: Int64 = 60_000

  init() {}

  /// The copy had everything that the shared journal had at this time.
  func recordWhole() {
    let now = Clock.monotonicNanoseconds()
    let failure = state.withLock { state in
      defer { (state.wholeAt, state.failure) = (now, nil) }
      return state.failure
    }
    if failure != nil { Log.write(.info, "shared_journal_back") }
  }

  /// The shared journal could not be used. Logged once until it can be.
  func record(_ failure: SharedJournalError) {
    let isNew = state.withLock { state in
      defer { state.failure = failure }
      return state.failure != failure
    }
    guard isNew else { return }
    Log.write(
      .error, "shared_journal_unavailable", [("error", .string(failure.description))])
  }

  /// Milliseconds since the copy last had everything, or since the start.
  public var millisecondsBehind: Int64 {
    let wholeAt = state.withLock { $0.wholeAt } ?? startedAt
    return (Clock.monotonicNanoseconds() - wholeAt) / 1_000_000
  }

  /// Why the shared journal cannot be used; nil while it can.
  public var failure: SharedJournalError? { state.withLock { $0.failure } }

  /// Whether notifications should be sent here: the copy has had everything within the last minute.
  public var isReady: Bool {
    state.withLock { $0.wholeAt != nil } && millisecondsBehind < Self.readyMilliseconds
  }
}
