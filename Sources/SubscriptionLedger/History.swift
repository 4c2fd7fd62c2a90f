import AppStore
import Entitlements
public import JournalStore
public import StrictJSON

/// One customer's timeline: every event of a stream, and what it changed in the row.
public struct History: Sendable {
  /// One event and its effect.
  public struct Entry: Sendable {
    public let event: StoredEvent
    /// The transaction it is about; of a V1 body, the newest of its stream.
    let transaction: Transaction?
    /// Fields of the row that differ before and after it, both evaluated at the newest date Apple
    /// had signed by then: what passed by itself is not this event's doing.
    public let changes: [(field: String, before: JSONValue, after: JSONValue)]
    /// Apple signed a later event that had arrived before it.
    public let isLate: Bool

    public var transactionId: String? { transaction?.transactionId }

    public var json: JSONValue {
      .object([
        ("object", .string("event")), ("seq", .integer(event.seq)),
        ("notification_uuid", .string(event.notificationUUID)),
        ("source", .string(event.source)),
        ("notification_type", .string(event.notificationType)),
        ("subtype", .optional(event.subtype)),
        ("transaction_id", .optional(transactionId)),
        ("signed_date", .integer(event.signedDate)),
        ("received_at", .integer(event.receivedAt)), ("late", .boolean(isLate)),
        ("money", transaction.map(Self.money) ?? .null),
        (
          "changes",
          .object(
            changes.map { change in
              (change.field, .object([("before", change.before), ("after", change.after)]))
            })
        ),
      ])
    }

    /// What was paid and given back for that transaction, exactly as Apple says it: milliunits of
    /// the currency, milli-percent. Amounts of several transactions are never added up: Apple's
    /// prices are not for accounting, and currencies differ.
    private static func money(_ transaction: Transaction) -> JSONValue {
      .object([
        ("price", .optional(transaction.price)), ("currency", .optional(transaction.currency)),
        ("quantity", .optional(transaction.quantity)),
        ("offer_type", .optional(transaction.offerType)),
        ("offer_identifier", .optional(transaction.offerIdentifier)),
        ("offer_discount_type", .optional(transaction.offerDiscountType)),
        ("offer_period", .optional(transaction.offerPeriod)),
        ("revocation_date", .optional(transaction.revocationDate)),
        ("revocation_reason", .optional(transaction.revocationReason)),
        ("revocation_type", .optional(transaction.revocationType)),
        ("revocation_percentage", .optional(transaction.revocationPercentage)),
      ])
    }
  }

  public let key: StreamKey
  /// In the order of the journal.
  public let entries: [Entry]

  public var json: JSONValue {
    .object([
      ("object", .string("list")), ("items", .array(entries.map(\.json))), ("next_page", .null),
    ])
  }

  /// Fields that say which event was last, or when one asked: not what an event changed.
  private static let bookkeeping: Set<String> = [
    "object", "as_of", "known_at", "event_count", "last_event", "succeeded_by",
  ]

  package init(_ key: StreamKey, _ events: [StoredEvent], durations: [String: Int64]) {
    self.key = key
    var state = StreamState()
    var before: [(String, JSONValue)] = []
    var clock = Int64.min
    var entries: [Entry] = []
    for event in events {
      let isLate = event.signedDate < clock
      clock = max(clock, event.signedDate)
      before = Self.fields(key, state, at: clock, durations)
      let step = try? JournaledNotification.foldEvent(JournaledPayload(event))
      if let step { state.evolve(step) }
      let after = Self.fields(key, state, at: clock, durations)
      entries.append(
        Entry(
          event: event,
          transaction: step?.transactions.max {
            ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId)
          },
          changes: Self.difference(before, after), isLate: isLate))
    }
    self.entries = entries
  }

  private static func fields(
    _ key: StreamKey, _ state: StreamState, at time: Int64, _ durations: [String: Int64]
  ) -> [(String, JSONValue)] {
    guard let entitlement = Entitlement(state, at: time, durations: durations) else { return [] }
    let document = RowDocument(
      key: key, entitlement: entitlement, eventCount: 0, lastEvent: nil, succeededBy: nil,
      knownAt: nil)
    guard case .object(let members) = document.json else { return [] }
    return members.filter { !bookkeeping.contains($0.0) }
  }

  private static func difference(
    _ before: [(String, JSONValue)], _ after: [(String, JSONValue)]
  ) -> [(field: String, before: JSONValue, after: JSONValue)] {
    let old = Dictionary(before, uniquingKeysWith: { $1 })
    return after.compactMap { name, value in
      let previous = old[name] ?? .null
      return previous.text == value.text ? nil : (name, previous, value)
    }
  }
}

extension LedgerReader {
  /// The timeline of an original transaction id; nil where there is none that may be shown.
  public func history(
    _ originalTransactionId: String, environment: String?, bundleId: String?,
    _ question: Question
  ) throws(Failure) -> History? {
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    guard let key = try Self.only(keys) else { return nil }
    let events = try store { () throws(StoreError) in
      try journal.events(
        of: key, signedThrough: question.asOf ?? .max, receivedThrough: question.knownAt ?? .max)
    }
    return History(key, events, durations: durations)
  }
}
