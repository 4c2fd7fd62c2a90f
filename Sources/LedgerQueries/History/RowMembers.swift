import StrictJSON

/// The members of a row that an event can change, for the comparison of two rows.
struct RowMembers {
  private let members: [(name: String, value: JSONValue)]
  private let texts: [String]

  /// Members that name the last event or the times of the question: no event changes them in the
  /// sense of a timeline.
  private static let bookkeeping: Set<String> = [
    "object", "as_of", "known_at", "event_count", "last_event", "succeeded_by",
  ]

  /// - Parameter document: nil if there is no row.
  init(_ document: RowDocument?) {
    guard case .object(let all)? = document?.json else {
      (members, texts) = ([], [])
      return
    }
    members = all.filter { !Self.bookkeeping.contains($0.0) }
    texts = members.map(\.value.text)
  }

  /// The members that differ. Every row has the same members in the same order; `before` is empty
  /// if there was no row yet.
  func changes(since before: RowMembers) -> [HistoryEntry.Change] {
    members.indices.compactMap { index in
      let isKnown = index < before.members.count
      guard (isKnown ? before.texts[index] : "null") != texts[index] else { return nil }
      let (name, after) = members[index]
      return (name, isKnown ? before.members[index].value : .null, after)
    }
  }
}
