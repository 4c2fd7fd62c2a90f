import AppStore
import Clients
import StrictJSON

/// What became of one test notification. Times are milliseconds since 1970 UTC by this machine's
/// clock, those of attempts by Apple's.
struct TestReport {
  /// The part of the way that failed.
  enum Leg: String {
    /// Apple does not take our request: the token, or what answers at the address.
    case request
    /// Apple has no URL to send to.
    case url
    /// What Apple says it sent is not proven to be signed by Apple.
    case proof
    /// Apple did not reach the server, or got no answer in time.
    case delivery
    /// Apple got an answer that is a refusal.
    case answer
    /// Genuine, and not admitted.
    case quarantine
    /// Answered, and not in this journal.
    case journal
  }

  struct Failure {
    let leg: Leg
    let what: String
    let next: String
  }

  let bundleId: String
  let environment: Environment
  let askedAt: Int64
  /// In the order of their dates.
  var attempts: [SendAttempt] = []
  var notificationUUID: NotificationUUID?
  /// Where the journal has it.
  var journaled: (seq: Int64, receivedAt: Int64)?
  /// Where the quarantine has it.
  var quarantined: (id: Int64, reason: String)?
  /// Nil if the whole way is good.
  var failure: Failure?

  init(bundleId: String, environment: Environment, askedAt: Int64) {
    (self.bundleId, self.environment, self.askedAt) = (bundleId, environment, askedAt)
  }

  /// From the request to the receipt, in milliseconds: Apple's part and the network's included.
  var receivedAfter: Int64? { journaled.map { $0.receivedAt - askedAt } }

  /// Names the leg that failed, from the last attempt and the place where the notification is.
  ///
  /// - Parameter isServed: whether a daemon has the data folder.
  func judged(isServed: Bool) -> Failure? {
    let result = attempts.last?.result ?? ""
    let text = SendResultText(result)
    if let quarantined {
      return Failure(
        leg: .quarantine,
        what: "it is genuine and was not admitted (\(quarantined.reason)): it is in quarantine",
        next: "compare apps in the configuration with the app in App Store Connect, send SIGHUP, "
          + "then: subledger quarantine admit \(quarantined.id)")
    }
    if result == SendResultText.success {
      guard journaled == nil else { return nil }
      return Failure(
        leg: .journal, what: "Apple was answered, and this journal does not have it",
        next: Self.start(isServed) + "another server or another data folder took it: compare the "
          + "URL in App Store Connect with this host, and --data with the daemon's")
    }
    let isRefusal = result == "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    let arrived = journaled.map { ", although seq \($0.seq) has it" } ?? ""
    return Failure(
      leg: isRefusal ? .answer : .delivery, what: text.meaning + " (\(result))" + arrived,
      next: (journaled == nil ? Self.start(isServed) : "") + text.next)
  }

  private static func start(_ isServed: Bool) -> String {
    isServed ? "" : "no daemon has this data folder: start it; otherwise "
  }

  var json: JSONValue {
    .object([
      ("object", .string("test_notification")), ("bundle_id", .string(bundleId)),
      ("environment", .string(environment.rawValue)), ("asked_at", .integer(askedAt)),
      (
        "attempts",
        .array(
          attempts.map {
            .object([("at", .integer($0.date)), ("result", .string($0.result))])
          })
      ),
      ("notification_uuid", .optional(notificationUUID?.description)),
      ("seq", .optional(journaled?.seq)), ("received_at", .optional(journaled?.receivedAt)),
      ("received_after_ms", .optional(receivedAfter)),
      ("quarantine_id", .optional(quarantined?.id)), ("leg", .optional(failure?.leg.rawValue)),
      ("what", .optional(failure?.what)), ("next", .optional(failure?.next)),
    ])
  }
}
