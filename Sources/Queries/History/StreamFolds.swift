import AppStore
import Entitlements
import Ledger
import Platform
import Store

/// Streams that were folded through one of their events, so that the next event of one costs one
/// step of the fold and not the decoding of all events before it.
final class StreamFolds {
  /// `StreamState.encoded()`, compressed: a twentieth of the state's size in memory.
  private struct Folded {
    let state: [UInt8]
    /// The last event that was folded in.
    let lastSeq: Int64?
    /// The event through which the stream is folded, whether or not that could be.
    let seq: Int64
  }

  /// What was used since half of the capacity was full last, and what was used before that.
  private var (recent, earlier): ([StreamKey: Folded], [StreamKey: Folded]) = ([:], [:])
  /// Bytes of `recent`.
  private var size = 0
  private let capacity: Int
  private let packer = StatePacker()

  /// Bytes of an entry without its state: names, and places in tables.
  private static let overhead = 300

  /// - Parameter capacity: bytes that are kept at most.
  init(capacity: Int) { self.capacity = capacity }

  /// A stream's rows from its events before a seq, and from those through it.
  ///
  /// An event that cannot be folded is left out, as in a projection (promise 9).
  ///
  /// - Parameter time: from which on the rows are valid, milliseconds since 1970.
  /// - Throws: what SQLite reports.
  func rows(
    around seq: Int64, of key: StreamKey, since time: Int64, _ journal: JournalReader
  ) throws(LedgerError) -> (before: EntitlementRow, after: EntitlementRow) {
    let known = known(key, through: seq - 1)
    var state = known?.state ?? StreamState()
    var last: FoldEvent?
    try journal.forEachPayload(of: key, after: known?.seq ?? 0, through: seq) { payload in
      guard let event = try? JournaledNotification.foldEvent(payload) else { return }
      if payload.seq == seq { last = event } else { state.evolve(event) }
    }
    let before = EntitlementRow(state, by: journal.fold, at: time...Int64.max)
    if let last { state.evolve(last) }
    let (after, bytes) = state.rowAndEncoding(by: journal.fold, at: time...Int64.max)
    keep(Folded(state: packer.pack(bytes), lastSeq: state.lastEvent?.seq, seq: seq), key)
    return (before, after)
  }

  /// A stream's row from its events through a seq, which is one of them, valid from a time on.
  ///
  /// - Throws: what SQLite reports.
  func row(
    through seq: Int64, of key: StreamKey, since time: Int64, _ journal: JournalReader
  ) throws(LedgerError) -> EntitlementRow {
    if let known = known(key, through: seq), known.seq == seq {
      return EntitlementRow(known.state, by: journal.fold, at: time...Int64.max)
    }
    return try rows(around: seq, of: key, since: time, journal).after
  }

  /// A stream as it was folded, unless that is through a later event: nil means from its start.
  private func known(
    _ key: StreamKey, through seq: Int64
  ) -> (state: StreamState, seq: Int64)? {
    guard let folded = recent[key] ?? earlier[key], folded.seq <= seq,
      let bytes = packer.unpack(folded.state),
      let state = StreamState(decoding: bytes, lastSeq: folded.lastSeq)
    else { return nil }
    return (state, folded.seq)
  }

  private static func size(_ folded: Folded) -> Int { folded.state.count + overhead }

  private func keep(_ folded: Folded, _ key: StreamKey) {
    if let old = recent.updateValue(folded, forKey: key) { size -= Self.size(old) }
    size += Self.size(folded)
    guard size >= capacity / 2 else { return }
    (earlier, recent, size) = (recent, [:], 0)
  }
}
