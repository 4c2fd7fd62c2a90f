import JournalStore
import Platform

/// What the writer does once answers are out, and nobody waits for: it writes counts of what came
/// again, and reads whom quarantined notifications are about that are older than that column.
struct Housekeeping {
  /// Nanoseconds that counts wait for an append to go along with.
  private static let patience: Int64 = 1_000_000_000
  /// Different notifications with a count that are not let wait at all.
  private static let countsAtOnce = 1_000
  /// Quarantined notifications that are read in one go, so that a batch waits some milliseconds.
  private static let pieceCount = 50

  /// When the oldest count that waits came, by the clock that never steps; nil where none waits.
  private var since: Int64?
  /// How far quarantine is still to be read, 0 when all of it was.
  private var unnamedThrough: Int64
  private let clock: () -> Int64

  /// - Parameter clock: nanoseconds of a clock that never steps.
  init(_ journal: Journal, clock: @escaping () -> Int64) throws(StoreError) {
    unnamedThrough = try journal.unnamedThrough()
    self.clock = clock
  }

  /// Milliseconds after which `perform` wants to be called though no job came; negative: never.
  var patience: Int32 {
    if unnamedThrough > 0 { return 0 }
    guard let since else { return -1 }
    let left = since + Self.patience - clock()
    return Int32(clamping: max(0, left / 1_000_000) + 1)
  }

  mutating func perform(_ journal: Journal, _ reader: JournalReader) throws(StoreError) {
    if unnamedThrough > 0 { try name(journal, reader) }
    guard journal.waitingRedeliveries > 0 else {
      since = nil
      return
    }
    let now = clock()
    let begun = since ?? now
    since = begun
    guard journal.waitingRedeliveries >= Self.countsAtOnce || now - begun >= Self.patience else {
      return
    }
    // Whatever comes of it: not again at once.
    since = now
    try journal.writeRedeliveries()
    since = nil
  }

  private mutating func name(_ journal: Journal, _ reader: JournalReader) throws(StoreError) {
    let through = unnamedThrough
    // What goes wrong is tried again at the next start.
    unnamedThrough = 0
    let piece = try reader.quarantined(through: through, limit: Self.pieceCount)
    let found = piece.compactMap { item in
      QuarantinedStream.of(item).map { (id: item.id, originalTransactionId: $0) }
    }
    let rest = piece.last.map { $0.id - 1 } ?? 0
    try journal.name(found, unnamedThrough: rest)
    unnamedThrough = rest
  }
}
