import Platform
import Store
import StrictJSON
import Synchronization

/// What one daemon does for all daemons of a shared journal.
public enum Duty: String, Sendable, CaseIterable {
  /// Recovering what Apple sent and was missed, and comparing customers with Apple.
  case recovery
  /// Sending changes to sinks.
  case sinks
  /// Making anchors.
  case anchors
  /// Journaling what is held and is new to this program's fold.
  case evidence
  /// Journaling a changed mapping of products to entitlements.
  case catalog
}

/// The duties of this daemon. One without a shared journal has all of them, always.
///
/// A duty is held by a lease that the duties' thread renews. Whoever acts for a duty asks `leases`
/// before each step that others see: a daemon that froze no longer holds it, by its own clock,
/// before another one can take it.
public final class Duties: Sendable {
  private struct Leased {
    var lease: DutyLease
    /// Nanoseconds of the monotonic clock.
    var until: Int64
  }

  private struct State {
    var leased: [Duty: Leased] = [:]
    /// Positions that are not stored yet.
    var unsaved: [Duty: [UInt8]] = [:]
    /// How many were given, and which of them was stored last.
    var given: [Duty: Int] = [:]
    var stored: [Duty: Int] = [:]
  }

  private let isShared: Bool
  private let state = Mutex(State())
  private let thread = ServiceThread("duties")

  /// Nanoseconds after which a duty is renewed, or tried to be taken.
  private static let renewal: Int64 = 10_000_000_000
  private static let attempt: Int64 = 2_000_000_000
  /// Nanoseconds by which a lease ends earlier here than in the table: clocks run differently.
  private static let margin: Int64 = 5_000_000_000
  /// Milliseconds between two commits of positions: what the next holder repeats at most.
  private static let interval: Int64 = 1_000
  private static let limit: Int64 = 3_000

  /// - Parameter isShared: whether `start` will be called; until a lease is held, nothing is.
  init(isShared: Bool) { self.isShared = isShared }

  /// Whether this daemon may act for a duty now.
  public func leases(_ duty: Duty) -> Bool {
    if !isShared { return true }
    let now = Clock.monotonicNanoseconds()
    return state.withLock { $0.leased[duty].map { now < $0.until } ?? false }
  }

  /// How far the last holder was, when the duty was taken; nil if that is not known, or there is no
  /// shared journal: this daemon's own files say it then.
  public func position(_ duty: Duty) -> [UInt8]? {
    state.withLock { $0.leased[duty]?.lease.position }
  }

  /// Which holding of the duty this is: it changes when the duty was lost and taken again. Nil
  /// while it is not held.
  public func epoch(_ duty: Duty) -> Int64? {
    guard isShared else { return 0 }
    return leases(duty) ? state.withLock { $0.leased[duty]?.lease.epoch } : nil
  }

  /// Stores how far the duty is, within a second.
  public func save(_ position: [UInt8], of duty: Duty) {
    guard isShared else { return }
    state.withLock {
      $0.unsaved[duty] = position
      $0.given[duty, default: 0] += 1
    }
  }

  /// Whether the next holder would go on from the position that was given to `save` last.
  public func isSaved(_ duty: Duty) -> Bool {
    !isShared || state.withLock { $0.given[duty] == $0.stored[duty] }
  }

  /// The duties that this daemon holds now.
  public var leased: [Duty] { Duty.allCases.filter(leases) }

  // MARK: The thread

  /// Starts the thread that takes and renews duties.
  ///
  /// - Parameters:
  ///   - holder: names this daemon among all.
  ///   - isReady: whether this copy has what the shared journal has. A duty is taken only then.
  ///   - isDone: whether there is nothing more to do for a duty, which is let go then.
  ///   - open: makes the table's connection, on the thread.
  /// - Throws: `LedgerError` if the thread cannot be started.
  func start(
    as holder: String, isReady: @escaping @Sendable () -> Bool,
    isDone: @escaping @Sendable (Duty) -> Bool = { _ in false },
    _ open: @escaping @Sendable () -> any DutyTable
  ) throws(LedgerError) {
    try thread.start { self.run(as: holder, isReady, isDone, open()) }
  }

  private func run(
    as holder: String, _ isReady: () -> Bool, _ isDone: (Duty) -> Bool, _ table: any DutyTable
  ) {
    var next: [Duty: Int64] = [:]
    thread.work {
      for duty in Duty.allCases {
        let now = Clock.monotonicNanoseconds()
        if isDone(duty) {
          release(duty, table, by: Deadline(milliseconds: Self.limit))
        } else if now >= next[duty] ?? .min, leases(duty) || isReady() {
          next[duty] = now + (take(duty, holder, table) ? Self.renewal : Self.attempt)
        }
      }
      savePositions(table, by: Deadline(milliseconds: Self.limit))
      return .whenWoken(within: Self.interval)
    }
    // One for all: a server that hangs must not hold up the end.
    let deadline = Deadline(milliseconds: Self.limit)
    savePositions(table, by: deadline)
    for duty in Duty.allCases { release(duty, table, by: deadline) }
  }

  /// Lets a duty go, if it is held.
  private func release(_ duty: Duty, _ table: any DutyTable, by deadline: Deadline) {
    guard let leased = state.withLock({ $0.leased.removeValue(forKey: duty) }) else { return }
    try? table.release(duty.rawValue, leased.lease, by: deadline)
  }

  /// Takes or renews a duty; returns whether it is held.
  private func take(_ duty: Duty, _ holder: String, _ table: any DutyTable) -> Bool {
    let began = Clock.monotonicNanoseconds()
    let lease: DutyLease?
    do throws(LedgerError) {
      lease = try table.take(
        duty.rawValue, for: holder, by: Deadline(milliseconds: Self.limit))
    } catch {
      // The lease ends by itself.
      return false
    }
    let until = began + DutyLease.seconds * 1_000_000_000 - Self.margin
    let before = state.withLock { state in
      let before = state.leased[duty]
      state.leased[duty] = lease.map { Leased(lease: $0, until: until) }
      // What was to be stored is of an earlier holding.
      if let before, before.lease.epoch != lease?.epoch { state.unsaved[duty] = nil }
      return before
    }
    if before?.lease.epoch != lease?.epoch {
      Log.write(
        .info, lease == nil ? "duty_lost" : "duty_taken",
        [("duty", .string(duty.rawValue)), ("holder", .string(holder))])
    }
    return lease != nil
  }

  private func savePositions(_ table: any DutyTable, by deadline: Deadline) {
    let (unsaved, given) = state.withLock { state in
      let unsaved = state.unsaved.filter { state.leased[$0.key] != nil }
      for duty in unsaved.keys { state.unsaved[duty] = nil }
      return (unsaved, state.given)
    }
    for (duty, position) in unsaved {
      guard let lease = state.withLock({ $0.leased[duty]?.lease }) else { continue }
      let saved = try? table.save(position, of: duty.rawValue, lease, by: deadline)
      // Another daemon has it: nothing more may be done.
      if saved == false { state.withLock { $0.leased[duty] = nil } }
      if saved == true { state.withLock { $0.stored[duty] = given[duty] } }
      // What could not be stored is stored later, unless there is something newer by then.
      if saved == nil {
        state.withLock { if $0.unsaved[duty] == nil { $0.unsaved[duty] = position } }
      }
    }
  }

  /// Stores the positions, lets the duties go, and ends the thread.
  func stop() { thread.stop() }
}
