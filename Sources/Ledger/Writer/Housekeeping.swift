import Platform
import Store

/// Work that the writer does after it has answered: it writes waiting counts, and fills in the
/// original transaction id of notifications that are older than that column of quarantine.
struct Housekeeping {
  /// Nanoseconds after which counts are written, if no append has written them along with events.
  private static let countDelay: Int64 = 1_000_000_000
  /// The number of different notifications with a count at which counts are written at once.
  private static let countLimit = 1_000
  /// Quarantined notifications that are read at a time, so that a batch waits some milliseconds.
  private static let quarantineBatch = 50

  /// When the oldest unwritten count was made, in nanoseconds of `clock`; nil if there is none.
  private var oldestCountAt: Int64?
  /// The greatest quarantine id that is still to be read; 0 when all were read.
  private var unnamedThrough: Int64
  private let clock: () -> Int64

  /// - Parameter clock: nanoseconds of a clock that never steps.
  /// - Throws: what SQLite reports.
  init(_ journal: Journal, clock: @escaping () -> Int64) throws(LedgerError) {
    // In a copy they have it: `shared-journal init` requires it.
    unnamedThrough = journal.isCopy ? 0 : try journal.unnamedThrough()
    self.clock = clock
  }

  /// Milliseconds after which `perform` should be called even if no job came; negative: never.
  var millisecondsUntilDue: Int32 {
    if unnamedThrough > 0 { return 0 }
    guard let oldestCountAt else { return -1 }
    let left = oldestCountAt + Self.countDelay - clock()
    return Int32(clamping: max(0, left / 1_000_000) + 1)
  }

  /// Does what is due.
  ///
  /// - Parameter copy: writes to the shared journal of a copy.
  /// - Throws: what SQLite reports, and the shared journal.
  mutating func perform(
    _ journal: Journal, _ reader: JournalReader, _ copy: CopyWriter?
  ) throws(LedgerError) {
    if unnamedThrough > 0 { try nameQuarantined(journal, reader) }
    guard journal.waitingCounts > 0 else {
      oldestCountAt = nil
      return
    }
    let now = clock()
    let oldest = oldestCountAt ?? now
    oldestCountAt = oldest
    guard journal.waitingCounts >= Self.countLimit || now - oldest >= Self.countDelay
    else { return }
    // If the write fails, the next attempt waits for the whole delay.
    oldestCountAt = now
    try writeCounts(journal, copy)
    oldestCountAt = nil
  }

  /// Writes the waiting counts.
  ///
  /// - Throws: as `perform`.
  func writeCounts(_ journal: Journal, _ copy: CopyWriter?) throws(LedgerError) {
    guard journal.waitingCounts > 0 else { return }
    guard let copy else { return try journal.writeCounts() }
    _ = try copy.write(by: copy.countDeadline) { (ship) throws(LedgerError) in
      try journal.writeCounts(shipping: ship)
    }
  }

  private mutating func nameQuarantined(
    _ journal: Journal, _ reader: JournalReader
  ) throws(LedgerError) {
    let through = unnamedThrough
    // If this fails, the next start tries it again.
    unnamedThrough = 0
    let items = try reader.quarantined(through: through, limit: Self.quarantineBatch)
    let found = items.compactMap { item in
      QuarantinedStream.of(item).map { (id: item.id, originalTransactionId: $0) }
    }
    let rest = items.last.map { $0.id - 1 } ?? 0
    try journal.setOriginalTransactionIds(found, unnamedThrough: rest)
    unnamedThrough = rest
  }
}
