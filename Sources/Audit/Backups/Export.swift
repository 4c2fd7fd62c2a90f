import AppStore
import Ledger
public import Platform
public import Store
import StrictJSON

/// Exports the journal as NDJSON: a line for each event, in the order of `seq`, as `ingest` reads
/// it.
///
///     {"seq":7,"received_at_ms":1767225600000,"hash":"<64 digits>","body":{"signedPayload":"…"}}
///
/// An event that was not posted also has the member `arrival`. Evidence has a body of its own form
/// (`EvidenceLine`), and events of one receipt that follow each other share a line (`ReceiptLine`).
/// Held evidence comes last, without seq and hash, and with `"held":true`.
///
/// The body is exactly what was proven, so that anyone can prove it again. V1 is the exception: the
/// secret that made it authentic is not stored. Statements of the owner are another: the names of
/// accounts are not exported. `ingest` refuses lines of both, and a journal with such events is
/// moved with `backup`.
public enum Export {
  /// Writes all events, or one customer's.
  ///
  /// - Parameters:
  ///   - originalTransactionId: nil for all events.
  ///   - write: called with batches of whole lines.
  ///   - progress: called now and then with the events written and the head; false stops.
  /// - Returns: how many events were written; nil if it was stopped.
  /// - Throws: `LedgerError.corrupt` if a body cannot be recovered or an event is missing, other
  ///   errors of the journal, and what `write` throws.
  public static func run(
    _ folder: DataFolder, only originalTransactionId: String? = nil,
    write: ([UInt8]) throws(LedgerError) -> Void, progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Int64? {
    let journal = try JournalReader.open(folder)
    if let originalTransactionId {
      return try one(originalTransactionId, journal, write)
    }
    let head = try journal.head().seq
    var last: Int64 = 0
    while last < head {
      let batch = try journal.events(after: last, limit: batchSize).filter { $0.seq <= head }
      let whole = zip((last + 1)..., batch).prefix { $0 == $1.seq }.count
      guard let end = batch.last, whole == batch.count else {
        throw .corrupt("an event behind seq \(last + Int64(whole)) is missing")
      }
      let arrivals = try journal.arrivals(in: last + 1...end.seq)
      try writeLines(batch, arrivals, write)
      last = end.seq
      guard progress(last, head) else { return nil }
    }
    try held(journal, of: nil, write)
    return head
  }

  private static let batchSize = 500

  private static func one(
    _ id: String, _ journal: JournalReader, _ write: ([UInt8]) throws(LedgerError) -> Void
  ) throws(LedgerError) -> Int64 {
    var events: [StoredEvent] = []
    var arrivals: [Int64: EventArrival] = [:]
    for key in try journal.streams(withOriginalTransactionId: id) {
      events += try journal.events(of: key)
      arrivals.merge(try journal.arrivals(of: key)) { $1 }
    }
    events.sort { $0.seq < $1.seq }
    try writeLines(events, arrivals, write)
    try held(journal, of: id, write)
    return Int64(events.count)
  }

  private static func held(
    _ journal: JournalReader, of id: String?, _ write: ([UInt8]) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    var last: Int64 = 0
    while true {
      let batch = try journal.heldEvidence(after: last, limit: batchSize)
      guard let end = batch.last else { return }
      last = end.id
      try write(
        batch.filter { id == nil || $0.stream?.originalTransactionId == id }.flatMap { line($0) })
    }
  }

  private static func line(_ held: HeldEvidence) -> [UInt8] {
    guard let stream = held.stream else { return [] }
    let body =
      held.source.form == .receipt
      ? ReceiptLine.body(
        held.body, stream.originalTransactionId, stream.bundleId, stream.environment
      ).bytes
      : EventLine.evidence(
        held.body, held.source, stream.bundleId, stream.environment)
    let arrival = held.arrival.rawValue
    let members = "\"received_at_ms\":\(held.receivedAt),\"arrival\":\"\(arrival)\",\"held\":true"
    return Array("{\(members),\"body\":".utf8)
      + body + Array("}\n".utf8)
  }

  /// Writes events, those of one receipt that follow each other as one line. Each line is written
  /// for itself: one of a receipt is long.
  private static func writeLines(
    _ events: [StoredEvent], _ arrivals: [Int64: EventArrival],
    _ write: ([UInt8]) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    var lines: [UInt8] = []
    var rest = events[...]
    while let first = rest.first {
      var next = first.seq
      let run = rest.prefix { event in
        defer { next += 1 }
        return event.seq == next && event.source.form == .receipt
          && event.bodySHA256 == first.bodySHA256
          && event.receivedAt == first.receivedAt && arrivals[event.seq] == arrivals[first.seq]
      }
      lines += EventLine.of(
        first, arrivals[first.seq], run.count > 1 ? Array(run) : [first])
      rest = rest.dropFirst(max(1, run.count))
      guard lines.count > 1 << 20 || rest.isEmpty else { continue }
      try write(lines)
      lines.removeAll(keepingCapacity: true)
    }
  }
}
