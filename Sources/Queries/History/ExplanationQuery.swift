public import AppStore
import Entitlements
import Ledger
public import Platform
import Store

extension LedgerReader {
  /// Explains the row of an original transaction id; nil if there is none that may be shown.
  ///
  /// Folded from the journal by this program's rules, whichever fold made the live projection.
  ///
  /// - Throws: `LedgerError.ambiguous` if several apps have the id; what the store throws if the
  ///   journal cannot be read.
  public func explain(
    _ originalTransactionId: String, environment: Environment, bundleId: String?,
    _ question: Question
  ) throws(LedgerError) -> Explanation? {
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    guard let key = try Self.only(keys) else { return nil }
    let events = try journal.events(
      of: key, signedThrough: question.signedThrough, receivedThrough: question.knownAt ?? .max)
    var stream = StreamFolding()
    for event in events { stream.fold(JournaledPayload(event)) }
    let row = EntitlementRow(stream.state, by: journal.fold)
    guard let document = try document(key, row, question, readable()) else { return nil }
    return ExplanationBuilder(
      document: document, state: stream.state, row: row, events: events,
      durations: durations(question)[key],
      replacements: try replacements(of: key, question),
      mapping: try mapping(of: key, question),
      requests: stream.hasRequests ? Self.requests(in: events) : []
    ).explanation
  }

  private static func requests(in events: [StoredEvent]) -> [RefundRequest] {
    RefundRequest.all(
      of: events.flatMap { event in
        let payload = JournaledPayload(event)
        return RefundEvent.all(in: event, payload, try? JournaledNotification.foldEvent(payload))
      })
  }
}
