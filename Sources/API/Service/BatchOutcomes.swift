import Ledger
import Platform
import Store
import StrictJSON

/// Records batches that a command submits: every line counts like a notification from the network,
/// and the batch gets one line in the log.
extension LedgerService {
  /// Counts the outcome of one line that was proven.
  func record(_ received: Receiver.Received, _ outcome: Outcome) {
    switch outcome {
    case .accepted, .duplicate, .conflict, .held: count(received, outcome)
    case .quarantined, .quarantineFull: metrics.notifications.add(received, outcome)
    case .noPurchases, .skipped, .refused: break
    }
  }

  /// Logs a batch, and counts the lines of it that were refused.
  ///
  /// - Parameter start: when the whole batch had been read, in monotonic nanoseconds.
  func record(batch outcomes: [Outcome], since start: Int64) {
    var (accepted, duplicate, other): (Int64, Int64, Int64) = (0, 0, 0)
    for outcome in outcomes {
      switch outcome {
      case .accepted: accepted += 1
      case .duplicate, .conflict, .held: duplicate += 1
      case .noPurchases, .skipped: other += 1
      case .quarantined(let code, _), .quarantineFull(let code):
        metrics.refusals.add(code)
        other += 1
      case .refused(let refusal):
        metrics.refusals.add(refusal.code)
        other += 1
      }
    }
    Log.write(
      .info, "ingested",
      [
        ("accepted", .integer(accepted)), ("duplicate", .integer(duplicate)),
        ("other", .integer(other)),
        Self.took(since: start),
      ])
  }
}
