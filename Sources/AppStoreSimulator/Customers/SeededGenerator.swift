/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). The same
/// seed gives the same numbers on every machine and in every version. Not for keys.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  /// An independent generator for each pair, so that one customer's choices do not change
  /// another's.
  public init(seed: UInt64, stream: UInt64) {
    var mixer = SeededGenerator(seed: seed)
    self.init(seed: mixer.next() ^ (stream &* 0xD1B5_4A32_D192_ED03))
    state = next()
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number in the range. It does not use the standard library's algorithm, which a later version
  /// may change. The bias of a remainder of 64 bits is far too small to show in a simulation.
  public mutating func number(in range: ClosedRange<Int64>) -> Int64 {
    range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  /// True with the probability `share`, 0 to 1.
  public mutating func chance(_ share: Double) -> Bool {
    Double(next() >> 11) * 0x1p-53 < share
  }

  /// One of the items, which must not be empty, each with the same probability.
  public mutating func pick<Item>(_ items: [Item]) -> Item {
    items[Int(next() % UInt64(items.count))]
  }

  /// One of the items, which must not be empty, each with a probability proportional to its weight.
  mutating func pick<Item>(weighted items: [(weight: Int, item: Item)]) -> Item {
    var roll = number(in: 0...Int64(items.reduce(0) { $0 + $1.weight } - 1))
    for entry in items {
      roll -= Int64(entry.weight)
      if roll < 0 { return entry.item }
    }
    return items[0].item
  }

  /// Shuffles so that every order has the same probability (Fisher and Yates).
  mutating func shuffle<Item>(_ items: inout [Item]) {
    guard items.count > 1 else { return }
    for last in stride(from: items.count - 1, to: 0, by: -1) {
      items.swapAt(last, Int(next() % UInt64(last + 1)))
    }
  }

  /// A UUID of version 4 (RFC 9562 section 5.4), in lower case, as Apple writes it.
  public mutating func uuid() -> String {
    let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    let digits = Self.hex(high) + Self.hex(low)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append("-") }
      text.append(digit)
    }
    return text
  }

  private static func hex(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
