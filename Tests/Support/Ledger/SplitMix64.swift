/// Pseudorandom numbers, the same for the same seed: SplitMix64 (Steele, Lea, Flood 2014).
package struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  package mutating func below(_ bound: Int64) -> Int64 { Int64(next() % UInt64(bound)) }

  /// True with probability 1 / `count`.
  package mutating func once(in count: Int64) -> Bool { below(count) == 0 }

  /// True with this probability in percent.
  package mutating func hits(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &self) < percent
  }

  package mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int(below(Int64(values.count)))]
  }
}
