public import Platform
public import Store
import StrictJSON
import Synchronization

/// Judges held evidence in turns that let notifications pass, on the writer's thread: of customers
/// for which an append had no time, and once by this program's fold, until all is judged.
///
/// Another fold decided what is held in a journal that it wrote. No rows of this fold become live
/// before that is judged: the journal alone would not give them.
///
/// On a shared journal the daemon that has the duty journals what is new. Every daemon judges what
/// its own copy holds, because an older program would follow no note that says so. One that finds
/// something new and has not the duty waits: the holder's events reach it, or the duty does once
/// the holder has judged all. So the one that is upgraded last finds what older ones held since.
struct HeldJudgingTurns {
  /// Nanoseconds after which a turn ends.
  private static let turn: Int64 = 10_000_000
  /// Nanoseconds of judging that a kill repeats at most.
  fileprivate static let storing: Int64 = 1_000_000_000
  /// Milliseconds between two looks at what cannot be judged or journaled now.
  private static let pause: Int32 = 1_000

  private let ledger: Ledger
  private let journal: Journal
  /// Nanoseconds of a clock that never steps.
  private let clock: () -> Int64
  private var isWaiting = false
  private var storedAt: Int64
  private let beganAt: Int64

  init(_ ledger: Ledger, _ journal: Journal, clock: @escaping () -> Int64) {
    (self.ledger, self.journal, self.clock) = (ledger, journal, clock)
    (beganAt, storedAt) = (clock(), clock())
    if journal.isJudged {
      ledger.judging.finish()
    } else if journal.heldCount > 0 {
      Log.write(.info, "held_judging_began", [("held", .integer(journal.heldCount))])
    }
  }

  /// Milliseconds after which the next turn is due; negative: never.
  var millisecondsUntilDue: Int32 { isDone ? -1 : isWaiting ? Self.pause : 0 }

  private var isDone: Bool { journal.isJudged && journal.waitingCount == 0 }

  /// Steps that an append takes in any case, so that nobody with little held ever waits.
  private static let minimumSteps = 100

  /// Whether a turn that begins now goes on, asked after each step.
  ///
  /// - Parameter steps: how many it takes in any case.
  private func turn(of steps: Int = 0) -> () -> Bool {
    let (clock, began) = (clock, clock())
    var left = steps
    return {
      left -= 1
      return left > 0 || clock() - began < Self.turn
    }
  }

  /// Whether an append that begins now goes on with judging.
  func turnOfAppend() -> () -> Bool { turn(of: Self.minimumSteps) }

  /// Judges for some milliseconds.
  ///
  /// - Parameter journalNews: journals and folds what is new; returns how many pieces that was.
  /// - Throws: what SQLite reports, and what `journalNews` throws.
  mutating func perform(
    journalNews: (Journal.Judged) throws(LedgerError) -> Int
  ) throws(LedgerError) {
    guard !isDone else { return }
    // After an error too.
    isWaiting = true
    // A copy that lacks something would miss what is held there.
    guard ledger.copy?.isReady ?? true else { return }
    let judged = try journal.judgeNext(
      untilNews: !ledger.duties.leases(.evidence), while: turn())
    if judged.hasNews {
      let count = Int64(try journalNews(judged))
      if judged.streams > 0 { ledger.judging.journaled.add(count) }
    } else {
      let isStored = clock() - storedAt >= Self.storing
      try journal.pass(judged, isStored: isStored)
      if isStored { storedAt = clock() }
    }
    ledger.judging.streams.add(Int64(judged.streams))
    ledger.judging.setWaiting(journal.waitingCount)
    isWaiting = judged.endsAtNews
    if journal.isJudged, !ledger.judging.isComplete { finish() }
  }

  private func finish() {
    ledger.judging.finish()
    ledger.liveProjection.changed.signal()
    guard ledger.judging.streams.value > 0 else { return }
    Log.write(
      .info, "held_judging_ended",
      [
        ("streams", .integer(ledger.judging.streams.value)),
        ("journaled", .integer(ledger.judging.journaled.value)),
        ("milliseconds", .integer((clock() - beganAt) / 1_000_000)),
      ])
  }
}

/// How far held evidence is judged by this program's fold, for all threads.
public final class JudgingStatus: Sendable {
  private let isFinished = Atomic<Bool>(false)
  private let waiting = Atomic<Int64>(0)
  /// Customers that wait because an append had no time to judge what is held about them.
  public var waitingCount: Int64 { waiting.load(ordering: .relaxed) }
  /// Streams that were judged since the start.
  public let streams = Counter()
  /// Pieces of evidence that were journaled by that.
  public let journaled = Counter()

  init() {}

  /// Whether all is judged. Before, no rows of this fold become live.
  public var isComplete: Bool { isFinished.load(ordering: .acquiring) }

  func setWaiting(_ count: Int) { waiting.store(Int64(count), ordering: .relaxed) }

  func finish() { isFinished.store(true, ordering: .releasing) }
}

extension Rebuild {
  /// Judges held evidence by this program's fold, and journals what is new, while no daemon holds
  /// the folder. Does nothing where all is judged.
  ///
  /// - Parameters:
  ///   - now: our clock, milliseconds since 1970 UTC.
  ///   - progress: called about once a second with the pieces judged and all pieces; false stops.
  /// - Returns: how many pieces were journaled; nil if it was stopped: the next call goes on there.
  /// - Throws: `LedgerError.locked` if a daemon holds the folder, `.copyWithoutSharedJournal` if
  ///   its journal is a copy: its daemon does it; else what the journal throws.
  public static func judgeHeld(
    _ folder: DataFolder, now: Int64, progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Int? {
    let reader = try JournalReader.open(folder)
    defer { reader.close() }
    if try reader.isJudged() { return 0 }
    let lock = try folder.lock()
    let journal = try Journal.open(
      folder, lock: lock, now: now, decodingWith: { try? JournaledNotification.foldEvent($0) })
    let result = Result { () throws(LedgerError) in try judge(journal, reader, now, progress) }
    try journal.close()
    return try result.get()
  }

  private static func judge(
    _ journal: Journal, _ reader: JournalReader, _ now: Int64, _ progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Int? {
    let total = try reader.unjudgedCount()
    var journaled = 0
    while !journal.isJudged {
      let began = Clock.monotonicNanoseconds()
      let judged = try journal.judgeNext {
        Clock.monotonicNanoseconds() - began < HeldJudgingTurns.storing
      }
      if judged.hasNews {
        journaled += try journal.journalNews(judged, at: now)
      } else {
        try journal.pass(judged, isStored: true)
      }
      try journal.checkpointIfNeeded()
      guard progress(total - (try reader.unjudgedCount()), total) else { break }
    }
    return journal.isJudged ? journaled : nil
  }
}
