import Platform
import Queries
import Store

/// The kinds of messages that no event causes, with their types and where their moments come from;
/// `MessageMaker` makes their bytes. A new one is a case here, and a function there.
///
/// `sinks.sqlite` stores the numbers.
enum MessageKind: Int64, Sendable, CaseIterable {
  /// Time alone changes status or access of a stream.
  case turn
  /// Another fold gives another answer for a stream, and the operator announced it.
  case recalculation
  /// A notification went to quarantine; it is forwarded.
  case quarantined
  /// What a customer has by name changed; told behind other messages of a stream.
  case customer

  /// The type of its messages, and what they say; empty for what is forwarded as Apple POSTed it.
  var words: (name: String, meaning: String) {
    switch self {
    case .turn:
      (
        "entitlement.status_changed", "time alone began or ended access, or changed the status"
      )
    case .recalculation:
      (
        "entitlement.recalculated",
        "another fold changed the answer, and its operator announced it"
      )
    case .quarantined: ("", "")
    case .customer: ("customer.entitlement_changed", "what a customer has by name changed")
    }
  }

  var type: String { words.name }

  /// The first moments after a time, through another, in order; none if the sink is not told.
  ///
  /// - Throws: `LedgerError.busy` while the rows do not know them, otherwise what SQLite reports.
  func moments(
    _ files: DeliveryFiles, _ filter: MessageFilter, after time: Int64, through last: Int64,
    _ limit: Int
  ) throws(LedgerError) -> [MessageOrder.Moment] {
    guard self == .quarantined ? filter.wantsQuarantine : filter.wantsMoments else { return [] }
    switch self {
    case .quarantined:
      // They are of nobody, so none waits for another.
      return try files.reader.journal
        .quarantineArrivals(after: time, through: last, limit: limit)
        .map { moment($0.0, $0.1, stream: nil) }
    case .recalculation:
      return try files.store.recalculations(after: time, through: last, limit: limit).map {
        item throws(LedgerError) in
        let key = try files.reader.journal.streamKey(item.stream)
        return moment(
          item.at, item.stream, stream: item.stream,
          isWanted: key.map { filter.passes($0, type: type) } ?? false)
      }
    case .turn:
      return try files.turns(after: time, through: last, limit).map { turn in
        moment(
          turn.at, turn.stream, stream: turn.stream, isWanted: filter.passes(turn.key, type: type))
      }
    // They have an order of their own.
    case .customer: return []
    }
  }

  private func moment(
    _ time: Int64, _ id: Int64, stream: Int64?, isWanted: Bool = true
  ) -> MessageOrder.Moment {
    MessageOrder.Moment(
      .moment(self, at: time, id: id), at: time, stream: stream, isWanted: isWanted)
  }
}
