public import JournalStore
public import Observability
import Platform
import StrictJSON
import Synchronization

/// Judges held evidence by this program's fold, in turns that let notifications pass, until all is
/// judged. On the writer's thread.
///
/// Another fold decided what is held in a journal that it wrote. No rows of this fold become live
/// before that is judged: the journal alone would not give them.
///
/// On a shared journal the daemon that has the duty journals what is new. Every daemon judges what
/// its own copy holds, because an older program would follow no note that says so. One that finds
/// something new and has not the duty waits: the holder's events reach it, or the duty does once
/// the holder has judged all. So the one that is upgraded last finds what older ones held since.
struct HeldJudging {
  /// Nanoseconds after which a turn ends.
  private static let turn: Int64 = 20_000_000
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
  var millisecondsUntilDue: Int32 { journal.isJudged ? -1 : isWaiting ? Self.pause : 0 }

  /// Judges for some milliseconds.
  ///
  /// - Parameter journalNews: journals and folds what is new; returns how many pieces that was.
  /// - Throws: what SQLite reports, and what `journalNews` throws.
  mutating func perform(
    journalNews: (Journal.Judged) throws(StoreError) -> Int
  ) throws(StoreError) {
    guard !journal.isJudged else { return }
    // After an error too.
    isWaiting = true
    // A copy that lacks something would miss what is held there.
    guard ledger.copy?.isReady ?? true else { return }
    let began = clock()
    let judged = try journal.judgeNext(untilNews: !ledger.duties.holds(.evidence)) {
      clock() - began < Self.turn
    }
    if judged.hasNews {
      ledger.judging.journaled.add(Int64(try journalNews(judged)))
    } else {
      let isStored = clock() - storedAt >= Self.storing
      try journal.pass(judged, isStored: isStored)
      if isStored { storedAt = clock() }
    }
    ledger.judging.streams.add(Int64(judged.streams))
    isWaiting = judged.endsAtNews
    if journal.isJudged { finish() }
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
  /// Streams that were judged since the start.
  public let streams = Counter()
  /// Pieces of evidence that were journaled by that.
  public let journaled = Counter()

  init() {}

  /// Whether all is judged. Before, no rows of this fold become live.
  public var isComplete: Bool { isFinished.load(ordering: .acquiring) }

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
  /// - Throws: `StoreError.locked` if a daemon holds the folder, `.copyWithoutSharedJournal` if its
  ///   journal is a copy: its daemon does it; else what the journal throws.
  public static func judgeHeld(
    _ folder: DataFolder, now: Int64, progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Int? {
    let reader = try JournalReader.open(folder)
    defer { reader.close() }
    if try reader.isJudged() { return 0 }
    let lock = try folder.lock()
    let journal = try Journal.open(
      folder, lock: lock, now: now, decodingWith: { try? JournaledNotification.foldEvent($0) })
    let result = Result { () throws(StoreError) in try judge(journal, reader, now, progress) }
    try journal.close()
    return try result.get()
  }

  private static func judge(
    _ journal: Journal, _ reader: JournalReader, _ now: Int64, _ progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Int? {
    let total = try reader.unjudgedCount()
    var journaled = 0
    while !journal.isJudged {
      let began = Clock.monotonicNanoseconds()
      let judged = try journal.judgeNext {
        Clock.monotonicNanoseconds() - began < HeldJudging.storing
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
