import JournalStore
public import StrictJSON

/// What the log says of something received: what it is, and whom it is about; nothing of its body.
extension Receiver.Received {
  public var logFields: [(String, JSONValue)] {
    switch submission {
    case .event(let event):
      [
        ("notification_uuid", .string(event.notificationUUID)), ("source", .string(event.source)),
        ("type", .string(event.notificationType)), ("subtype", .optional(event.subtype)),
        ("environment", .string(event.environment)), ("bundle_id", .string(event.bundleId)),
        ("original_transaction_id", .optional(event.originalTransactionId)),
      ]
    case .quarantine(let item):
      [
        ("notification_uuid", .optional(item.notificationUUID)), ("source", .string(item.source)),
        ("type", .optional(item.notificationType)), ("subtype", .null),
        ("environment", .optional(item.environment)), ("bundle_id", .optional(item.bundleId)),
        ("original_transaction_id", .optional(item.originalTransactionId)),
      ]
    }
  }

  /// Milliseconds from Apple's signing to our receiving; nil of what is in quarantine.
  public var delay: Int64? {
    guard case .event(let event) = submission else { return nil }
    return event.receivedAt.subtractingReportingOverflow(event.signedDate).partialValue
  }
}
