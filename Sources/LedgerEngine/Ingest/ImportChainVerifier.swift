import Encoding
import JournalStore
import StrictJSON

/// Holds the lines of an export to the chain they claim, before any of them is journaled: what is
/// taken has the same places and the same hashes as where it came from (promise 5).
public final class ImportChainVerifier {
  private var seq: Int64 = 0
  private var hash = ChainHash.origin

  /// For an empty journal.
  public init() {}

  /// Whether a line's event is the next one of the chain.
  func takes(_ line: JSONElement, _ received: Receiver.Received) -> Bool {
    guard case .event(let event) = received.submission, event.preservesReceivedAt,
      line["seq"]?.integer == seq + 1,
      let claimed = line["hash"]?.string.flatMap(Hexadecimal.decode)
    else { return false }
    let next = ChainHash.next(
      after: hash, seq: seq + 1, receivedAt: event.receivedAt,
      notificationUUID: event.notificationUUID, source: event.source,
      bodySHA256: event.bodySHA256)
    guard next == claimed else { return false }
    (seq, hash) = (seq + 1, next)
    return true
  }
}
