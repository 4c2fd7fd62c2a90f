import AppStore
import Entitlements
import JournalStore
import LedgerEngine

/// Streams that were folded through one of their events, so that the next event of one costs one
/// step of the fold and one evaluation.
final class StreamFolds {
  private struct Folded {
    var state = StreamState()
    var row = EntitlementRow()
    var seq: Int64 = 0
  }

  private var streams: [StreamKey: Folded] = [:]

  /// A state is about 7 KB; all are forgotten when there are more.
  private static let capacity = 500

  /// A stream's rows from its events before a seq, and from those through it.
  ///
  /// An event that cannot be folded is left out, as in a projection (promise 9).
  ///
  /// - Throws: what SQLite reports.
  func rows(
    around seq: Int64, of key: StreamKey, _ journal: JournalReader
  ) throws(StoreError) -> (before: EntitlementRow, after: EntitlementRow) {
    var folded = streams.removeValue(forKey: key) ?? Folded()
    if folded.seq >= seq { folded = Folded() }
    var last: FoldEvent?
    var isNew = false
    try journal.forEachPayload(of: key, after: folded.seq, through: seq) { payload in
      guard let event = try? JournaledNotification.foldEvent(payload) else { return }
      if payload.seq == seq {
        last = event
      } else {
        folded.state.evolve(event)
        isNew = true
      }
    }
    if isNew { folded.row = EntitlementRow(folded.state) }
    let before = folded.row
    if let last {
      folded.state.evolve(last)
      folded.row = EntitlementRow(folded.state)
    }
    folded.seq = seq
    if streams.count >= Self.capacity { streams.removeAll(keepingCapacity: true) }
    streams[key] = folded
    return (before, folded.row)
  }

  /// A stream's row from its events through a seq, which is one of them.
  ///
  /// - Throws: what SQLite reports.
  func row(
    through seq: Int64, of key: StreamKey, _ journal: JournalReader
  ) throws(StoreError) -> EntitlementRow {
    if let folded = streams[key], folded.seq == seq { return folded.row }
    return try rows(around: seq, of: key, journal).after
  }
}
