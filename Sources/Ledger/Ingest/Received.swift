public import AppStore
public import Entitlements
public import Store
public import StrictJSON

extension Receiver {
  /// A genuine notification on its way to the writer: an event, or an item for quarantine.
  ///
  /// A class for the same reason as `ProvenNotification`.
  public final class Received: Sendable {
    /// What the journal stores.
    public let submission: Submission
    /// Nil of a notification that goes to quarantine.
    private let notification: ProvenNotification?
    /// The stream that the event changes; nil of an event without one, and of quarantine.
    public let stream: StreamKey?
    /// Why it goes to quarantine; nil of an event.
    public let refusal: Refusal?
    /// Signed more than five minutes ahead of our clock: our clock is wrong.
    public let isAheadOfClock: Bool
    /// This program has no rule for the notification's type; the event is journaled and folded
    /// like any other.
    public let isUnknownType: Bool

    init(_ event: NewEvent, _ notification: ProvenNotification, at now: Int64) {
      submission = .event(event)
      self.notification = notification
      stream = event.streamKey
      refusal = nil
      let known = event.source == .v1 ? NotificationTypes.v1 : NotificationTypes.v2
      isUnknownType = event.source.isNotification && !known.contains(event.notificationType)
      isAheadOfClock = event.signedDate > now.advanced(orBoundBy: Ledger.clockTolerance)
    }

    init(_ item: NewQuarantine, refusal: Refusal) {
      submission = .quarantine(item)
      (notification, stream, isAheadOfClock, isUnknownType) = (nil, nil, false, false)
      self.refusal = refusal
    }

    /// A statement of the owner.
    public init(_ statement: NewStatement) {
      submission = .statement(statement)
      (notification, refusal) = (nil, nil)
      stream =
        if case .refund(_, let id) = statement.content {
          StreamKey(
            environment: statement.environment, bundleId: statement.bundleId,
            originalTransactionId: id)
        } else { nil }
      (isAheadOfClock, isUnknownType) = (false, false)
    }

    /// What the owner said of products, as an export has it.
    init(_ event: NewEvent) {
      submission = .event(event)
      (notification, stream, refusal) = (nil, nil, nil)
      (isAheadOfClock, isUnknownType) = (false, false)
    }

    private init(_ event: NewEvent, like other: Received) {
      submission = .event(event)
      (notification, stream, refusal) = (other.notification, other.stream, other.refusal)
      (isAheadOfClock, isUnknownType) = (other.isAheadOfClock, other.isUnknownType)
    }

    /// The same event as a member of a run: it is not journaled after a refused one.
    func joining(_ run: EventRun) -> Received { changing { $0.run = run } }

    /// The same event, which arrived in this way.
    func arriving(_ arrival: EventArrival) -> Received { changing { $0.arrival = arrival } }

    private func changing(_ change: (inout NewEvent) -> Void) -> Received {
      guard case .event(var event) = submission else { return self }
      change(&event)
      return Received(event, like: self)
    }

    /// What the fold reads of the event once it is journaled at `seq`; nil if it has no stream.
    public func foldEvent(seq: Int64) -> FoldEvent? {
      stream == nil ? nil : notification?.decoded.foldEvent(seq: seq)
    }
  }
}

extension Receiver.Received {
  /// Members of a log line: which notification it is, and which app and customer it is about;
  /// nothing else of its body.
  public var logFields: [(String, JSONValue)] {
    switch submission {
    case .event(let event):
      [
        ("notification_uuid", .string(event.notificationUUID.description)),
        ("source", .string(event.source.rawValue)),
        ("type", .string(event.notificationType)), ("subtype", .optional(event.subtype)),
        ("environment", .string(event.environment.rawValue)),
        ("bundle_id", .string(event.bundleId)),
        ("original_transaction_id", .optional(event.originalTransactionId)),
      ]
    case .quarantine(let item):
      [
        ("notification_uuid", .optional(item.claims.notificationUUID?.description)),
        ("source", .string(item.source.rawValue)),
        ("type", .optional(item.claims.notificationType)), ("subtype", .null),
        ("environment", .optional(item.claims.environment?.rawValue)),
        ("bundle_id", .optional(item.claims.bundleId)),
        ("original_transaction_id", .optional(item.claims.originalTransactionId)),
      ]
    // Never the customer's name: it is erased on demand.
    case .statement(let statement):
      [
        ("environment", .string(statement.environment.rawValue)),
        ("bundle_id", .string(statement.bundleId)), ("token", .string(statement.token)),
      ]
    }
  }

  /// Milliseconds from Apple's signing to our receiving; nil of a notification for quarantine.
  public var delay: Int64? {
    guard case .event(let event) = submission else { return nil }
    return event.receivedAt.subtractingReportingOverflow(event.signedDate).partialValue
  }
}
