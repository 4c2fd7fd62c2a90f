import SignedData

// Every write of a journal, and how the other copies get it. `Journal.write` collects a shipment
// from what SQLite reports as changed rows (`ChangeRecorder`), so that no write can forget to ship;
// one to a table that is not in this list fails.
//
// | table                | written by                                  | to other copies          |
// |----------------------|---------------------------------------------|--------------------------|
// | event                | append                                      | `PackedEvent`            |
// | dictionary           | append: a new header, a trained dictionary  | `PackedDictionary`       |
// | app, stream, kind    | append, held evidence                       | derived; ids may differ  |
// | statement, claim     | append of a statement of the owner          | derived from the event   |
// | arrival              | append: how an event came                   | note                     |
// | quarantine           | append: kept, released; drop; naming        | note                     |
// | held_evidence        | append: held, released, thinned             | note, with stream key    |
// | receipt              | append: of events and held evidence         | note                     |
// | account              | append of statements; erase                 | note                     |
// | redelivery           | append, writeCounts                         | note, the sums           |
// | meta                 | foreign_overflow, unnamed_through           | note                     |
// |                      | *_count, *_digest, v1_from, v1_filed_from   | derived                  |
// |                      | journal_id, open, shared, notes*,           | local                    |
// |                      | generation, *_generation                    | local                    |
// |                      | evidence_judged_*, evidence_waiting         | local                    |
// | broken_event,        | follow                                      | local                    |
// | unproven_event,      |                                             |                          |
// | skipped_note         |                                             |                          |
// | migration            | opening                                     | local                    |

/// An entry of the shared journal's side log: a write that is no event, and that other copies must
/// see. It says the new content of one row, or that the row was removed.
public struct Note: Sendable, Equatable {
  /// Dense from 1.
  public let version: Int64
  /// The row, such as `quarantine/17`; `quarantine/17/removed` of a note that says so.
  public let subject: String
  /// SHA-256 of the body as it was written.
  public let sha256: [UInt8]
  /// JSON in UTF-8. Empty once the note was cleared, because the row was removed after it, as a
  /// later note says; a shared journal gives one that was emptied otherwise another body.
  public let body: [UInt8]

  public init(version: Int64, subject: String, sha256: [UInt8], body: [UInt8]) {
    self.version = version
    self.subject = subject
    self.sha256 = sha256
    self.body = body
  }

  var isCleared: Bool { body.isEmpty }

  private static let label = Array("subledger.note.v1".utf8) + [0]

  /// The chain over the notes, by which copies with different notes of one version are told apart.
  /// It holds for cleared notes too.
  ///
  ///     chain[0]       = 32 zero bytes
  ///     chain[version] = SHA-256( "subledger.note.v1" 0x00 ‖ chain[version-1] ‖ be64(version)
  ///                               ‖ sha256 ‖ subject in UTF-8 )
  public func chain(after previous: [UInt8]) -> [UInt8] {
    var message = Self.label + previous
    withUnsafeBytes(of: version.bigEndian) { message.append(contentsOf: $0) }
    message += sha256
    message += Array(subject.utf8)
    return SHA256.hash(message)
  }
}
