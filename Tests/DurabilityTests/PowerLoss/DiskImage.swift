import Foundation
import Support

/// Which of the changes that were not synced survive a loss of power.
struct ImagePlan: Sendable, CustomStringConvertible {
  enum Data: String, CaseIterable, Sendable {
    case retained, dropped
    /// Each write is decided by itself.
    case some
    /// The older writes survive.
    case older
    /// The newer writes survive, which overtook others.
    case newer
    /// Each sector of 512 bytes is decided by itself.
    case torn
  }
  enum Names: String, CaseIterable, Sendable {
    case retained, dropped, some, older
  }

  var data: Data
  var names: Names
  /// Whether a file has the length that the program saw, with zeros for missing writes.
  var retainsLengths: Bool
  /// The percentage that survives if each change is decided by itself.
  var percent: Int
  var seed: UInt64

  /// The first five plans of each cut are fixed, the others are drawn.
  init(number: Int, seed: UInt64) {
    var chance = SplitMix64(seed: seed)
    self.seed = chance.next()
    percent = [10, 50, 90].randomElement(using: &chance) ?? 50
    switch number {
    case 0: (data, names, retainsLengths) = (.retained, .retained, false)
    case 1: (data, names, retainsLengths) = (.dropped, .dropped, false)
    case 2: (data, names, retainsLengths) = (.dropped, .retained, false)
    case 3: (data, names, retainsLengths) = (.retained, .dropped, false)
    case 4: (data, names, retainsLengths) = (.dropped, .retained, true)
    default:
      data = Data.allCases.randomElement(using: &chance) ?? .some
      names = Names.allCases.randomElement(using: &chance) ?? .some
      retainsLengths = chance.hits(25)
    }
  }

  var description: String {
    "data \(data.rawValue), names \(names.rawValue), \(percent) %"
      + (retainsLengths ? ", lengths retained" : "")
  }
}

/// A disk as it may look after a loss of power.
struct DiskImage {
  private(set) var files: [String: DiskContent] = [:]
  private(set) var folders: [String] = []
  /// What symbolic links lead to, by their paths.
  private(set) var links: [String: String] = [:]

  init(of disk: ModelDisk, _ plan: ImagePlan) {
    var chance = SplitMix64(seed: plan.seed)
    let last = disk.serial
    // One of the last operations, for the plans where the older or the newer changes survive.
    let border = last - Int.random(in: 0..<40, using: &chance)
    add(disk.root, "", plan, border: border, &chance)
  }

  private mutating func add(
    _ folder: ModelDisk.Folder, _ path: String, _ plan: ImagePlan, border: Int,
    _ chance: inout SplitMix64
  ) {
    var names = folder.certain
    for change in folder.changes {
      let survives =
        switch plan.names {
        case .retained: true
        case .dropped: false
        case .some: chance.hits(plan.percent)
        case .older: change.serial <= border
        }
      if survives { change.apply(to: &names) }
    }
    for (name, node) in names.sorted(by: { $0.key < $1.key }) {
      let path = path.isEmpty ? name : "\(path)/\(name)"
      switch node {
      case .file(let file):
        files[path] = Self.content(of: file, plan, border: border, &chance)
      case .folder(let folder):
        folders.append(path)
        add(folder, path, plan, border: border, &chance)
      case .symbolicLink(let target): links[path] = target
      }
    }
  }

  private static func content(
    of file: ModelDisk.File, _ plan: ImagePlan, border: Int, _ chance: inout SplitMix64
  ) -> DiskContent {
    var content = file.certain
    for change in file.changes {
      let survives =
        switch plan.data {
        case .retained, .torn: true
        case .dropped: false
        case .some: chance.hits(plan.percent)
        case .older: change.serial <= border
        case .newer: change.serial > border
        }
      guard survives else { continue }
      switch change.what {
      case .cut(let size): if plan.data != .torn || chance.hits(50) { content.resize(to: size) }
      case .write(let offset, let bytes):
        if plan.data == .torn {
          tear(bytes, at: offset, into: &content, plan.percent, &chance)
        } else {
          content.write(at: offset, bytes)
        }
      }
    }
    if plan.retainsLengths { content.resize(to: file.size) }
    return content
  }

  private static func tear(
    _ bytes: ArraySlice<UInt8>, at offset: Int, into content: inout DiskContent, _ percent: Int,
    _ chance: inout SplitMix64
  ) {
    var start = offset
    while start < offset + bytes.count {
      let end = min(offset + bytes.count, (start / DiskContent.sector + 1) * DiskContent.sector)
      if chance.hits(percent) {
        let first = bytes.startIndex + start - offset
        content.write(at: start, bytes[first..<(first + end - start)])
      }
      start = end
    }
  }

  /// A hash of the whole image.
  var hash: UInt64 {
    var hasher = SplitMix64(seed: UInt64(folders.count))
    var hash = hasher.next()
    for (path, target) in links.sorted(by: { $0.key < $1.key }) {
      for byte in (path + target).utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }
    for (path, content) in files.sorted(by: { $0.key < $1.key }) {
      for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
      hash = (hash ^ content.sum ^ UInt64(content.bytes.count)) &* 0xFF51_AFD7_ED55_8CCD
    }
    return hash
  }

  /// Writes the image below a folder.
  func write(to path: String) throws {
    for folder in folders where mkdir("\(path)/\(folder)", 0o700) != 0 {
      throw TestFailure("mkdir \(folder): \(errno)")
    }
    for (name, target) in links where symlink(target, "\(path)/\(name)") != 0 {
      throw TestFailure("symlink \(name): \(errno)")
    }
    for (name, content) in files {
      let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL, 0o600)
      guard descriptor >= 0 else { throw TestFailure("make \(name): \(errno)") }
      defer { close(descriptor) }
      var done = 0
      while done < content.bytes.count {
        let count = content.bytes.withUnsafeBytes {
          Foundation.write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done)
        }
        guard count > 0 else { throw TestFailure("write \(name): \(errno)") }
        done += count
      }
    }
  }
}
