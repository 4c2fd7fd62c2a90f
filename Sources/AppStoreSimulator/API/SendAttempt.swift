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

/// One notification of the App Store and the attempts to send it.
struct SentNotification: Sendable {
  enum Source: Sendable {
    /// The life of its customer, with this index among the notifications of it. The payload is made
    /// again when it is needed, because those of many customers would not fit in memory.
    case life(Int)
    /// A request.
    case request(SimulatedNotification)
  }

  let source: Source
  /// The index of whom it is about; nil if it names nobody.
  let customer: Int?
  /// Milliseconds since 1970.
  let signedDate: Int64
  let (type, subtype): (String, String?)
  var attempts: [SendAttempt] = []
  /// The signatures made first, so that the text is the same whenever it is asked for.
  var signatures = SignatureMemory()

  init(_ notification: SimulatedNotification, customer: Int?, source: Source) {
    (self.customer, self.source) = (customer, source)
    signedDate = notification.signedDate
    (type, subtype) = (notification.type, notification.subtype)
  }

  /// Whether it has not reached the service, or not yet.
  var isFailure: Bool { !attempts.contains { $0.result == SendAttempt.success } }
}
