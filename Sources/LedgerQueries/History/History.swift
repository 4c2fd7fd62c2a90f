public import AppStore
package import JournalStore
public import StrictJSON

/// One customer's timeline: every event of a stream with what it changed in the row, and among
/// them the notifications in quarantine that name the same original transaction id.
public struct History: Sendable {
  public typealias Entry = HistoryEntry

  /// One entry of the timeline.
  public enum Item: Sendable {
    case event(HistoryEntry)
    case quarantined(QuarantinedEntry)

    public var json: JSONValue {
      switch self {
      case .event(let entry): entry.json
      case .quarantined(let entry): entry.json
      }
    }
  }

  public let key: StreamKey
  /// In the order in which we received them; events in the order of the journal.
  public let items: [Item]
  /// Whether quarantine holds more about this customer than `items`.
  public let hasMoreQuarantined: Bool
  /// When Apple, asked for it, last said again what the events say: as in the row. Milliseconds
  /// since 1970 UTC; nil if it did not.
  public let confirmedAt: Int64?

  /// The events among `items`.
  public var entries: [HistoryEntry] {
    items.compactMap { item in
      if case .event(let entry) = item { entry } else { nil }
    }
  }

  public var json: JSONValue {
    .object(
      [
        ("object", .string("list")), ("items", .array(items.map(\.json))), ("next_page", .null),
        ("more_quarantined", .boolean(hasMoreQuarantined)),
      ] + (confirmedAt.map { [("confirmed_at", .integer($0))] } ?? []))
  }

  init(
    _ key: StreamKey, _ entries: [HistoryEntry], _ quarantined: [QuarantinedEntry] = [],
    hasMoreQuarantined: Bool = false, confirmedAt: Int64? = nil
  ) {
    self.key = key
    (self.hasMoreQuarantined, self.confirmedAt) = (hasMoreQuarantined, confirmedAt)
    var items: [Item] = []
    items.reserveCapacity(entries.count + quarantined.count)
    var rest = quarantined.sorted { ($0.receivedAt, $0.id) < ($1.receivedAt, $1.id) }[...]
    for entry in entries {
      while let first = rest.first, first.receivedAt < entry.event.receivedAt {
        items.append(.quarantined(first))
        rest.removeFirst()
      }
      items.append(.event(entry))
    }
    self.items = items + rest.map(Item.quarantined)
  }

  /// The timeline of given events, without quarantine.
  ///
  /// - Parameter durations: milliseconds that non-renewing products last, by product id.
  package init(_ key: StreamKey, _ events: [StoredEvent], durations: [String: Int64]) {
    var evolution = HistoryEvolution(key, durations)
    self.init(key, events.map { evolution.add($0, JournaledPayload($0)) })
  }
}
