import StrictJSON

/// One attempt of the App Store to send one notification (sendAttemptItem).
struct SendAttempt: Sendable, Equatable {
  /// Milliseconds since 1970, by the simulated clock.
  let date: Int64
  /// Apple's sendAttemptResult.
  let result: String

  static let success = "SUCCESS"

  /// All values of Apple's sendAttemptResult.
  static let results = [
    success, "TIMED_OUT", "TLS_ISSUE", "CIRCULAR_REDIRECT", "NO_RESPONSE", "SOCKET_ISSUE",
    "UNSUPPORTED_CHARSET", "INVALID_RESPONSE", "PREMATURE_CLOSE",
    "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "OTHER",
  ]

  var json: JSONValue {
    .object([("attemptDate", .integer(date)), ("sendAttemptResult", .string(result))])
  }
}

/// An attempt that is still to be made.
struct PendingAttempt: Sendable {
  /// Milliseconds since 1970, by the simulated clock.
  let due: Int64
  /// Index in the list of all notifications of the environment.
  let notification: Int
  /// 0 for the first, up to 5.
  let number: Int
}
