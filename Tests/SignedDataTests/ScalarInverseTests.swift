import AppStoreSimulator
import Testing

@testable import SignedData

/// The inverse times its scalar is 1, checked with a simple multiplication: doubling and adding.
@Suite struct ScalarInverseTests {
  /// A number modulo the order n of P-256.
  private struct Residue: Equatable {
    static let order = Residue(
      high: 0xFFFF_FFFF_0000_0000_FFFF_FFFF_FFFF_FFFF,
      low: 0xBCE6_FAAD_A717_9E84_F3B9_CAC2_FC63_2551)
    static let one = Residue(high: 0, low: 1)

    var high: UInt128
    var low: UInt128

    init(high: UInt128, low: UInt128) { (self.high, self.low) = (high, low) }

    init(_ bytes: [UInt8]) {
      self.init(
        high: bytes[..<16].reduce(0) { $0 << 8 | UInt128($1) },
        low: bytes[16...].reduce(0) { $0 << 8 | UInt128($1) })
    }

    var bytes: [UInt8] {
      [high, low].flatMap { half in
        (0..<16).map { UInt8(truncatingIfNeeded: half >> (120 - 8 * $0)) }
      }
    }

    static func + (one: Residue, other: Residue) -> Residue {
      let (low, carry) = one.low.addingReportingOverflow(other.low)
      let (half, over) = one.high.addingReportingOverflow(other.high)
      let (high, more) = half.addingReportingOverflow(carry ? 1 : 0)
      let sum = Residue(high: high, low: low)
      return over || more || !sum.isBelowOrder ? sum - order : sum
    }

    static func - (one: Residue, other: Residue) -> Residue {
      let (low, borrow) = one.low.subtractingReportingOverflow(other.low)
      return Residue(high: one.high &- other.high &- (borrow ? 1 : 0), low: low)
    }

    static func * (one: Residue, other: Residue) -> Residue {
      var product = Residue(high: 0, low: 0)
      for half in [one.high, one.low] {
        for bit in (0..<128).reversed() {
          product = product + product
          if half >> bit & 1 == 1 { product = product + other }
        }
      }
      return product
    }

    var isBelowOrder: Bool {
      high < Self.order.high || (high == Self.order.high && low < Self.order.low)
    }
  }

  private func check(_ scalar: Residue, _ comment: Comment) throws {
    let almost = try #require(ScalarInverse.almost(of: scalar.bytes[...]), comment)
    #expect((0...ScalarInverse.maximumDoublings).contains(almost.doublings), comment)
    let number = Residue(almost.number)
    #expect(number.isBelowOrder, comment)
    var power = Residue.one
    for _ in 0..<almost.doublings { power = power + power }
    #expect(number * scalar == power, comment)
  }

  @Test func `zero and numbers from the order on have no inverse`() {
    let zero = Residue(high: 0, low: 0)
    let next = Residue(high: Residue.order.high, low: Residue.order.low + 1)
    let last = Residue(high: .max, low: .max)
    for number in [zero, Residue.order, next, last] {
      #expect(ScalarInverse.almost(of: number.bytes[...]) == nil)
    }
  }

  @Test func `inverts powers of two and their neighbours`() throws {
    for bit in 0..<256 {
      let power = Residue(high: bit < 128 ? 0 : 1 << (bit - 128), low: bit < 128 ? 1 << bit : 0)
      try check(power, "2^\(bit)")
      try check(power + .one, "2^\(bit) + 1")
      if bit > 0 { try check(power - .one, "2^\(bit) - 1") }
      try check(Residue.order - power, "n - 2^\(bit)")
    }
  }

  @Test func `inverts random scalars`() throws {
    let seed = UInt64.random(in: 0...9_999)
    var generator = SeededGenerator(seed: seed)
    for round in 0..<1_000 {
      var bytes = (0..<32).map { _ in UInt8(generator.number(in: 0...255)) }
      // Also short scalars, and scalars with long runs of zeros.
      for index in 0..<Int(generator.number(in: 0...31)) where round % 2 == 0 { bytes[index] = 0 }
      for index in 16..<Int(generator.number(in: 16...32)) where round % 3 == 0 { bytes[index] = 0 }
      let scalar = Residue(bytes)
      guard scalar.isBelowOrder, scalar != Residue(high: 0, low: 0) else { continue }
      try check(scalar, "seed \(seed), round \(round)")
    }
  }
}
