import Platform
public import Store
import StrictJSON

/// Checks the lines of an export against the hash chain that they claim, before any of them is
/// journaled: each imported event has the seq and hash that it had in the journal it comes from
/// (promise 5).
public final class ImportChainVerifier {
  private var seq: Int64
  private var hash: [UInt8]

  /// - Parameter head: of the journal that imports, which has the lines before.
  public init(after head: Head) { (seq, hash) = (head.seq, head.hash) }

  /// Returns whether a line's event is the next one of the chain, and advances the chain if so.
  func accepts(_ line: JSONElement, _ received: Receiver.Received) -> Bool {
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
