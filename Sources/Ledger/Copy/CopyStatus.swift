public import Platform
public import Store
public import StrictJSON
import Synchronization

/// How a copy stands to its shared journal, for all threads.
public final class CopyStatus: Sendable {
  private struct State {
    /// When the copy last had everything, nanoseconds of the monotonic clock; nil if never.
    var wholeAt: Int64?
    var failure: LedgerError?
    var faults = CopyFaults.none
    /// The shared journal's clock minus the monotonic one, milliseconds; nil if it is not known.
    var clock: Int64?
    var isAhead = false
  }

  private let state = Mutex(State())
  private let startedAt = Clock.monotonicNanoseconds()
  /// Commits that had to be tried again, and commits of which the outcome was not known.
  public let retries = Counter()
  public let unknowns = Counter()
  /// Shared journals that had forgotten something, found since the start.
  public let regressions = Counter()

  /// Milliseconds after which a copy that did not see the shared journal is no longer ready.
  static let readyMilliseconds: Int64 = 60_000

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

  /// The shared journal could not be used or followed. Logged once until it can be, or fails in
  /// another way.
  func record(_ failure: LedgerError) {
    let isNew = state.withLock { state in
      defer { state.failure = failure }
      return state.failure != failure
    }
    guard isNew else { return StoreErrors.count(.sharedJournal) }
    StoreErrors.record(.sharedJournal, "shared_journal_unavailable", failure)
  }

  /// The shared journal's clock, milliseconds since 1970; nil if it is not known.
  public var serverTime: Int64? { state.withLock { $0.clock }.map { $0 + Self.monotonic } }

  private static var monotonic: Int64 { Clock.monotonicNanoseconds() / 1_000_000 }

  /// The shared journal's clock was read. Logged once while this machine's is ahead of it.
  ///
  /// - Returns: the latest receive time that may be appended.
  func record(clock: Int64?) -> Int64 {
    guard let clock else { return .max }
    let ahead = Clock.now() - clock
    let isAhead = ahead > Ledger.clockTolerance
    let isNew = state.withLock { state in
      defer { (state.clock, state.isAhead) = (clock - Self.monotonic, isAhead) }
      return isAhead && !state.isAhead
    }
    if isNew {
      Log.write(
        .warning, "clock_ahead",
        [
          ("seconds", .integer(ahead / 1000)),
          ("hint", .string("events get the time of the shared journal's server")),
          ("next", .string("set this machine's clock, or the server's")),
        ])
    }
    return isAhead ? clock : .max
  }

  /// Milliseconds since the copy last had everything, or since the start.
  public var millisecondsBehind: Int64 {
    let wholeAt = state.withLock { $0.wholeAt } ?? startedAt
    return (Clock.monotonicNanoseconds() - wholeAt) / 1_000_000
  }

  /// Why the shared journal cannot be used; nil while it can.
  public var failure: LedgerError? { state.withLock { $0.failure } }

  /// Whether notifications should be sent here: the copy has had everything within the last minute,
  /// and nothing keeps it from following that does not pass by itself.
  public var isReady: Bool {
    let (isKnown, failure) = state.withLock { ($0.wholeAt != nil, $0.failure) }
    let passes = [nil, .sharedNotNow, .sharedUnknown].contains(failure?.code)
    return isKnown && passes && millisecondsBehind < Self.readyMilliseconds
  }

  /// What was followed and is not taken for what it says.
  public var faults: CopyFaults { state.withLock { $0.faults } }

  /// Logs what is new.
  func record(_ faults: CopyFaults) {
    let before = state.withLock { state in
      defer { state.faults = faults }
      return state.faults
    }
    guard faults != before, faults != .none else { return }
    Log.write(.error, "shared_journal_faults", CopyFaults.object.members(of: faults))
  }
}

extension CopyFaults {
  /// What an operator does about them.
  public static let next =
    "another daemon wrote what this one does not believe: `subledger verify` names the events; "
    + "find that daemon, and take the rights of its role away"

  /// For the log, `/readyz` and commands.
  public static let object = JSONObject<CopyFaults>([
    JSONMember(
      "broken_events",
      .integer(
        "Events whose body is not what its hash says, or is a statement that could not be made "
          + "here.")
    ) {
      $0.brokenEvents
    },
    JSONMember(
      "unproven_events", .integer("Events that are not proven, and fold into nothing.")
    ) { $0.unprovenEvents },
    JSONMember("skipped_notes", .integer("Other writes that could not be applied.")) {
      $0.skippedNotes
    },
    JSONMember("next", .text("What to do about them.")) { _ in next },
  ])
}
