import Configuration
import Foundation
import JournalStore
import LedgerEngine
import Platform
import Support

/// A trace with all that is needed to check images of it; lies in a folder, which is kept where an
/// image fails.
struct Recorded: Sendable {
  let name: String
  let folder: URL
  private(set) var trace: DiskTrace
  /// Where it lay when it was recorded.
  let root: String
  /// Moments to cut at: operations before the first belong to how the trial was set up.
  let moments: ClosedRange<Int>
  let configuration: Configuration
  /// Everything that was ever sent, as the door lets it through, by uuid.
  let received: [String: Receiver.Received]
  /// Which event each place has; of what was answered, in every image as well.
  let places: [String]

  /// Of a trial whose programs have ended.
  init(_ name: String, _ disk: WatchedDisk, from mark: Int = 0) throws {
    var lines = "\(name)\n\(max(mark, disk.described))\n\(disk.installation.folder.path)\n"
    for (uuid, body) in disk.sent { lines += "\(uuid) \(String(decoding: body, as: UTF8.self))\n" }
    let folder = disk.installation.folder
    try Data(lines.utf8).write(to: folder.appending(path: "sent"))
    try self.init(folder: folder)
  }

  /// Of a folder that was kept.
  init(folder: URL) throws {
    self.folder = folder
    let lines = try String(contentsOf: folder.appending(path: "sent"), encoding: .utf8)
      .split(separator: "\n")
    name = String(lines[0])
    root = String(lines[2])
    trace = try DiskTrace(Array(try Data(contentsOf: folder.appending(path: "trace"))))
    let mark = Int(lines[1]) ?? 0
    let first = trace.offsets.firstIndex { $0 >= mark } ?? trace.operations.count
    moments = first...trace.operations.count
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
    places =
      try data.hasJournal()
      ? JournalReader.open(data).events(after: 0, limit: 100_000).map(\.notificationUUID) : []
  }

  /// The same with another trace of as many operations.
  func with(_ trace: DiskTrace) -> Recorded {
    var copy = self
    copy.trace = trace
    return copy
  }

  /// What had been answered before an operation: events by their places.
  func answered(before moment: Int) -> [Int64: String] {
    var answered: [Int64: String] = [:]
    for case .answer(let places) in trace.operations[..<moment] {
      for place in places {
        answered[place] = place <= self.places.count ? self.places[Int(place) - 1] : "nothing"
      }
    }
    return answered
  }

  /// Puts all of it where it stays, so that the failure can be looked at and made again.
  func keep() -> String {
    let kept = FileManager.default.temporaryDirectory
      .appending(path: "subledger-recorded-\(UUID().uuidString)")
    try? FileManager.default.copyItem(at: folder, to: kept)
    let config = kept.appending(path: "config.json")
    if let text = try? String(contentsOf: config, encoding: .utf8) {
      let moved = text.replacingOccurrences(of: folder.path, with: kept.path)
      try? Data(moved.utf8).write(to: config)
    }
    return kept.path
  }
}
