/// One notification of the App Store and the attempts to send it. The payload is made again when it
/// is needed, because the payloads of many customers would not fit in memory.
struct SentNotification: Sendable {
  /// Where the payload comes from.
  enum Source: Sendable {
    /// Index of the household, and of the notification among all of that household.
    case household(Int, Int)
    /// Index among those that a request caused, and the household that it is about.
    case caused(Int, household: Int?)
  }

  let source: Source
  /// Milliseconds since 1970.
  let signedDate: Int64
  let type: String
  let subtype: String?
  var attempts: [SendAttempt] = []
  /// The signatures made first, so that the text is the same whenever it is asked for.
  var signatures = SignatureMemory()

  /// Whether it has not reached the service, or not yet.
  var isFailure: Bool { !attempts.contains { $0.result == SendAttempt.success } }
}
