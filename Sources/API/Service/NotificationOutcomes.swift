import HTTPServer
import Ledger
import Platform
import Queries
import StrictJSON

/// The responses to notifications, with their counts and log lines.
extension LedgerService {
  /// The response to a notification that the writer has processed. This is the only place that
  /// returns 200 for a notification (promise 1).
  ///
  /// - Parameter start: when the whole request had been read, in monotonic nanoseconds.
  func response(
    to received: Receiver.Received, _ disposition: Disposition, since start: Int64
  ) -> HTTPResponse {
    switch disposition {
    case .accepted(let seq), .duplicate(let seq), .conflict(let seq):
      record(received, disposition, seq: seq, since: start)
      return .json([("outcome", .string(disposition.name)), ("seq", .integer(seq))])
    case .quarantined, .quarantineFull:
      let refusal = received.refusal ?? .notAdmitted("quarantined")
      metrics.notifications.add(received, disposition)
      record(refusal: refusal, received, disposition, since: start)
      return disposition == .quarantined
        ? Problem.response(refusal) : Problem.notKept(refusal.code)
    // None of them happens to a notification from the network: it has no receive time of its own,
    // belongs to no run, and is no evidence and no statement.
    case .receiveTimeBehind, .skipped, .notFound, .confirmed, .alreadyConfirmed, .noPurchases:
      return Problem.response(.malformed("received_at_ms"))
    case .refused(let refusal):
      record(refusal: refusal, received, since: start)
      return Problem.response(refusal)
    case .unavailable(let code):
      record(refusal: .unavailable(code), received, since: start)
      return Problem.response(.unavailable(code))
    }
  }

  private func record(
    _ received: Receiver.Received, _ disposition: Disposition, seq: Int64, since start: Int64
  ) {
    count(received, disposition)
    posted.record(received, at: Clock.now())
    let microseconds = observe(since: start)
    Log.write(
      .info, "notification",
      [("outcome", .string(disposition.name)), ("seq", .integer(seq))] + received.logFields
        + [("took_us", .integer(microseconds))])
  }

  /// Counts a notification that is in the journal, from the network or from a command.
  func count(_ received: Receiver.Received, _ disposition: Disposition) {
    metrics.notifications.add(received, disposition)
    arrivals.record(disposition, received, at: Clock.now())
    if received.isUnknownType { metrics.unknownTypes.add() }
    if received.isAheadOfClock { metrics.signedAhead.add() }
    if case .accepted = disposition, let delay = received.delay { metrics.observe(delay: delay) }
  }

  /// Counts and logs a notification that was refused.
  ///
  /// - Parameters:
  ///   - received: nil if it was not proven, because its content is then not reliable.
  ///   - disposition: what became of it, if that is more than being refused.
  func record(
    refusal: Refusal, _ received: Receiver.Received?, _ disposition: Disposition? = nil,
    since start: Int64
  ) {
    let now = Clock.now()
    arrivals.record(.refused(refusal), nil, at: now)
    metrics.refusals.add(refusal.code)
    ownerFaults.record(refusal, received, at: now)
    let microseconds = observe(since: start)
    let fields: [(String, JSONValue)] = [
      ("outcome", .string((disposition ?? .refused(refusal)).name)),
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
