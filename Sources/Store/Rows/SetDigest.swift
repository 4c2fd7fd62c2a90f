import AppStore
import Entitlements
import SignedData

/// A digest of the set of all rows of a projection. It is equal for the same events in any order of
/// arrival (promise 6), and is updated with each row, so that it need not be computed when asked
/// for.
///
///     the sum, modulo 2^256 and big-endian, over all rows of
///     SHA-256( lp(original transaction id) ‖ lp(environment) ‖ lp(bundle id)
///              ‖ be64(RowSums.content) ‖ state ),
///     lp(x) = be32(bytes of x) ‖ x
///
/// It compares rows of honest programs and does not protect against forgery: rows are verified by
/// folding the journal again, and the journal by its chain.
public struct SetDigest: Sendable, Equatable {
  /// Four limbs of 64 bits, the most significant first.
  private var limbs: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  public init() {}

  public static func == (one: SetDigest, other: SetDigest) -> Bool { one.limbs == other.limbs }

  /// Returns nil unless there are 32 bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    limbs = Self.limbs(bytes)
  }

  /// The digest as 32 bytes, big-endian.
  public var bytes: [UInt8] {
    [limbs.0, limbs.1, limbs.2, limbs.3].flatMap { limb in
      stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: limb >> $0) }
    }
  }

  /// The share of one row.
  ///
  /// - Parameters:
  ///   - content: `RowSums.content` of the row.
  ///   - state: the encoded state.
  init(key: StreamKey, content: Int64, state: [UInt8]) {
    limbs = Self.limbs(Self.hash(key, content, state))
  }

  /// Adds a row.
  public mutating func add(_ stream: FoldedStream) {
    let sums = RowSums(
      stream.row, stream.lines, requests: stream.requests.count, stream.key)
    add(Self(key: stream.key, content: sums.content, state: stream.state))
  }

  /// Adds an element that is given as bytes, for sets of other things than rows.
  package mutating func add(element bytes: [UInt8]) { add(Self.limbs(SHA256.hash(bytes))) }

  /// Removes an element that was added as bytes.
  mutating func remove(element bytes: [UInt8]) {
    var share = SetDigest()
    share.add(element: bytes)
    remove(share)
  }

  mutating func add(_ share: SetDigest) { add(share.limbs) }

  mutating func remove(_ share: SetDigest) {
    // Adds the two's complement: the complement, then 1.
    add((~share.limbs.0, ~share.limbs.1, ~share.limbs.2, ~share.limbs.3))
    add((0, 0, 0, 1))
  }

  private mutating func add(_ other: (UInt64, UInt64, UInt64, UInt64)) {
    var carry = false
    func sum(_ one: UInt64, _ two: UInt64) -> UInt64 {
      let (first, isOver) = one.addingReportingOverflow(two)
      let (second, isOverAgain) = first.addingReportingOverflow(carry ? 1 : 0)
      carry = isOver || isOverAgain
      return second
    }
    limbs.3 = sum(limbs.3, other.3)
    limbs.2 = sum(limbs.2, other.2)
    limbs.1 = sum(limbs.1, other.1)
    limbs.0 = sum(limbs.0, other.0)
  }

  private static func limbs(_ bytes: [UInt8]) -> (UInt64, UInt64, UInt64, UInt64) {
    func limb(_ index: Int) -> UInt64 {
      bytes[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    return (limb(0), limb(1), limb(2), limb(3))
  }

  private static func hash(_ key: StreamKey, _ content: Int64, _ state: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(state.count + 128)
    for part in [key.originalTransactionId, key.environment.rawValue, key.bundleId] {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: part.utf8.count).bigEndian) { text += $0 }
      text += part.utf8
    }
    withUnsafeBytes(of: content.bigEndian) { text += $0 }
    text += state
    return SHA256.hash(text)
  }
}
