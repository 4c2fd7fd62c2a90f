import Foundation
import Support

/// The bytes of a file, with a hash that is used to skip equal images.
struct DiskContent {
  static let sector = 512
  private(set) var bytes: [UInt8] = []
  /// The sum of the hashes of all sectors, each including the sector's number.
  private(set) var sum: UInt64 = 0

  mutating func write(at offset: Int, _ new: ArraySlice<UInt8>) {
    guard !new.isEmpty else { return }
    if bytes.count < offset + new.count { resize(to: offset + new.count) }
    let sectors = offset / Self.sector...(offset + new.count - 1) / Self.sector
    for sector in sectors { sum &-= hash(of: sector) }
    bytes.replaceSubrange(offset..<offset + new.count, with: new)
    for sector in sectors { sum &+= hash(of: sector) }
  }

  /// Cuts the content, or extends it with zeros.
  mutating func resize(to size: Int) {
    guard size != bytes.count else { return }
    let from = min(size, bytes.count) / Self.sector
    for sector in from..<count { sum &-= hash(of: sector) }
    if size < bytes.count {
      bytes.removeLast(bytes.count - size)
    } else {
      bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
    }
    for sector in min(from, count)..<count { sum &+= hash(of: sector) }
  }

  private var count: Int { (bytes.count + Self.sector - 1) / Self.sector }

  private func hash(of sector: Int) -> UInt64 {
    let start = sector * Self.sector
    let end = min(bytes.count, start + Self.sector)
    return bytes.withUnsafeBytes { all in
      var hash = UInt64(sector) &* 0x9E37_79B9_7F4A_7C15
      var offset = start
      while offset + 8 <= end {
        hash = (hash ^ all.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        hash = (hash &* 0xFF51_AFD7_ED55_8CCD) ^ (hash >> 29)
        offset += 8
      }
      while offset < end {
        hash = (hash ^ UInt64(all[offset])) &* 0x0000_0100_0000_01B3
        offset += 1
      }
      return hash
    }
  }
}
