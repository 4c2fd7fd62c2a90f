import AppStore
import Entitlements
import Ledger
import Platform
import Store

extension LedgerReader {
  /// Folds a stream's row from the journal, from the events that Apple had signed and that we had
  /// received by the times of the question.
  ///
  /// An event that cannot be folded is left out of a row as of now, as in a projection, where such
  /// a row is marked (promise 9). An answer about the past must not lack an event: it fails.
  func journaledRow(of key: StreamKey, _ question: Question) throws(LedgerError) -> EntitlementRow {
    var stream = try journaledStream(of: key, question)
    let state = stream.state
    // Another fold decided what is held. Journaling all of it would give the same row.
    if question.through == nil, try !journal.isJudged() {
      let held = try journal.heldPayloads(
        of: key, signedThrough: question.signedThrough, receivedThrough: question.knownAt ?? .max)
      for payload in held { stream.fold(payload) }
    }
    var row = EntitlementRow(stream.state, by: journal.fold)
    (row.eventCount, row.lastEvent) = (state.eventCount, state.lastEvent)
    return row
  }

  /// The state of such a row.
  func journaledState(of key: StreamKey, _ question: Question) throws(LedgerError) -> StreamState {
    try journaledStream(of: key, question).state
  }

  private func journaledStream(
    of key: StreamKey, _ question: Question
  ) throws(LedgerError) -> StreamFolding {
    var stream = StreamFolding()
    try journal.forEachPayload(
      of: key, through: question.through ?? .max, signedThrough: question.signedThrough,
      receivedThrough: question.knownAt ?? .max
    ) { (payload) throws(LedgerError) in
      try limit?.check()
      stream.fold(payload)
    }
    if let seq = stream.unreadable, question.signedThrough != .max || question.knownAt != nil {
      throw .corrupt("the body of seq \(seq)")
    }
    return stream
  }
}
