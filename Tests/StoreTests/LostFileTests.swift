import Foundation
import Platform
import Store
import Support
import Testing

/// Another program removes, replaces or cuts a file of a journal that is open. What was answered is
/// what `append` returned.
@Suite struct LostFileTests {
  private let scratch: Scratch
  private let opened: Opened

  init() throws {
    scratch = try Scratch()
    opened = try scratch.open()
  }

  private func append(_ numbers: ClosedRange<Int>) throws {
    _ = try opened.journal.append(numbers.map { .event(Sample.event($0)) })
  }

  /// How many events a start after a kill finds. It checks their chain.
  private func foundAfterKill() throws -> Int64 { try scratch.crashed().open().journal.head.seq }

  private var wal: String { scratch.folder.journalWAL }
  private static let lostWAL = LedgerError.lostFile("journal.sqlite-wal")

  @Test func `a journal that nobody touches loses nothing`() throws {
    for number in 1...30 {
      _ = try opened.journal.append([.event(Sample.event(number))])
      try opened.journal.checkFiles()
    }
    try opened.journal.emptyWAL()
    try opened.journal.checkFiles()
    try append(31...32)
    // Larger than what is checkpointed, several times.
    for number in 33...90 {
      let body = Sample.noise(number, 1_000_000)
      _ = try opened.journal.append([.event(Sample.event(number, body: body))])
      try opened.journal.checkpointIfNeeded()
      try opened.journal.checkFiles()
    }
    #expect(try foundAfterKill() == 90)
    try opened.journal.close()
    #expect(try foundAfterKill() == 90)
  }

  @Test(arguments: ["removed", "renamed", "replaced"])
  func `no event is answered after the -wal lost its name, and none before is lost`(
    how: String
  ) throws {
    try append(1...20)
    switch how {
    case "renamed": try FileManager.default.moveItem(atPath: wal, toPath: wal + ".old")
    default: try FileManager.default.removeItem(atPath: wal)
    }
    if how == "replaced" { #expect(FileManager.default.createFile(atPath: wal, contents: nil)) }
    #expect(throws: Self.lostWAL) { try append(21...22) }
    #expect(throws: Self.lostWAL) { try append(23...23) }
    #expect(try (20...22).contains(foundAfterKill()))
  }

  /// To every size, so that frames are cut at their ends and inside.
  @Test func `a -wal that was cut is noticed`() throws {
    try append(1...20)
    let whole = try Data(contentsOf: URL(filePath: wal)).count
    var random = SplitMix64(seed: 4)
    var sizes = [0, 1, 12, 16, 24, 31, 32, 33, 32 + 4_120, whole - 1, whole - 4_120]
    sizes += (0..<20).map { _ in Int.random(in: 0..<whole, using: &random) }
    for size in sizes {
      let scratch = try Scratch()
      let opened = try scratch.open()
      for number in 1...20 { _ = try opened.journal.append([.event(Sample.event(number))]) }
      truncate(scratch.folder.journalWAL, off_t(size))
      #expect(throws: Self.lostWAL, "\(size)") {
        _ = try opened.journal.append([.event(Sample.event(21))])
      }
    }
  }

  @Test(arguments: ["removed", "cut"])
  func `it is noticed while nothing is appended`(how: String) throws {
    try append(1...5)
    try opened.journal.checkFiles()
    if how == "cut" {
      truncate(wal, 0)
    } else {
      try FileManager.default.removeItem(atPath: wal)
    }
    #expect(throws: Self.lostWAL) { try opened.journal.checkFiles() }
    if how == "removed" { #expect(try foundAfterKill() == 5) }
  }

  /// Of a -wal that is in the file already, the next start still needs that there is one.
  @Test func `a -wal that was cut right after the start is noticed`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append((1...5).map { .event(Sample.event($0)) })
      try opened.journal.close()
    }
    let again = try scratch.open()
    truncate(scratch.folder.journalWAL, 0)
    #expect(throws: Self.lostWAL) { try again.journal.checkFiles() }
  }

  @Test(arguments: [true, false])
  func `no event is answered after journal.sqlite lost its name`(isReplaced: Bool) throws {
    try append(1...5)
    let moved = scratch.folder.path + "/moved"
    try FileManager.default.moveItem(atPath: scratch.folder.journal, toPath: moved)
    if isReplaced {
      try FileManager.default.copyItem(atPath: moved, toPath: scratch.folder.journal)
    }
    #expect(throws: LedgerError.lostFile("journal.sqlite")) { try append(6...6) }
    // Under its other name it is whole without a -wal.
    let folder = try Scratch()
    try FileManager.default.moveItem(atPath: moved, toPath: folder.folder.journal)
    #expect(try folder.open().journal.head.seq >= 5)
  }
}
