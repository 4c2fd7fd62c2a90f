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
    RefundRequest.all(of: try refundEvents(of: key, through: seq).map(\.event))
  }

  /// What an event of a stream says of requests that was not known before it, each with the request
  /// as it is through the event.
  ///
  /// - Throws: what SQLite reports.
  public func refundNews(
    at seq: Int64, of key: StreamKey
  ) throws(LedgerError) -> [(news: RefundNews, request: RefundRequest)] {
    let events = try refundEvents(of: key, through: seq)
    let before = RefundRequest.all(of: events.filter { $0.seq < seq }.map(\.event))
    return RefundRequest.all(of: events.map(\.event)).flatMap { request in
      request.news(since: before.first { $0.uuid == request.uuid }).map { ($0, request) }
    }
  }

  /// Whether an event of a stream that Apple signed says something of refunds: a stream may have
  /// thousands that say nothing, and is not read for each of them.
  ///
  /// - Throws: what SQLite reports.
  public func isAboutRefunds(_ seq: Int64, of key: StreamKey) throws(LedgerError) -> Bool {
    var isAbout = false
    try forEachPayload(of: key, after: seq - 1, through: seq) { payload in
      isAbout = (try? JournaledNotification.foldEvent(payload))?.isAboutRefunds ?? false
    }
    return isAbout
  }

  private func refundEvents(
    of key: StreamKey, through seq: Int64
  ) throws(LedgerError) -> [(seq: Int64, event: RefundEvent)] {
    var events: [(seq: Int64, event: RefundEvent)] = []
    try forEachEvent(of: key) { (event, payload) throws(LedgerError) in
      guard event.seq <= seq else { return }
      let folded = try? JournaledNotification.foldEvent(payload)
      events += RefundEvent.all(in: event, payload, folded).map { (event.seq, $0) }
    }
    return events
  }
}

extension RefundEvent {
  /// What a journaled event says of requests.
  ///
  /// - Parameter folded: the same event as it is folded; nil for one that cannot be, and a
  ///   statement.
  public static func all(
    in event: StoredEvent, _ payload: JournaledPayload, _ folded: FoldEvent?
  ) -> [RefundEvent] {
    if case .statement(let said) = payload.content, case .refund(let statement, _) = said.content {
      return [RefundEvent(statement, uuid: event.notificationUUID, at: said.at)]
    }
    return folded.map { all(in: $0, receivedAt: event.receivedAt) } ?? []
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
