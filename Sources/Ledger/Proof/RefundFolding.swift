public import AppStore
public import Entitlements
public import Platform
public import Store

/// Requests for refunds, folded from the journal.
extension JournalReader {
  /// The requests about the purchases of a stream, by the times at which Apple asked.
  ///
  /// - Parameter seq: only what was journaled through this place counts.
  /// - Throws: what SQLite reports.
  public func refundRequests(
    of key: StreamKey, through seq: Int64 = .max
  ) throws(LedgerError) -> [RefundRequest] {
    var events: [RefundEvent] = []
    try forEachEvent(of: key) { (event, payload) throws(LedgerError) in
      guard event.seq <= seq else { return }
      if case .statement(let said) = payload.content, case .refund(let statement, _) = said.content
      {
        events.append(RefundEvent(statement, uuid: event.notificationUUID, at: said.at))
      } else if let folded = try? JournaledNotification.foldEvent(payload) {
        events += RefundEvent.all(in: folded, receivedAt: event.receivedAt)
      }
    }
    return RefundRequest.all(of: events)
  }
}

extension StreamFolding {
  /// What a projection stores of the stream.
  ///
  /// - Parameter seq: through which it was folded.
  func folded(
    _ key: StreamKey, through seq: Int64, _ journal: JournalReader
  ) throws(LedgerError) -> FoldedStream {
    FoldedStream(
      key, state, hasRequests ? try journal.refundRequests(of: key, through: seq) : [],
      by: journal.fold, broken: broken)
  }
}
