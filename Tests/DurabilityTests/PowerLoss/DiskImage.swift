import Foundation
import Support

/// How a loss of power is to leave what was not certain yet.
struct ImagePlan: Sendable, CustomStringConvertible {
  enum Data: String, CaseIterable, Sendable {
    case kept, dropped
    /// Each write by itself.
    case some
    /// What came first.
    case older
    /// What came last: writes that overtook others.
    case newer
    /// Each 512 bytes by themselves.
    case torn
  }
  enum Names: String, CaseIterable, Sendable {
    case kept, dropped, some, older
  }

  var data: Data
  var names: Names
  /// Whether a file is as long as the program saw it, with zeros where writes are missing.
  var keepsLengths: Bool
  /// How many in a hundred are kept, where each is for itself.
  var percent: Int
  var seed: UInt64

  /// The first five of each moment are the plain ones; the others are drawn.
  init(number: Int, seed: UInt64) {
    var chance = DiskChance(seed)
    self.seed = chance.next()
    percent = [10, 50, 90].randomElement(using: &chance) ?? 50
    switch number {
    case 0: (data, names, keepsLengths) = (.kept, .kept, false)
    case 1: (data, names, keepsLengths) = (.dropped, .dropped, false)
    case 2: (data, names, keepsLengths) = (.dropped, .kept, false)
    case 3: (data, names, keepsLengths) = (.kept, .dropped, false)
    case 4: (data, names, keepsLengths) = (.dropped, .kept, true)
    default:
      data = Data.allCases.randomElement(using: &chance) ?? .some
      names = Names.allCases.randomElement(using: &chance) ?? .some
      keepsLengths = chance.hits(25)
    }
  }

  var description: String {
    "data \(data.rawValue), names \(names.rawValue), \(percent) %"
      + (keepsLengths ? ", lengths kept" : "")
  }
}

/// A disk as it may look after a loss of power.
struct DiskImage {
  private(set) var files: [String: DiskContent] = [:]
  private(set) var folders: [String] = []

  init(of disk: ModelDisk, _ plan: ImagePlan) {
    var chance = DiskChance(plan.seed)
    let last = disk.serial
    // Some serial of the last operations: what is older or newer than this one is kept.
    let border = last - Int.random(in: 0..<40, using: &chance)
    add(disk.root, "", plan, border: border, &chance)
  }

  private mutating func add(
    _ folder: ModelDisk.Folder, _ path: String, _ plan: ImagePlan, border: Int,
    _ chance: inout DiskChance
  ) {
    var names = folder.certain
    for change in folder.changes {
      let isKept =
        switch plan.names {
        case .kept: true
        case .dropped: false
        case .some: chance.hits(plan.percent)
        case .older: change.serial <= border
        }
      if isKept { change.apply(to: &names) }
    }
    for (name, node) in names.sorted(by: { $0.key < $1.key }) {
      let path = path.isEmpty ? name : "\(path)/\(name)"
      switch node {
      case .file(let file):
        files[path] = Self.content(of: file, plan, border: border, &chance)
      case .folder(let folder):
        folders.append(path)
        add(folder, path, plan, border: border, &chance)
      }
    }
  }

  private static func content(
    of file: ModelDisk.File, _ plan: ImagePlan, border: Int, _ chance: inout DiskChance
  ) -> DiskContent {
    var content = file.certain
    for change in file.changes {
      let isKept =
        switch plan.data {
        case .kept, .torn: true
        case .dropped: false
        case .some: chance.hits(plan.percent)
        case .older: change.serial <= border
        case .newer: change.serial > border
        }
      guard isKept else { continue }
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
    if plan.keepsLengths { content.resize(to: file.size) }
    return content
  }

  private static func tear(
    _ bytes: ArraySlice<UInt8>, at offset: Int, into content: inout DiskContent, _ percent: Int,
    _ chance: inout DiskChance
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

  /// Equal for equal disks, and for hardly any others.
  var number: UInt64 {
    var hasher = DiskChance(UInt64(folders.count))
    var number = hasher.next()
    for (path, content) in files.sorted(by: { $0.key < $1.key }) {
      for byte in path.utf8 { number = (number ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
      number = (number ^ content.sum ^ UInt64(content.bytes.count)) &* 0xFF51_AFD7_ED55_8CCD
    }
    return number
  }

  /// Writes it all below a folder.
  func write(to path: String) throws {
    for folder in folders where mkdir("\(path)/\(folder)", 0o700) != 0 {
      throw Trouble("mkdir \(folder): \(errno)")
    }
    for (name, content) in files {
      let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL, 0o600)
      guard descriptor >= 0 else { throw Trouble("make \(name): \(errno)") }
      defer { close(descriptor) }
      var done = 0
      while done < content.bytes.count {
        let count = content.bytes.withUnsafeBytes {
          Foundation.write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done)
        }
        guard count > 0 else { throw Trouble("write \(name): \(errno)") }
        done += count
      }
    }
  }
}
