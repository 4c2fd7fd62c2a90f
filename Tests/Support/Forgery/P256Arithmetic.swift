/// Sums and differences modulo 2^256 of numbers of 32 bytes, most significant first, and the
/// constants of P-256.
package enum P256Arithmetic {
  /// The order of P-256 (SP 800-186 section 3.2.1.3).
  package static let order: [UInt8] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
    0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
  ]
  /// The prime of P-256: 2^256 - 2^224 + 2^192 + 2^96 - 1.
  package static let prime: [UInt8] =
    [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 12)
    + [UInt8](repeating: 0xFF, count: 12)

  package static func number(_ value: UInt8) -> [UInt8] {
    [UInt8](repeating: 0, count: 31) + [value]
  }

  package static func plus(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
    var sum = [UInt8](repeating: 0, count: 32)
    var carry = 0
    for index in (0..<32).reversed() {
      let digit = Int(one[index]) + Int(other[index]) + carry
      sum[index] = UInt8(digit & 255)
      carry = digit >> 8
    }
    return sum
  }

  package static func minus(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
    plus(plus(one, other.map { ~$0 }), number(1))
  }
}
