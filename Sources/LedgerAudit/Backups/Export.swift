import Encoding
public import JournalStore
import StrictJSON

/// The journal as NDJSON: a line for each event, in the order of `seq`, which `ingest` takes again.
///
///     {"seq":7,"received_at_ms":1767225600000,"hash":"<64 digits>","body":{"signedPayload":"…"}}
///
/// The body is what was proven, exactly, so that what is exported can be proven again by anyone.
/// V1 is the exception: the secret that made it authentic is nowhere, so a V1 line is refused where
/// it comes back through the door, and such a journal is moved by `backup`.
public enum Export {
  /// Writes all events, or one customer's.
  ///
  /// - Parameters:
  ///   - originalTransactionId: nil for all.
  ///   - write: gets whole lines, in pieces.
  ///   - progress: events written and the head, now and then; false stops.
  /// - Returns: how many events were written; nil where it was stopped.
  /// - Throws: `corrupt` where a body cannot be recovered; what `write` throws.
  public static func run(
    _ folder: DataFolder, only originalTransactionId: String? = nil,
    write: ([UInt8]) throws(StoreError) -> Void, progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Int64? {
    let journal = try JournalReader.open(folder)
    if let originalTransactionId {
      return try one(originalTransactionId, journal, write)
    }
    let head = try journal.head().seq
    var last: Int64 = 0
    while last < head {
      let piece = try journal.events(after: last, limit: pieceCount).filter { $0.seq <= head }
      guard let end = piece.last else { break }
      try write(piece.flatMap(line))
      last = end.seq
      guard progress(last, head) else { return nil }
    }
    return head
  }

  private static let pieceCount = 500

  private static func one(
    _ id: String, _ journal: JournalReader, _ write: ([UInt8]) throws(StoreError) -> Void
  ) throws(StoreError) -> Int64 {
    var events: [StoredEvent] = []
    for key in try journal.streams(withOriginalTransactionId: id) {
      events += try journal.events(of: key)
    }
    events.sort { $0.seq < $1.seq }
    try write(events.flatMap(line))
    return Int64(events.count)
  }

  /// One line with its end; the same event is always the same bytes.
  static func line(_ event: StoredEvent) -> [UInt8] {
    let hash = Hexadecimal.encode(event.hash)
    let place = "\"seq\":\(event.seq),\"received_at_ms\":\(event.receivedAt)"
    var line = Array("{\(place),\"hash\":\"\(hash)\",\"body\":".utf8)
    line.reserveCapacity(line.count + event.body.count + 32)
    if event.source == "v1" {
      line += event.body
    } else {
      // A compact JWS has no character that JSON would escape.
      line += "{\"signedPayload\":\"".utf8
      line += event.body
      line += "\"}".utf8
    }
    line += "}\n".utf8
    return line
  }
}
