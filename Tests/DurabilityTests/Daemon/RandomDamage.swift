import Foundation
import Glibc
import Store
import Support

/// Damage of a projection's files, chosen by a seed.
struct RandomDamage {
  enum Kind: String, CaseIterable {
    case header, pages, everyThirdPage, zeros, truncation, emptiness, otherJournal, deletion, folder
    case walPages
  }

  let kind: Kind
  private var chance: SplitMix64

  init(seed: UInt64) {
    chance = SplitMix64(seed: seed)
    kind = Kind.allCases[Int(chance.below(Int64(Kind.allCases.count)))]
  }

  private static let page = 4096

  /// Damages the file at a path.
  ///
  /// - Parameter other: a projection of another journal.
  mutating func apply(to path: String, other: String) throws {
    let url = URL(filePath: path)
    switch kind {
    case .header: try overwrite(url, at: [Int(chance.below(100))], 40)
    case .pages:
      let count = try pages(url)
      try overwrite(url, at: (0..<3).map { _ in Int(chance.below(Int64(count))) * Self.page }, 600)
    case .everyThirdPage:
      let first = Int(chance.below(3))
      let all = stride(from: first, to: try pages(url), by: 3).map { $0 * Self.page + 200 }
      try overwrite(url, at: all, 600)
    case .zeros:
      let place = Int(chance.below(Int64(try pages(url)))) * Self.page
      try write(Data(count: Self.page), to: url, at: place)
    case .truncation:
      truncate(path, Int(chance.below(Int64(try pages(url) * Self.page))))
    case .emptiness: truncate(path, 0)
    case .otherJournal:
      try FileManager.default.copyItem(atPath: other, toPath: path + ".other")
      guard rename(path + ".other", path) == 0 else { throw TestFailure("rename: \(errno)") }
    case .deletion: unlink(path)
    case .folder:
      unlink(path)
      mkdir(path, 0o700)
    case .walPages:
      let wal = URL(filePath: path + "-wal")
      guard let size = try? pages(wal), size > 0 else { return try overwrite(url, at: [4096], 64) }
      try overwrite(wal, at: [32 + Int(chance.below(Int64(size * Self.page - 100)))], 64)
    }
  }

  private func pages(_ url: URL) throws -> Int {
    let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int
    return (size ?? 0) / Self.page
  }

  /// Random bytes at some places.
  private mutating func overwrite(_ url: URL, at places: [Int], _ count: Int) throws {
    for place in places {
      let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
      try write(Data(bytes), to: url, at: place)
    }
  }

  private func write(_ bytes: Data, to url: URL, at place: Int) throws {
    let file = try FileHandle(forUpdating: url)
    try file.seek(toOffset: UInt64(place))
    try file.write(contentsOf: bytes)
    try file.close()
  }
}
