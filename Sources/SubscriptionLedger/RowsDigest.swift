import Entitlements
public import JournalStore
import SignedData

/// One number for all rows of a projection, `seq` left out: equal for the same events in any order
/// of arrival (promise 6).
///
///     SHA-256 over the rows in key order: lp(original transaction id) ‖ lp(environment)
///     ‖ lp(bundle id) ‖ lp(state with seq 0), lp(x) = be32(bytes of x) ‖ x
public enum RowsDigest {
  /// The digest in lower-case hexadecimal, and how many rows it covers.
  public static func compute(
    _ rows: ProjectionReader
  ) throws(StoreError) -> (digest: String, count: Int) {
    var digest = SHA256()
    var count = 0
    try rows.forEach { row in
      let key = row.key
      for part in [
        Array(key.originalTransactionId.utf8), Array(key.environment.utf8),
        Array(key.bundleId.utf8), comparable(row.state),
      ] {
        digest.update(length(part))
        digest.update(part)
      }
      count += 1
      return true
    }
    return (Hexadecimal.encode(digest.finish()), count)
  }

  /// A state without what depends on the order of arrival.
  static func comparable(_ bytes: [UInt8]) -> [UInt8] {
    StreamState(decoding: bytes)?.withoutPlace.encoded() ?? bytes
  }

  private static func length(_ part: [UInt8]) -> [UInt8] {
    let count = UInt32(part.count)
    return stride(from: UInt32(24), through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: count >> $0)
    }
  }
}
