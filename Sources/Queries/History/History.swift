public import AppStore
package import Entitlements
package import Store
public import StrictJSON

/// One customer's timeline: every event of a stream with what it changed in the row, and among
/// them what time alone changed, and the notifications in quarantine that name the same original
/// transaction id.
public struct History: Sendable {
  public typealias Entry = HistoryEntry

  /// Which events of a timeline are wanted: some that follow one.
  public struct Page: Sendable {
    /// The seq of the last event of the page before; 0 for the first page.
    let after: Int64
    /// The most events. A page ends earlier when it gets large.
    let limit: Int

    public init(after: Int64, limit: Int) { (self.after, self.limit) = (after, limit) }
  }

  /// One entry of the timeline.
  public enum Item: Sendable {
    case event(HistoryEntry)
    case transition(HistoryTransition)
    case quarantined(QuarantinedEntry)
    case mapping(HistoryMapping)

    public var json: JSONValue {
      switch self {
      case .event(let entry): entry.json
      case .transition(let transition): transition.json
      case .quarantined(let entry): entry.json
      case .mapping(let mapping): HistoryMapping.object.json(mapping)
      }
    }

    /// Where it belongs in the timeline, milliseconds since 1970.
    var time: Int64 {
      switch self {
      case .event(let entry): entry.event.receivedAt
      case .transition(let transition): transition.at
      case .quarantined(let entry): entry.receivedAt
      case .mapping(let mapping): mapping.at
      }
    }
  }

  public let key: StreamKey
  /// In the order in which we received them, events in the order of the journal; what time changed
  /// before the first event that was signed then or later.
  public let items: [Item]
  /// The seq after which the next page begins; nil on the last one.
  let next: Int64?
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

  /// How many of `items` are in quarantine.
  public var quarantined: Int {
    items.count { item in
      if case .quarantined = item { true } else { false }
    }
  }

  public var json: JSONValue { Self.object { $0.json }.json(self) }

  /// The same with encoded items, of which many may be sent at a time.
  public var encoded: JSONValue { Self.object { .encoded($0.json.bytes) }.json(self) }

  public static func object(_ item: @escaping @Sendable (Item) -> JSONValue) -> JSONObject<History>
  {
    JSONObject(
      "History",
      JSONMember.page(
        of: .either([
          HistoryEntry.object.schema, HistoryTransition.object.schema,
          QuarantinedEntry.inHistory.schema, HistoryMapping.object.schema,
        ]),
        { $0.items.map(item) }, next: { $0.next.map { String($0) } })
        + [
          JSONMember(
            "more_quarantined",
            .boolean(
              "Whether quarantine holds more notifications about this customer than are shown.")
          ) { $0.hasMoreQuarantined },
          .ifAny("confirmed_at", RowDocument.confirmed) { $0.confirmedAt },
        ])
  }

  /// - Parameters:
  ///   - evolved: events and transitions, in the order of the timeline.
  ///   - others: what else is shown, in the order of time.
  init(
    _ key: StreamKey, _ evolved: [Item], _ others: [Item] = [],
    next: Int64? = nil, hasMoreQuarantined: Bool = false, confirmedAt: Int64? = nil
  ) {
    self.key = key
    self.next = next
    (self.hasMoreQuarantined, self.confirmedAt) = (hasMoreQuarantined, confirmedAt)
    var items: [Item] = []
    items.reserveCapacity(evolved.count + others.count)
    var rest = others[...]
    for item in evolved {
      while let first = rest.first, first.time < item.time {
        items.append(first)
        rest.removeFirst()
      }
      items.append(item)
    }
    self.items = items + rest
  }

  /// The timeline of given events, without quarantine.
  ///
  /// - Parameters:
  ///   - time: until when it has what time alone changed, milliseconds since 1970; nil: until the
  ///     last event was signed.
  ///   - durations: those of the app.
  package init(
    _ key: StreamKey, _ events: [StoredEvent], through time: Int64? = nil,
    durations: Durations
  ) {
    var evolution = HistoryEvolution(key, by: .current, durations)
    for event in events { evolution.add(event, JournaledPayload(event)) }
    if let time { evolution.advance(to: time) }
    evolution.tellRules()
    self.init(key, evolution.items)
  }
}
