import AppStore
import Foundation
import Ledger
import Platform
import Store
import Support

/// A trace, and everything needed to check images of it. It is stored in a folder, which is
/// preserved if an image fails.
struct RecordedRun: Sendable {
  let name: String
  let folder: URL
  private(set) var trace: DiskTrace
  /// The folder's path when it was recorded.
  let root: String
  /// The numbers of operations after which the power can be cut. Earlier ones prepared the test.
  let cuts: ClosedRange<Int>
  let configuration: Configuration
  /// Every notification that was sent, as it was received, by uuid.
  let received: [String: Receiver.Received]
  /// The uuids of the journal at the end, in the order of seq. An image has the same ones for the
  /// seqs that were answered.
  let uuids: [String]

  /// Makes one from an installation whose programs have ended.
  init(_ name: String, _ disk: InterceptedDisk, from mark: Int = 0) throws {
    var lines = "\(name)\n\(max(mark, disk.described))\n\(disk.installation.folder.path)\n"
    for (uuid, body) in disk.sent { lines += "\(uuid) \(String(decoding: body, as: UTF8.self))\n" }
    let folder = disk.installation.folder
    try Data(lines.utf8).write(to: folder.appending(path: "sent"))
    try self.init(folder: folder)
  }

  /// Reads one from a folder that was preserved.
  init(folder: URL) throws {
    self.folder = folder
    let lines = try String(contentsOf: folder.appending(path: "sent"), encoding: .utf8)
      .split(separator: "\n")
    name = String(lines[0])
    root = String(lines[2])
    trace = try DiskTrace(Array(try Data(contentsOf: folder.appending(path: "trace"))))
    let mark = Int(lines[1]) ?? 0
    let first = trace.offsets.firstIndex { $0 >= mark } ?? trace.operations.count
    cuts = first...trace.operations.count
    configuration = try Configuration.load(
      file: folder.appending(path: "config.json").path, variables: [:], listen: nil, data: nil)
    let receiver = try Receiver(configuration)
    received = try Dictionary(
      uniqueKeysWithValues: lines.dropFirst(3).map { line in
        let parts = line.split(separator: " ", maxSplits: 1)
        return (
          String(parts[0]), try receiver.receive(body: Array(parts[1].utf8), at: Sample.start)
        )
      })
    let data = DataFolder(path: folder.appending(path: "data").path)
    uuids =
      try data.hasJournal()
      ? JournalReader.open(data).events(after: 0, limit: 100_000).map(
        \.notificationUUID.description)
      : []
  }

  /// A copy with another trace of the same number of operations.
  func with(_ trace: DiskTrace) -> RecordedRun {
    var copy = self
    copy.trace = trace
    return copy
  }

  /// The events that were answered before an operation: uuid by seq.
  func answered(before operation: Int) -> [Int64: String] {
    var answered: [Int64: String] = [:]
    for case .answer(let seqs) in trace.operations[..<operation] {
      for seq in seqs {
        answered[seq] = seq <= uuids.count ? uuids[Int(seq) - 1] : "nothing"
      }
    }
    return answered
  }

  /// Copies the folder to a path that is not removed, so that the failure can be examined and
  /// reproduced. Returns the path.
  func preserve() -> String {
    let copy = FileManager.default.temporaryDirectory
      .appending(path: "subledger-recorded-\(UUID().uuidString)")
    try? FileManager.default.copyItem(at: folder, to: copy)
    let config = copy.appending(path: "config.json")
    if let text = try? String(contentsOf: config, encoding: .utf8) {
      let moved = text.replacingOccurrences(of: folder.path, with: copy.path)
      try? Data(moved.utf8).write(to: config)
    }
    return copy.path
  }
}
