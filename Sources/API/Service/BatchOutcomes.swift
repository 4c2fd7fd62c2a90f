import Ledger
import Platform
import StrictJSON

/// Records batches that a command submits: every line counts like a notification from the network,
/// and the batch gets one line in the log.
extension LedgerService {
  /// Counts the outcome of one line that was proven.
  func record(_ received: Receiver.Received, _ disposition: Disposition) {
    switch disposition {
    case .accepted, .duplicate, .conflict, .confirmed, .alreadyConfirmed:
      count(received, disposition)
    case .quarantined, .quarantineFull: metrics.notifications.add(received, disposition)
    case .noPurchases, .receiveTimeBehind, .skipped, .notFound, .refused, .unavailable: break
    }
  }

  /// Logs a batch, and counts the lines of it that were refused.
  ///
  /// - Parameter start: when the whole batch had been read, in monotonic nanoseconds.
  func record(batch dispositions: [Disposition], since start: Int64) {
    var (accepted, duplicate, other): (Int64, Int64, Int64) = (0, 0, 0)
    for disposition in dispositions {
      switch disposition {
      case .accepted: accepted += 1
      case .duplicate, .conflict, .confirmed, .alreadyConfirmed: duplicate += 1
      case .refused(let refusal):
        metrics.refusals.add(refusal.code)
        other += 1
      case .unavailable(let code):
        metrics.refusals.add(code)
        other += 1
      case .noPurchases, .skipped, .notFound, .quarantined, .quarantineFull, .receiveTimeBehind:
        other += 1
      }
    }
    Log.write(
      .info, "ingested",
      [
        ("accepted", .integer(accepted)), ("duplicate", .integer(duplicate)),
        ("other", .integer(other)),
        ("took_us", .integer((Clock.monotonicNanoseconds() - start) / 1000)),
      ])
  }
}
