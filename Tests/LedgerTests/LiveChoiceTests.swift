import AppStore
import Audit
import Entitlements
import Foundation
import Ledger
import Platform
import Store
import StrictJSON
import Support
import Testing

/// Which projection of a folder is live: the newest that the running program's own fold made.
@Suite struct LiveChoiceTests {
  /// A folder with two projections, and their names, the latest first. What was live before is
  /// removed.
  private func projections(_ testLedger: TestLedger) throws -> [String] {
    var names = try ProjectionList.read(testLedger.folder).names
    let first = testLedger.folder.projection(named: try #require(names.first))
    for _ in 0..<2 {
      #expect(FileManager.default.fileExists(atPath: first))
      #expect(try Rebuild.build(testLedger.folder) { _, _ in true } != nil)
      #expect(try Rebuild.perform(.adoptCurrent, testLedger.folder) == .done)
    }
    names = try ProjectionList.read(testLedger.folder).names
    #expect(names.count == 2)
    #expect(!FileManager.default.fileExists(atPath: first))
    return names
  }

  private func makeOther(_ name: String, _ folder: DataFolder, version: Int = 9) throws {
    let file = try SQLiteConnection.open(folder.projection(named: name), .write)
    try file.execute("UPDATE meta SET value = \(version) WHERE key = 'fold_version'")
    try file.checkpointTruncate()
    file.close()
  }

  private func find(_ folder: DataFolder) throws -> ProjectionChoice.Found {
    try ProjectionChoice.find(folder, try JournalReader.open(folder))
  }

  private func ledger() throws -> TestLedger {
    let testLedger = try TestLedger()
    for number in 0..<3 {
      let body = try SharedAuthority.sign(Sample.notification(number))
      #expect(try testLedger.ingest(body, at: Sample.start) == .accepted(Int64(number + 1)))
    }
    return testLedger
  }

  @Test func `the newest projection of the own fold is live, whichever is named first`() throws {
    let testLedger = try ledger()
    let digest = try testLedger.digest()
    let names = try testLedger.whileStopped { () -> [String] in
      let (folder, names) = (testLedger.folder, try projections(testLedger))
      #expect(try find(folder) == .own(folder.projection(named: names[0])))
      try makeOther(names[0], folder)
      #expect(try find(folder) == .own(folder.projection(named: names[1])))
      #expect(try ProjectionList.read(folder).names == names)
      return names
    }
    // The start names it first, and builds nothing.
    let folder = testLedger.folder
    #expect(testLedger.ledger.liveProjection.state == .following)
    #expect(try ProjectionList.read(folder).names == [names[1], names[0]])
    #expect(SymbolicLink.target(of: folder.liveProjection) == names[1])
    #expect(try testLedger.digest() == digest)
    try testLedger.whileStopped {
      try makeOther(names[1], folder)
      #expect(try find(folder) == .other(folder.projection(named: names[1])))
    }
    // Now this fold has none, and one is built.
    let list = try ProjectionList.read(folder).names
    #expect(testLedger.ledger.liveProjection.state == .following)
    #expect(!names.contains(list[0]) && Array(list.dropFirst()) == [names[1]])
    #expect(try testLedger.digest() == digest)
    try testLedger.whileStopped {
      try FileManager.default.removeItem(atPath: folder.projectionList)
      #expect(try find(folder) == .none)
    }
    #expect(try testLedger.digest() == digest)
  }
}
