import Foundation
import Support

/// What the preloaded library recorded: operations on files in the order of execution, and the
/// answers in between. `Tests/Support/RecordedDisk` describes a record.
struct DiskTrace: Sendable {
  enum Operation: Sendable {
    case create(String, inode: UInt64)
    case write(inode: UInt64, at: Int, ArraySlice<UInt8>)
    case cut(inode: UInt64, size: Int)
    case sync(String, inode: UInt64)
    /// The sync of a file failed, so what was written may or may not be on the disk.
    case failedSync(inode: UInt64)
    case syncFolder(String)
    case rename(String, String)
    case link(String, String)
    case symbolicLink(String, target: String)
    case remove(String)
    case makeFolder(String)
    /// An answer of 200 was sent for the events with these seqs.
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
  /// Where each operation begins in the trace, in bytes.
  let offsets: [Int]

  init(_ bytes: [UInt8]) throws {
    var operations: [Operation] = []
    var offsets: [Int] = []
    var start = 0
    func number<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
      bytes[(start + offset)...].prefix(MemoryLayout<Number>.size).reversed()
        .reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
    while start + 29 <= bytes.count {
      let kind = bytes[start]
      let (inode, offset) = (number(UInt64.self, at: 1), Int(number(Int64.self, at: 9)))
      let lengths = (0..<3).map { Int(number(UInt32.self, at: 17 + 4 * $0)) }
      let end = start + 29 + lengths.reduce(0, +)
      guard end <= bytes.count else { throw TestFailure("the trace ends within a record") }
      let path = Self.text(bytes[(start + 29)...].prefix(lengths[0]))
      let other = Self.text(bytes[(start + 29 + lengths[0])...].prefix(lengths[1]))
      operations.append(
        try Self.operation(kind, inode, offset, path, other, bytes[(end - lengths[2])..<end]))
      offsets.append(start)
      start = end
    }
    (self.operations, self.offsets) = (operations, offsets)
  }

  private init(operations: [Operation], offsets: [Int]) {
    (self.operations, self.offsets) = (operations, offsets)
  }

  /// The trace on a disk that reports success for a sync without doing it: without the operations
  /// that `isDropped` selects.
  func dropping(_ isDropped: (Operation) -> Bool) -> DiskTrace {
    DiskTrace(operations: operations.map { isDropped($0) ? .nothing : $0 }, offsets: offsets)
  }

  /// The trace as if a start continued with the -wal it finds, instead of copying it to a new
  /// inode: the bytes are the same, the inode is the old one.
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
    case "Y": .symbolicLink(path, target: other)
    case "U", "X": .remove(path)
    case "M": .makeFolder(path)
    case "A": .answer(seqs(text(content)))
    case "G": .nothing
    default: throw TestFailure("the trace has a record of kind \(kind)")
    }
  }

  /// The seqs in one or more bodies such as `{"outcome":"accepted","seq":7}`.
  private static func seqs(_ sent: String) -> [Int64] {
    sent.components(separatedBy: "\"outcome\":").dropFirst().compactMap { part in
      part.components(separatedBy: "\"seq\":").dropFirst().first
        .flatMap { Int64($0.prefix { $0.isNumber }) }
    }
  }
}

extension DiskTrace.Operation {
  /// The file whose content it concerns.
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
