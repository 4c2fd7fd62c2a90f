/// A set of the journal's seqs, one bit for each.
struct SeqSet: Sendable {
  private var words: [UInt64]

  /// - Parameter last: the greatest seq that it may hold; others are ignored.
  init(through last: Int64) { words = Array(repeating: 0, count: Int(max(0, last) / 64) + 1) }

  mutating func insert(_ range: ClosedRange<Int64>) {
    let last = Int64(words.count) * 64 - 1
    guard range.lowerBound >= 0, range.lowerBound <= last else { return }
    for seq in range.lowerBound...min(range.upperBound, last) {
      words[Int(seq / 64)] |= 1 << UInt64(seq % 64)
    }
  }

  func contains(_ seq: Int64) -> Bool {
    guard seq >= 0, seq / 64 < words.count else { return false }
    return words[Int(seq / 64)] >> UInt64(seq % 64) & 1 == 1
  }

  /// The ranges of consecutive numbers in a set.
  static func ranges(_ seqs: Set<Int64>) -> [ClosedRange<Int64>] {
    var ranges: [ClosedRange<Int64>] = []
    for seq in seqs.sorted() {
      if let last = ranges.last, last.upperBound + 1 == seq {
        ranges[ranges.count - 1] = last.lowerBound...seq
      } else {
        ranges.append(seq...seq)
      }
    }
    return ranges
  }
}
