import AppStore
import Ledger
import Platform
import Store

/// The streams that have later events than a projection, folded by this program: with them a list
/// from a projection that does not follow the journal lacks nothing.
final class LaterStreams {
  /// By key; also streams that the projection has caught up with meanwhile.
  private(set) var streams: [StreamKey: FoldedStream] = [:]
  private var generation: Int?
  /// The last seq that was looked at.
  private var through: Int64 = 0

  /// Events that a projection may lack: about half a second of folding, once.
  static let maximumLag: Int64 = 20_000

  func removeAll() {
    guard generation != nil else { return }
    (generation, through) = (nil, 0)
    streams.removeAll()
  }

  /// Folds the streams that have events after those that were looked at before.
  ///
  /// - Parameters:
  ///   - seq: the last seq in the projection.
  ///   - generation: of the projection; with another one everything is folded again.
  /// - Returns: false if the projection lacks too many events for that.
  /// - Throws: what SQLite reports about the journal.
  func update(
    _ journal: JournalReader, after seq: Int64, generation: Int
  ) throws(LedgerError) -> Bool {
    if self.generation != generation { removeAll() }
    self.generation = generation
    let head = try journal.head().seq
    guard head - seq <= Self.maximumLag else { return false }
    for key in try journal.streams(withEventsAfter: max(seq, through)) {
      streams[key] = try ProjectionFolder.refolded(key, through: .max, journal)
    }
    through = max(through, head)
    return true
  }
}
