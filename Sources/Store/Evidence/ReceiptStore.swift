import AppStore
import Platform

/// The receipts of one journal. A receipt may have made thousands of events, which follow each
/// other in the journal and mostly among the streams: the last ones that were read are kept, so
/// that none is read and parsed for each of its events.
final class ReceiptStore {
  /// How many are kept, and how many bytes of them.
  private static let (maximumCount, maximumBytes) = (8, 8 << 20)

  private let connection: SQLiteConnection
  /// The most recently used first.
  private var recent: [Stored] = []

  /// A receipt as it was read.
  final class Stored {
    let sha256: [UInt8]
    let der: [UInt8]
    /// Parsed when it is first needed; nil inside if it cannot be.
    private(set) lazy var body = ReceiptBody(stored: der)

    init(sha256: [UInt8], der: [UInt8]) { (self.sha256, self.der) = (sha256, der) }
  }

  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Discards everything kept.
  func forget() { recent.removeAll() }

  /// The receipt with this hash; nil if there is none, or it cannot be recovered.
  ///
  /// - Parameter decode: recovers a body from its stored form.
  func receipt(
    _ sha256: ArraySlice<UInt8>, _ decode: ([UInt8]) throws(LedgerError) -> [UInt8]?
  ) throws(LedgerError) -> Stored? {
    if let index = recent.firstIndex(where: { $0.sha256.elementsEqual(sha256) }) {
      if index > 0 { recent.insert(recent.remove(at: index), at: 0) }
      return recent[0]
    }
    let stored = try connection.statement("SELECT body FROM receipt WHERE sha256 = ?")
      .bind(1, Array(sha256)).first { $0.bytes(0) }
    guard let stored, let der = try decode(stored) else { return nil }
    let found = Stored(sha256: Array(sha256), der: der)
    recent.insert(found, at: 0)
    trim()
    return found
  }

  private func trim() {
    var bytes = 0
    for (index, item) in recent.enumerated() {
      bytes += item.der.count
      guard index > 0, index >= Self.maximumCount || bytes > Self.maximumBytes else { continue }
      recent.removeSubrange(index...)
      return
    }
  }

  /// Stores a receipt unless it is there.
  ///
  /// - Parameters:
  ///   - isJournaled: whether an event names it, so that it must never change.
  ///   - encode: makes the stored form.
  func insert(
    _ receipt: ReceiptBody, isJournaled: Bool, _ encode: ([UInt8]) throws(LedgerError) -> [UInt8]
  ) throws(LedgerError) {
    let known = try connection.statement("SELECT is_journaled FROM receipt WHERE sha256 = ?")
      .bind(1, receipt.sha256).first { $0.int(0) == 1 }
    if let known {
      guard isJournaled, !known else { return }
      try connection.statement("UPDATE receipt SET is_journaled = 1 WHERE sha256 = ?")
        .bind(1, receipt.sha256).run()
      return
    }
    try connection.statement("INSERT INTO receipt (sha256, is_journaled, body) VALUES (?, ?, ?)")
      .bind(1, receipt.sha256).bind(2, isJournaled ? 1 : 0).bind(3, try encode(receipt.der)).run()
  }

  /// Removes a receipt that neither an event nor held evidence names any more.
  func removeUnused(_ sha256: [UInt8]) throws(LedgerError) {
    try connection.statement(
      """
      DELETE FROM receipt WHERE sha256 = ?1 AND is_journaled = 0 AND NOT EXISTS
        (SELECT 1 FROM held_evidence WHERE source = 'receipt' AND body_sha256 = ?1)
      """
    ).bind(1, sha256).run()
    recent.removeAll { $0.sha256 == sha256 }
  }
}

extension JournalReader {
  /// Receipts that no event and no held evidence names, and those that are not marked as they are
  /// used, as sentences for an operator.
  ///
  /// - Throws: what SQLite reports.
  func receiptFaults() throws(LedgerError) -> [String] {
    guard try hasReceipts() else { return [] }
    // Each of them reads the events once.
    let queries = [
      (
        """
        SELECT sha256 FROM receipt WHERE is_journaled = 1
        EXCEPT SELECT body_sha256 FROM event WHERE source = 'receipt'
        """, "is marked as journaled, and no event names it"
      ),
      (
        """
        SELECT sha256 FROM receipt WHERE is_journaled = 0
        INTERSECT SELECT body_sha256 FROM event WHERE source = 'receipt'
        """, "is not marked as journaled, and an event names it"
      ),
      (
        """
        SELECT sha256 FROM receipt WHERE is_journaled = 0
        EXCEPT SELECT body_sha256 FROM held_evidence WHERE source = 'receipt'
        """, "is not used"
      ),
    ]
    var faults: [String] = []
    for (query, what) in queries {
      faults += try connection.statement(
        "SELECT id FROM receipt WHERE sha256 IN (\(query)) ORDER BY id LIMIT 100"
      ).all { "receipt \($0.int(0)) \(what)" }
    }
    return faults
  }

  /// Whether the journal has the table of receipts.
  private func hasReceipts() throws(LedgerError) -> Bool { try hasMigration(7) }
}
