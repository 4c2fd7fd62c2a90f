import Foundation
import Support

/// What the preloaded library wrote down: operations on files in the order in which they were done,
/// and the answers that left in between. `Tests/RecordedDisk` says how a record looks.
struct DiskTrace: Sendable {
  enum Operation: Sendable {
    case create(String, inode: UInt64)
    case write(inode: UInt64, at: Int, ArraySlice<UInt8>)
    case cut(inode: UInt64, size: Int)
    case sync(String, inode: UInt64)
    /// What was to be synced is in memory, and nobody knows whether it is on the disk.
    case failedSync(inode: UInt64)
    case syncFolder(String)
    case rename(String, String)
    case link(String, String)
    case remove(String)
    case makeFolder(String)
    /// 200 went out for the events at these places.
    case answer([Int64])
    case nothing

    var changesDisk: Bool {
      switch self {
      case .answer, .nothing: false
      default: true
      }
    }
  }

  let operations: [Operation]
  /// Where in the file each begins.
  let offsets: [Int]

  init(_ bytes: [UInt8]) throws {
    var operations: [Operation] = []
    var offsets: [Int] = []
    var place = 0
    func number<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
      bytes[(place + offset)...].prefix(MemoryLayout<Number>.size).reversed()
        .reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
    while place + 29 <= bytes.count {
      let kind = bytes[place]
      let (inode, offset) = (number(UInt64.self, at: 1), Int(number(Int64.self, at: 9)))
      let lengths = (0..<3).map { Int(number(UInt32.self, at: 17 + 4 * $0)) }
      let end = place + 29 + lengths.reduce(0, +)
      guard end <= bytes.count else { throw Trouble("the trace ends within a record") }
      let path = Self.text(bytes[(place + 29)...].prefix(lengths[0]))
      let other = Self.text(bytes[(place + 29 + lengths[0])...].prefix(lengths[1]))
      operations.append(
        try Self.operation(kind, inode, offset, path, other, bytes[(end - lengths[2])..<end]))
      offsets.append(place)
      place = end
    }
    (self.operations, self.offsets) = (operations, offsets)
  }

  private init(operations: [Operation], offsets: [Int]) {
    (self.operations, self.offsets) = (operations, offsets)
  }

  /// As a disk would have it that only says that it syncs: without what `isLie` picks.
  func lying(_ isLie: (Operation) -> Bool) -> DiskTrace {
    DiskTrace(operations: operations.map { isLie($0) ? .nothing : $0 }, offsets: offsets)
  }

  /// As starts would have left it that go on with the -wal they find, and do not copy it to a
  /// fresh inode: the bytes are the same, the inode is the old one.
  func withoutFresh(_ name: String) -> DiskTrace {
    var (wal, fresh): (UInt64?, UInt64?)
    var names: [UInt64: UInt64] = [:]
    let changed = operations.map { operation -> Operation in
      switch operation {
      case .create(let path, let inode) where path.hasSuffix("/\(name)"):
        wal = inode
      case .create(let path, let inode) where path.hasSuffix("/\(name).fresh"):
        fresh = inode
        return .nothing
      case .rename(let path, _) where path.hasSuffix("/\(name).fresh"):
        if let fresh, let wal { names[fresh] = wal }
        fresh = nil
        return .nothing
      default: break
      }
      guard let inode = operation.inode else { return operation }
      return inode == fresh ? .nothing : operation.moved(to: names[inode] ?? inode)
    }
    return DiskTrace(operations: changed, offsets: offsets)
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  private static func operation(
    _ kind: UInt8, _ inode: UInt64, _ offset: Int, _ path: String, _ other: String,
    _ content: ArraySlice<UInt8>
  ) throws -> Operation {
    switch UnicodeScalar(kind) {
    case "C": .create(path, inode: inode)
    case "W": .write(inode: inode, at: offset, content)
    case "T": .cut(inode: inode, size: offset)
    case "S": .sync(path, inode: inode)
    case "F": .failedSync(inode: inode)
    case "D": .syncFolder(path)
    case "R": .rename(path, other)
    case "L": .link(path, other)
    case "U", "X": .remove(path)
    case "M": .makeFolder(path)
    case "A": .answer(places(text(content)))
    case "G": .nothing
    default: throw Trouble("the trace has a record of kind \(kind)")
    }
  }

  /// `{"outcome":"accepted","seq":7}`, perhaps several behind each other.
  private static func places(_ sent: String) -> [Int64] {
    sent.components(separatedBy: "\"outcome\":").dropFirst().compactMap { part in
      part.components(separatedBy: "\"seq\":").dropFirst().first
        .flatMap { Int64($0.prefix { $0.isNumber }) }
    }
  }
}

extension DiskTrace.Operation {
  /// Whose content it is about.
  fileprivate var inode: UInt64? {
    switch self {
    case .write(let inode, _, _), .cut(let inode, _), .sync(_, let inode),
      .failedSync(let inode):
      inode
    default: nil
    }
  }

  fileprivate func moved(to inode: UInt64) -> DiskTrace.Operation {
    switch self {
    case .write(_, let offset, let bytes): .write(inode: inode, at: offset, bytes)
    case .cut(_, let size): .cut(inode: inode, size: size)
    case .sync(let path, _): .sync(path, inode: inode)
    case .failedSync: .failedSync(inode: inode)
    default: self
    }
  }
}
