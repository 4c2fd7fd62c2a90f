public import AppStore
import Platform

/// Evidence that the journal holds and has not journaled, as read from the file. Times are
/// milliseconds since 1970 UTC.
public struct HeldEvidence: Sendable {
  public let id: Int64
  public let notificationUUID: NotificationUUID
  public let source: EventSource
  /// The stream that it is about; nil if the row of the stream is missing.
  public let stream: StreamKey?
  /// The transaction that it is about; nil for renewal information and receipts.
  public let transactionId: String?
  public let arrival: EventArrival
  public let signedDate: Int64
  public let receivedAt: Int64
  /// The JWS or the receipt as it was received; empty if it cannot be recovered.
  public let body: [UInt8]
  /// Set for a receipt that can be read.
  let receipt: ReceiptBody?
  public let bodySHA256: [UInt8]

  static let columns = """
    h.id, h.notification_uuid, h.source, h.transaction_id, h.signed_date_ms, h.received_at_ms,
    h.body_sha256, h.arrival, h.dictionary_id, h.body
    """

  static let select = """
    SELECT \(columns), a.environment, a.bundle_id, s.original_transaction_id
    FROM held_evidence h LEFT JOIN stream s ON s.id = h.stream_id LEFT JOIN app a ON a.id = s.app_id

    """

  /// - Parameter row: of `select`.
  static func read(_ row: Statement, _ codec: BodyCodec) throws(LedgerError) -> HeldEvidence {
    let stream = row.optionalText(12).map {
      StreamKey(
        environment: Environment(rawValue: row.text(10)), bundleId: row.text(11),
        originalTransactionId: $0)
    }
    return try HeldEvidence(row, of: stream, codec)
  }

  static func read(
    _ id: Int64, _ connection: SQLiteConnection, _ codec: BodyCodec
  ) throws(LedgerError) -> HeldEvidence? {
    try connection.statement(select + "WHERE h.id = ?").bind(1, id)
      .first { (row) throws(LedgerError) in try read(row, codec) }
  }

  /// - Parameter row: begins with `columns`.
  init(_ row: Statement, of stream: StreamKey?, _ codec: BodyCodec) throws(LedgerError) {
    id = row.int(0)
    notificationUUID = EventRow.uuid(row.bytes(1))
    source = EventSource(rawValue: row.text(2))
    self.stream = stream
    transactionId = row.optionalText(3)
    signedDate = row.int(4)
    receivedAt = row.int(5)
    bodySHA256 = row.bytes(6)
    // `verify` finds any other word.
    arrival = EventArrival(rawValue: row.text(7)) ?? .asked
    let stored = row.bytes(9)
    let isOwn = ReceiptReference.isOf(stream?.originalTransactionId, stored)
    body = isOwn ? try codec.decode(stored, dictionary: row.optionalInt(8)) ?? [] : []
    receipt = source.form == .receipt ? try codec.receiptBody(stored) : nil
  }

  private var content: JournaledPayload.Content {
    let id = stream?.originalTransactionId
    if let receipt { return .receipt(receipt, of: id ?? "") }
    return .init(body: body, source: source, originalTransactionId: id)
  }

  /// What the fold reads of it; `seq` is 0.
  var payload: JournaledPayload {
    JournaledPayload(
      seq: 0, source: source, uuid: notificationUUID,
      content: content, parts: nil)
  }
}
