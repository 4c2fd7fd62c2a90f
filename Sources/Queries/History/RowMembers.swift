import StrictJSON

/// The members of a row that an event can change, for the comparison of two rows.
struct RowMembers {
  private let members: [(name: String, value: JSONValue)]

  /// Members that name the last event or the times of the question: no event changes them in the
  /// sense of a timeline.
  static let bookkeeping: Set<String> = [
    "object", "as_of", "known_at", "event_count", "last_event", "succeeded_by",
  ]

  /// - Parameter row: the JSON of a `RowDocument`; nil if there is no row.
  init(_ row: JSONValue?) {
    var all: [(name: String, value: JSONValue)] = []
    if case .object(let found)? = row { all = found }
    members = all.filter { !Self.bookkeeping.contains($0.name) }
  }

  /// The members that differ. Every row has the same members in the same order; `before` is empty
  /// if there was no row yet.
  func changes(since before: RowMembers) -> [HistoryEntry.Change] {
    members.indices.compactMap { index in
      let (name, after) = members[index]
      let known = index < before.members.count ? before.members[index].value : .null
      return known == after ? nil : (name, known, after)
    }
  }
}
