import SignedData

/// One number for all rows of a projection: equal for the same events in any order of arrival
/// (promise 6), and kept up row by row, so that it is there when asked for.
///
///     the sum, modulo 2^256 and big-endian, over all rows of
///     SHA-256( lp(original transaction id) ‖ lp(environment) ‖ lp(bundle id) ‖ lp(state) ),
///     lp(x) = be32(bytes of x) ‖ x
///
/// It compares rows that honest programs made. It is no seal: rows are held to the journal by
/// folding it again, and the journal by its chain.
public struct SetDigest: Sendable, Equatable {
  /// The most significant first.
  private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  public init() {}

  public static func == (one: SetDigest, other: SetDigest) -> Bool { one.words == other.words }

  /// Nil unless there are 32 bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    words = Self.words(bytes)
  }

  /// 32 bytes.
  public var bytes: [UInt8] {
    [words.0, words.1, words.2, words.3].flatMap { word in
      stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
  }

  /// The share of one row.
  init(key: StreamKey, state: [UInt8]) { words = Self.words(Self.hash(key, state)) }

  public mutating func add(_ row: ProjectedRow) { add(Self(key: row.key, state: row.state)) }

  mutating func add(_ share: SetDigest) { add(share.words) }

  mutating func remove(_ share: SetDigest) {
    // What is added to it gives 2^256.
    add((~share.words.0, ~share.words.1, ~share.words.2, ~share.words.3))
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
    words.3 = sum(words.3, other.3)
    words.2 = sum(words.2, other.2)
    words.1 = sum(words.1, other.1)
    words.0 = sum(words.0, other.0)
  }

  private static func words(_ bytes: [UInt8]) -> (UInt64, UInt64, UInt64, UInt64) {
    func word(_ place: Int) -> UInt64 {
      bytes[place * 8..<place * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    return (word(0), word(1), word(2), word(3))
  }

  private static func hash(_ key: StreamKey, _ state: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(state.count + 128)
    for part in [key.originalTransactionId, key.environment, key.bundleId] {
      append(part.utf8, to: &text)
    }
    append(state, to: &text)
    return SHA256.hash(text)
  }

  private static func append(_ part: some Collection<UInt8>, to text: inout [UInt8]) {
    let count = UInt32(truncatingIfNeeded: part.count)
    for shift in [24, 16, 8, 0] { text.append(UInt8(truncatingIfNeeded: count >> UInt32(shift))) }
    text += part
  }
}
