import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Synchronization

/// Notices that the wall clock was set: nothing that follows from the time alone is told then, as a
/// wrong clock would end everybody's access.
///
/// The reference is CLOCK_BOOTTIME (clock_gettime(2)), which nobody can set and which counts while
/// the machine sleeps. What a clock is corrected by little by little is followed.
struct ClockWatch: Sendable, Equatable {
  /// Wall clock minus boot time when they were last right, milliseconds; nil before the first look.
  private(set) var offset: Int64?
  private(set) var isStepped = false

  /// Milliseconds by which the clock may differ from one look to the next.
  static let tolerance: Int64 = 300_000

  /// - Parameter offset: as it was stored during the same boot; nil if it was not.
  init(offset: Int64? = nil) { self.offset = offset }

  /// Compares the clocks. Milliseconds since 1970, and since the boot.
  ///
  /// - Parameter ahead: how far the wall clock is ahead of the shared journal's, which is compared
  ///   instead; nil without one.
  mutating func look(wall: Int64, sinceBoot: Int64, ahead: Int64? = nil) {
    let current = wall - sinceBoot
    isStepped = abs(ahead ?? (current - (offset ?? current))) > Self.tolerance
    if !isStepped { offset = current }
  }

  /// Looks at the clocks of now.
  ///
  /// - Returns: whether the wall clock may be believed.
  mutating func look(_ ledger: Ledger, at now: Int64) -> Bool {
    look(
      wall: now, sinceBoot: Clock.millisecondsSinceBoot(),
      ahead: ledger.copy?.serverTime.map { now - $0 })
    return !isStepped
  }

  /// Takes the wall clock for right, as an operator says that it is.
  mutating func accept(wall: Int64, sinceBoot: Int64) {
    (offset, isStepped) = (wall - sinceBoot, false)
  }
}

/// The time until which everything that was received is in the rows, but for what a copy of a
/// shared journal lacks: what follows from the time alone is told through it.
struct SettledTime {
  private var time: Int64 = 0
  /// A time, and how many notifications had been submitted by then. It is looked at for this time
  /// once all of them are answered.
  private var awaited: (time: Int64, submitted: [Int64])?

  /// Milliseconds after which nothing can be submitted to the writer any more with an earlier
  /// receive time: more than its proof takes.
  static let settling: Int64 = 1000

  /// Looks once a second, unless the writer is held up: what it has not answered may be older than
  /// what is told.
  ///
  /// - Returns: whether a later time is settled.
  mutating func look(_ ledger: Ledger, at now: Int64) -> Bool {
    if awaited == nil, now - time >= Self.settling || now < time {
      awaited = (now, ledger.meter.submitted)
    }
    guard let (time, submitted) = awaited, ledger.meter.hasAnswered(submitted) else { return false }
    (self.time, awaited) = (time, nil)
    return true
  }

  /// Milliseconds since 1970. Of later moments a copy of a shared journal may lack the event that
  /// overtook them.
  func through(_ ledger: Ledger, at now: Int64) -> Int64 {
    min(time, now - (ledger.copy?.millisecondsBehind ?? 0)) - Self.settling
  }
}

/// Until when the worker tells what no event causes: what time alone changes, and what another fold
/// does.
struct DeliveryClock {
  private let ledger: Ledger
  private let customers: CustomerFollower
  private let boot: [UInt8]
  private var isStepped = false
  /// What is stored of it.
  private var storedOffset: Int64?
  private var settled = SettledTime()
  /// Since when rows lack events, nanoseconds of the monotonic clock; nil: they do not.
  private var lackingSince: Int64?

  /// How long events wait for rows at most, nanoseconds: half a minute, in which millions of events
  /// are folded.
  private static let longestWait: Int64 = 30_000_000_000

  /// Milliseconds by which the clock may drift before its offset is stored again.
  private static let drift: Int64 = 1000

  init(
    _ ledger: Ledger, _ customers: CustomerFollower, _ store: SinkStore
  ) throws(LedgerError) {
    (self.ledger, self.customers) = (ledger, customers)
    boot = try Boot.id()
    try store.forgetTold()
  }

  /// Looks whether the clock was set, and takes over what another process announced.
  mutating func look(_ store: SinkStore) throws(LedgerError) {
    let now = Clock.now()
    let (isTrusted, offset) = customers.clock.withLock { ($0.look(ledger, at: now), $0.offset) }
    if isStepped == isTrusted {
      isStepped = !isTrusted
      log()
    }
    if let offset, abs(offset - (storedOffset ?? .max / 2)) > Self.drift {
      try store.setClockOffset(offset, boot: boot)
      storedOffset = offset
    }
    guard settled.look(ledger, at: now) else { return }
    do throws(LedgerError) {
      if let count = try store.takeAnnouncement(at: now) {
        Log.write(.info, "recalculations_announced", [("customers", .integer(count))])
      }
    } catch {
      guard error.code == .corrupt else { throw error }
      StoreErrors.record(.sinks, "recalculations_not_read", error)
    }
  }

  /// An operator saw that the clock is right.
  func accept(at now: Int64) {
    customers.clock.withLock { $0.accept(wall: now, sinceBoot: Clock.millisecondsSinceBoot()) }
  }

  /// What is wrong with the clock; nil if nothing is known to be.
  func fault(at now: Int64) -> String? {
    if isStepped { return "the clock was set: nothing is told that follows from the time alone" }
    let ahead = ledger.receivedAhead(of: now)
    return ahead > 0 ? "the newest receive time is \(ahead / 1000) s ahead of this clock" : nil
  }

  /// Whether events wait for rows that are being caught up, as after a restart: what time alone
  /// changed before an event is told before it (promise 12). A build may take long, and a full disk
  /// longer: events do not wait for them.
  mutating func waitsForRows() -> Bool {
    guard ledger.liveProjection.state == .catchingUp else {
      lackingSince = nil
      return false
    }
    let now = Clock.monotonicNanoseconds()
    let since = lackingSince ?? now
    lackingSince = since
    return now - since < Self.longestWait
  }

  /// How far what time alone changes is told now; nil while the clock cannot be trusted, or no rows
  /// of this fold have every event.
  func sweep(_ reader: LedgerReader, at now: Int64) -> MessageOrder.Sweep? {
    guard !isStepped, reader.knowsTurns else { return nil }
    return MessageOrder.Sweep(through: settled.through(ledger, at: now), now: now)
  }

  private func log() {
    guard isStepped else { return Log.write(.info, "clock_agrees") }
    Log.write(
      .warning, "clock_stepped",
      [
        (
          "hint",
          .string("nothing is told that follows from the time alone until the clock is as before")
        ),
        ("next", .string("if it is right now: subledger sink resume NAME")),
      ])
  }
}
