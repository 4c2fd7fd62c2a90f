import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The responses to notifications, with their counts and log lines.
extension LedgerService {
  /// The response to a notification that the writer has processed. This is the only place that
  /// returns 200 for a notification (promise 1).
  ///
  /// - Parameter start: when the whole request had been read, in monotonic nanoseconds.
  func response(
    to received: Receiver.Received, _ outcome: Outcome, since start: Int64
  ) -> HTTPResponse {
    if let seq = outcome.seq {
      record(received, outcome, seq: seq, since: start)
      return .json(Answers.journaled.json((outcome, seq)))
    }
    let refusal = outcome.refusal ?? .malformed("envelope")
    metrics.notifications.add(received, outcome)
    record(refusal: refusal, received, outcome, since: start)
    return Problem.response(
      refusal, to: .notification, outcome, finding: Self.finding(received))
  }

  /// What is in quarantine instead of a notification, such as a transaction.
  private static func finding(_ received: Receiver.Received) -> BodyFinding? {
    guard case .quarantine(let item) = received.submission, item.source == .v2 else { return nil }
    return BodyDiagnosis(wanted: .notification).finding(jws: item.body[...])
  }

  private func record(
    _ received: Receiver.Received, _ outcome: Outcome, seq: Int64, since start: Int64
  ) {
    count(received, outcome)
    posted.record(received, at: Clock.now())
    let microseconds = observe(since: start)
    Log.write(
      .info, "notification",
      [("outcome", .string(outcome.name)), ("seq", .integer(seq))] + received.logFields
        + [("took_us", .integer(microseconds))])
  }

  /// Counts a notification that is in the journal, from the network or from a command.
  func count(_ received: Receiver.Received, _ outcome: Outcome) {
    metrics.notifications.add(received, outcome)
    arrivals.record(outcome, received, at: Clock.now())
    if received.isUnknownType { metrics.unknownTypes.add() }
    if received.isAheadOfClock { metrics.signedAhead.add() }
    if case .accepted = outcome, let delay = received.delay { metrics.observe(delay: delay) }
  }

  /// Counts and logs a notification that was refused.
  ///
  /// - Parameters:
  ///   - received: nil if it was not proven, because its content is then not reliable.
  ///   - outcome: what became of it, if that is more than being refused.
  func record(
    refusal: Refusal, _ received: Receiver.Received?, _ outcome: Outcome? = nil,
    since start: Int64
  ) {
    let now = Clock.now()
    arrivals.record(.refused(refusal), nil, at: now)
    metrics.refusals.add(refusal.code)
    ownerFaults.record(refusal, received, at: now)
    let microseconds = observe(since: start)
    let fields: [(String, JSONValue)] = [
      ("outcome", .string((outcome ?? .refused(refusal)).name)),
      ("reason", .string(refusal.code)),
    ]
    let end: [(String, JSONValue)] = [("took_us", .integer(microseconds))]
    // Any developer can send genuine notifications of his own app too.
    refusalLog.write(
      "notification", status: Problem.status(of: refusal),
      fields + (received?.logFields ?? []) + end)
  }

  /// Adds the time since `start` to the histogram of answer times.
  ///
  /// - Returns: that time in microseconds.
  private func observe(since start: Int64) -> Int64 {
    let nanoseconds = Clock.monotonicNanoseconds() - start
    metrics.answer.observe(Double(nanoseconds) / 1e9)
    return nanoseconds / 1000
  }
}
