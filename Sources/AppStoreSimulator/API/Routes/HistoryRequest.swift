import Platform
import StrictJSON

/// The body of Get Notification History (NotificationHistoryRequest). A member that is null counts
/// as absent.
struct HistoryRequest {
  let start: Int64
  let end: Int64
  let type: String?
  let subtype: String?
  let transactionId: String?
  let onlyFailures: Bool

  /// How far back the history reaches (startDate): 180 days, in the sandbox 30.
  static func allowedAge(isProduction: Bool) -> Int64 {
    (isProduction ? 180 : 30) * CivilTime.day
  }

  /// - Parameter moment: the simulated time, milliseconds since 1970; a later end means now.
  /// - Throws: `APIError` for the first member that Apple refuses.
  init(_ body: [UInt8], isProduction: Bool, moment: Int64) throws(APIError) {
    let root = try APIRoutes.object(body)
    guard let start = root["startDate"]?.integer, start >= 0 else { throw .invalidStartDate }
    guard let end = root["endDate"]?.integer, end >= 0 else { throw .invalidEndDate }
    guard start < end else { throw .startAfterEnd }
    guard start >= moment - Self.allowedAge(isProduction: isProduction) else {
      throw .startTooFarInPast
    }
    (self.start, self.end) = (start, min(end, moment + 1))
    type = try Self.text(root, "notificationType")
    subtype = try Self.text(root, "notificationSubtype")
    let original = try Self.text(root, "originalTransactionId")
    transactionId = try Self.text(root, "transactionId") ?? original
    switch root["onlyFailures"] {
    case nil: onlyFailures = false
    case let value?:
      guard let flag = value.kind == .null ? false : value.boolean else { throw .badRequest }
      onlyFailures = flag
    }
    if type != nil && transactionId != nil { throw .multipleFilters }
    guard let type else {
      if subtype != nil { throw .invalidNotificationType }
      return
    }
    guard NotificationTypes.isValid(type, subtype) else { throw .invalidNotificationType }
  }

  private static func text(_ root: JSONElement, _ name: String) throws(APIError) -> String? {
    guard let value = root[name], value.kind != .null else { return nil }
    guard let text = value.string else { throw .badRequest }
    return text
  }

  /// Whether it asks for a notification, apart from its customer.
  func matches(_ notification: SentNotification) -> Bool {
    (type == nil || type == notification.type)
      && (subtype == nil || subtype == notification.subtype)
      && (!onlyFailures || notification.isFailure)
  }
}
