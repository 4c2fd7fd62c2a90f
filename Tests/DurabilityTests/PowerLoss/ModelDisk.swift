import Foundation
import Support

/// A disk as a program sees it, and the part of it that is certain to survive a loss of power.
///
/// It assumes what fsync(2) promises and nothing else: content is certain once its file was synced,
/// a name once its folder was. Until then each write, each sector of it, and each name may survive
/// or not, independently of earlier and later ones. A failed sync makes nothing certain and marks
/// the pages as clean: the next successful sync does not write them again.
final class ModelDisk {
  struct Change {
    enum What {
      case write(at: Int, ArraySlice<UInt8>)
      case cut(size: Int)
    }
    let serial: Int
    let what: What
    /// Whether a sync of it failed.
    var isLost = false
  }

  final class File {
    var certain = DiskContent()
    var changes: [Change] = []
    /// The size that the program sees.
    var size = 0
  }

  indirect enum Node {
    case file(File)
    case folder(Folder)
    /// A symbolic link, and what it leads to.
    case symbolicLink(String)
  }

  struct NameChange {
    enum What {
      case set(String, Node)
      case remove(String)
      case rename(String, String, Node)
    }
    let serial: Int
    let what: What

    func apply(to names: inout [String: Node]) {
      switch what {
      case .set(let name, let node): names[name] = node
      case .remove(let name): names[name] = nil
      case .rename(let from, let to, let node):
        names[from] = nil
        names[to] = node
      }
    }
  }

  final class Folder {
    /// The names that the program sees.
    var names: [String: Node] = [:]
    var certain: [String: Node] = [:]
    var changes: [NameChange] = []
  }

  let root = Folder()
  private let rootPath: String
  private var files: [UInt64: File] = [:]
  private(set) var serial = 0

  /// - Parameter rootPath: the folder above the recorded paths, which exists from the start.
  init(rootPath: String) { self.rootPath = rootPath }

  func apply(_ operation: DiskTrace.Operation) throws {
    serial += 1
    switch operation {
    case .create(let path, let inode):
      let file = File()
      files[inode] = file
      try change(path) { .set($0, .file(file)) }
    case .write(let inode, let offset, let bytes):
      let file = try file(inode)
      file.size = max(file.size, offset + bytes.count)
      file.changes.append(Change(serial: serial, what: .write(at: offset, bytes)))
    case .cut(let inode, let size):
      let file = try file(inode)
      file.size = size
      file.changes.append(Change(serial: serial, what: .cut(size: size)))
    case .sync(_, let inode): try file(inode).sync()
    case .failedSync(let inode): try file(inode).loseSync()
    case .syncFolder(let path):
      let folder = try folder(path)
      folder.certain = folder.names
      folder.changes = []
    case .rename(let from, let to): try rename(from, to)
    case .link(let from, let to):
      let (folder, name) = try parent(from)
      guard let node = folder.names[name] else { throw TestFailure("no \(from)") }
      try change(to) { .set($0, node) }
    case .symbolicLink(let path, let target): try change(path) { .set($0, .symbolicLink(target)) }
    case .remove(let path): try change(path) { .remove($0) }
    case .makeFolder(let path): try change(path) { .set($0, .folder(Folder())) }
    case .answer, .nothing: break
    }
  }

  private func rename(_ from: String, _ to: String) throws {
    let (folder, name) = try parent(from)
    let (target, newName) = try parent(to)
    guard let node = folder.names[name], folder === target else {
      throw TestFailure("a rename from one folder to another: \(from)")
    }
    try change(from) { _ in .rename(name, newName, node) }
  }

  private func file(_ inode: UInt64) throws -> File {
    guard let file = files[inode] else { throw TestFailure("a file that was not created") }
    return file
  }

  private func change(_ path: String, _ what: (String) -> NameChange.What) throws {
    let (folder, name) = try parent(path)
    let change = NameChange(serial: serial, what: what(name))
    change.apply(to: &folder.names)
    folder.changes.append(change)
  }

  private func parent(_ path: String) throws -> (Folder, String) {
    let cut = path.lastIndex(of: "/") ?? path.startIndex
    return (try folder(String(path[..<cut])), String(path[path.index(after: cut)...]))
  }

  private func folder(_ path: String) throws -> Folder {
    guard path.hasPrefix(rootPath) else { throw TestFailure("outside: \(path)") }
    var folder = root
    for name in path.dropFirst(rootPath.count).split(separator: "/") {
      guard case .folder(let next)? = folder.names[String(name)] else {
        throw TestFailure("no folder \(path)")
      }
      folder = next
    }
    return folder
  }
}

extension ModelDisk.File {
  private static let page = 4096

  func sync() {
    let dirty = dirtyPages
    var left: [ModelDisk.Change] = []
    for change in changes {
      switch change.what {
      case .write(let offset, let bytes):
        // A page is written whole, including changes whose sync failed before.
        if change.isLost && !dirty.contains(offset / Self.page) {
          left.append(change)
        } else {
          certain.write(at: offset, bytes)
        }
      case .cut(let size):
        certain.resize(to: size)
        left.removeAll { change in
          guard case .write(let offset, _) = change.what else { return true }
          return offset >= size
        }
      }
    }
    certain.resize(to: size)
    changes = left
  }

  private var dirtyPages: Set<Int> {
    var pages: Set<Int> = []
    for change in changes where !change.isLost {
      guard case .write(let offset, let bytes) = change.what, !bytes.isEmpty else { continue }
      pages.formUnion(offset / Self.page...(offset + bytes.count - 1) / Self.page)
    }
    return pages
  }

  /// Marks the changes as lost: the kernel forgets which pages are dirty, but not the file's
  /// length.
  func loseSync() {
    var lost: [ModelDisk.Change] = []
    for change in changes {
      guard case .write(let offset, let bytes) = change.what, !change.isLost else {
        lost.append(change)
        continue
      }
      var start = offset
      while start < offset + bytes.count {
        let end = min(offset + bytes.count, (start / Self.page + 1) * Self.page)
        let part = bytes[(bytes.startIndex + start - offset)..<(bytes.startIndex + end - offset)]
        lost.append(
          ModelDisk.Change(
            serial: change.serial, what: .write(at: start, part), isLost: true))
        start = end
      }
    }
    changes = lost
  }
}
