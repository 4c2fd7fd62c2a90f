import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// How the worker tells what no event causes: what time alone changes, and what another fold does.
extension DeliveryWorker {
  /// Milliseconds after which nothing can be submitted to the writer any more with an earlier
  /// receive time: more than its proof takes.
  private static let settling: Int64 = 1000
  /// Milliseconds by which the clock may drift before its offset is stored again.
  private static let drift: Int64 = 1000

  /// Takes over what was known of the clock before a restart, as the machine was not started since.
  func openClock(_ files: Files) throws(LedgerError) {
    clock = ClockWatch(offset: try files.store.clockOffset(boot: try boot()))
    try files.store.forgetTold()
  }

  private func boot() throws(LedgerError) -> [UInt8] {
    try Boot.id()
  }

  /// Looks whether the clock was set, and takes over what another process announced.
  func tellTime(_ files: Files) throws(LedgerError) {
    let (before, now) = (clock, Clock.now())
    clock.look(wall: now, sinceBoot: Clock.millisecondsSinceBoot())
    if clock.isStepped != before.isStepped { logClock() }
    if let offset = clock.offset, abs(offset - (storedOffset ?? .max / 2)) > Self.drift {
      try files.store.setClockOffset(offset, boot: try boot())
      storedOffset = offset
    }
    let meter = service.ledger.meter
    if awaited == nil, now - lookedAt >= Self.settling || now < lookedAt {
      awaited = (now, meter.submittedCount)
    }
    guard let (time, submitted) = awaited, meter.answeredCount >= submitted else { return }
    (lookedAt, awaited) = (time, nil)
    do throws(LedgerError) {
      if let count = try files.store.takeAnnouncement(at: now) {
        Log.write(.info, "recalculations_announced", [("customers", .integer(count))])
      }
    } catch {
      guard error.code == .corrupt else { throw error }
      StoreErrors.record(.sinks, "recalculations_not_read", [("error", .string(error.detail))])
    }
  }

  /// The time until which a sink was told everything that is done with an event. Milliseconds since
  /// 1970.
  func clock(at seq: Int64, _ files: Files) throws(LedgerError) -> Int64 {
    (try files.reader.journal.receivedAt(seq) ?? 1) - 1
  }

  private func logClock() {
    guard clock.isStepped else { return Log.write(.info, "clock_agrees") }
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

  /// How far what time alone changes is told now; nil while the clock cannot be trusted, or no rows
  /// of this fold have every event.
  func sweep(_ files: Files, at now: Int64) -> MessageOrder.Sweep? {
    guard !clock.isStepped, files.reader.knowsTurns else { return nil }
    // Looked at once a second, unless the writer is held up: what it has not answered may be older
    // than what is told. Of later moments a copy of a shared journal may lack the event that
    // overtook them.
    let behind = service.ledger.copy?.millisecondsBehind ?? 0
    return MessageOrder.Sweep(through: min(lookedAt, now - behind) - Self.settling, now: now)
  }
}
