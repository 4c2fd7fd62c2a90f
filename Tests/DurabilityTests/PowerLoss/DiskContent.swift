import Foundation
import Support

/// The bytes of a file, and a number that tells them from others: dedupes images.
struct DiskContent {
  static let sector = 512
  private(set) var bytes: [UInt8] = []
  /// The sum of all sectors, each with its place in it.
  private(set) var sum: UInt64 = 0

  mutating func write(at offset: Int, _ new: ArraySlice<UInt8>) {
    guard !new.isEmpty else { return }
    if bytes.count < offset + new.count { resize(to: offset + new.count) }
    let sectors = offset / Self.sector...(offset + new.count - 1) / Self.sector
    for sector in sectors { sum &-= number(of: sector) }
    bytes.replaceSubrange(offset..<offset + new.count, with: new)
    for sector in sectors { sum &+= number(of: sector) }
  }

  /// What is new is zero.
  mutating func resize(to size: Int) {
    guard size != bytes.count else { return }
    let from = min(size, bytes.count) / Self.sector
    for sector in from..<count { sum &-= number(of: sector) }
    if size < bytes.count {
      bytes.removeLast(bytes.count - size)
    } else {
      bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
    }
    for sector in min(from, count)..<count { sum &+= number(of: sector) }
  }

  private var count: Int { (bytes.count + Self.sector - 1) / Self.sector }

  private func number(of sector: Int) -> UInt64 {
    let start = sector * Self.sector
    let end = min(bytes.count, start + Self.sector)
    return bytes.withUnsafeBytes { all in
      var hash = UInt64(sector) &* 0x9E37_79B9_7F4A_7C15
      var place = start
      while place + 8 <= end {
        hash = (hash ^ all.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        hash = (hash &* 0xFF51_AFD7_ED55_8CCD) ^ (hash >> 29)
        place += 8
      }
      while place < end {
        hash = (hash ^ UInt64(all[place])) &* 0x0000_0100_0000_01B3
        place += 1
      }
      return hash
    }
  }
}

/// Random numbers that a seed gives again.
struct DiskChance: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func hits(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
