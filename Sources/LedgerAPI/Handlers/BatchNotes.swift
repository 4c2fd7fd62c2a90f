import LedgerEngine
import Observability
import Platform
import StrictJSON

/// What a batch that a command handed over leaves behind: every line counts like one that came
/// over the network, and the batch has one line in the log.
extension LedgerService {
  /// What became of one line that was proven.
  func note(_ received: Receiver.Received, _ outcome: Ledger.Outcome) {
    switch outcome {
    case .accepted: count(received, .accepted)
    case .duplicate: count(received, .duplicate)
    case .conflict: count(received, .conflict)
    case .quarantined: metrics.notifications.add(received, .quarantined)
    case .receiveTimeBehind, .skipped, .unavailable: break
    }
  }

  func note(batch outcomes: [BatchReceive.LineOutcome], began: Int64) {
    var (accepted, duplicate, other): (Int64, Int64, Int64) = (0, 0, 0)
    for outcome in outcomes {
      switch outcome {
      case .accepted: accepted += 1
      case .duplicate: duplicate += 1
      case .refused(let code):
        metrics.refusals.add(code)
        other += 1
      case .unavailable(let code):
        metrics.refusals.add(code)
        other += 1
      case .skipped: other += 1
      }
    }
    Log.write(
      .info, "ingested",
      [
        ("accepted", .integer(accepted)), ("duplicate", .integer(duplicate)),
        ("other", .integer(other)),
        ("took_us", .integer((Clock.monotonicNanoseconds() - began) / 1000)),
      ])
  }
}
