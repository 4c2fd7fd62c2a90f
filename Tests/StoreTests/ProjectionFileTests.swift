import AppStore
import Entitlements
import Foundation
import Platform
import Store
import Support
import Testing

/// The files of projections: which one is live, which are retained, and their condition.
@Suite struct ProjectionFileTests {
  private let identity = ProjectionIdentity(
    foldVersion: 1, fingerprint: "f1", journalId: [UInt8](repeating: 7, count: 16))

  private func hash(_ seq: Int64) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: seq), count: 32)
  }

  private func key(_ number: Int) -> StreamKey {
    StreamKey(
      environment: "Production", bundleId: "com.example.app", originalTransactionId: "\(number)")
  }

  private func row(_ number: Int, _ state: Int) -> FoldedStream {
    FoldedStream(key(number), StreamState(number: state))
  }

  private func condition(
    _ path: String, _ identity: ProjectionIdentity, head: Int64 = 9, salt: UInt8 = 0
  ) throws -> ProjectionCondition {
    try ProjectionFile.examine(path, identity) { seq in
      seq > head ? nil : self.hash(seq).map { $0 ^ salt }
    }
  }

  @Test func `the condition of a file follows from its identity, seq and hash`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    #expect(try condition(path, identity) == .absent)
    let projection = try Projection.create(path, identity)
    try projection.commit(rows: [], foldedThrough: 5, hash: hash(5))
    #expect(try condition(path, identity) == .usable(foldedThrough: 5))
    #expect(try condition(path, identity, head: 4) == .ahead(foldedThrough: 5))
    #expect(try condition(path, identity, salt: 1) == .diverged(foldedThrough: 5))
    let other = ProjectionIdentity(foldVersion: 1, fingerprint: "f1", journalId: hash(1))
    #expect(try condition(path, other) == .otherJournal)
    for (version, fingerprint) in [(2, "f1"), (1, "f2")] {
      let other = ProjectionIdentity(
        foldVersion: version, fingerprint: fingerprint, journalId: identity.journalId)
      #expect(try condition(path, other) == .otherFold(foldedThrough: 5))
      #expect(try condition(path, other, head: 4) == .ahead(foldedThrough: 5))
    }
    try projection.close()
    #expect(try Projection.open(path).foldedThrough == 5)
    try Data("nothing".utf8).write(to: URL(filePath: path))
    #expect(try condition(path, identity) == .damaged)
    let retained = ["entitlements-2.sqlite", "entitlements-3.sqlite"]
    let names = [retained[0], "entitlements-1.sqlite", retained[1]]
    try ProjectionList(names: names).write(scratch.folder)
    try ProjectionFile.putAside(path, in: scratch.folder)
    #expect(try condition(path, identity) == .absent)
    #expect(try ProjectionList.read(scratch.folder).names == retained)
    _ = lock.path
  }

  /// Seq and hash are read from one state of the file.
  @Test func `a file that is folded meanwhile is never taken for one of another history`() throws {
    let scratch = try Scratch()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    let (identity, last) = (identity, Int64(2_000))
    let projection = try Projection.create(path, identity)
    try projection.commit(rows: [], foldedThrough: 1, hash: hash(1))
    try projection.close()
    let thread = try Platform.Thread.start("fold") {
      guard let projection = try? Projection.open(path) else { return }
      for seq in 2...last {
        let hash = [UInt8](repeating: UInt8(truncatingIfNeeded: seq), count: 32)
        try? projection.commit(rows: [], foldedThrough: seq, hash: hash)
      }
      try? projection.close()
    }
    var through: Int64 = 0
    while through < last {
      let found = try condition(path, identity, head: last)
      guard case .usable(let seq) = found else {
        Issue.record("\(found) after \(through)")
        break
      }
      through = seq
    }
    thread.join()
  }

  private func add(
    _ row: FoldedStream, before next: Int64, events: Int64, to projection: Projection
  ) throws {
    var built = BuiltStreams(before: next)
    built.rows = [StatePacker().pack(row)]
    built.events = events
    var rest = [built]
    try projection.addBuilt { rest.popLast() }
  }

  @Test func `an interrupted build continues where it stopped`() throws {
    let scratch = try Scratch()
    let path = scratch.folder.buildingProjection
    let build = try Projection.Build(through: 7, hash: hash(7))
    let first = try Projection.create(path, identity, toBuild: build)
    try add(row(1, 1), before: 2, events: 3, to: first)
    #expect(try ProjectionList.read(scratch.folder).live == nil)
    #expect(try condition(path, identity) == .unfinished)
    #expect(try condition(path, identity, head: 6) == .ahead(foldedThrough: 7))
    #expect(try condition(path, identity, salt: 1) == .diverged(foldedThrough: 7))
    let other = ProjectionIdentity(foldVersion: 2, fingerprint: "", journalId: identity.journalId)
    #expect(try condition(path, other) == .damaged)
    try first.close()
    let second = try Projection.open(path)
    #expect(second.build?.nextStream == 2 && second.build?.events == 3)
    #expect(second.foldedThrough == 0)
    try add(row(2, 2), before: 3, events: 4, to: second)
    try second.finishBuilding()
    #expect(second.foldedThrough == 7 && second.build == nil)
    try second.close()
    #expect(try condition(path, identity) == .usable(foldedThrough: 7))
    #expect(try ProjectionReader.open(scratch.folder, path: path).count() == 2)
  }

  @Test func `going live takes one rename and retains what was live`() throws {
    let scratch = try Scratch()
    let folder = scratch.folder
    let lock = try folder.lock()
    func release(_ state: Int, _ version: Int64) throws {
      let folder = DataFolder(path: folder.path, fold: Fold(version: version))
      let building = folder.buildingProjection
      let built = try Projection.create(building, identity)
      try built.commit(rows: [row(1, state)], foldedThrough: 2, hash: hash(2))
      #expect(throws: LedgerError.self) {
        try ProjectionFile.goLive(building, in: folder)
      }
      try built.close()
      try ProjectionFile.goLive(building, in: folder)
    }
    try release(1, 1)
    #expect(try live(folder) == 1)
    try release(2, 1)
    try release(3, 2)
    // What was live before the one before is removed.
    let names = ["entitlements-2.sqlite", "entitlements-1.2.sqlite"]
    #expect(try ProjectionList.read(folder).names == names)
    #expect(try live(folder) == 3)
    let old = try ProjectionReader.open(folder)
    // As the start of the program before does: the retained one is named first.
    try ProjectionFile.makeLive(names[1], in: folder)
    #expect(try ProjectionList.read(folder).names == [names[1], names[0]])
    #expect(try live(folder) == 2 && old.row(of: key(1)) == row(1, 3).projected)
    try ProjectionFile.makeLive(names[0], in: folder)
    #expect(try live(folder) == 3)
    #expect(
      try scratch.files().keys.filter { $0.hasSuffix(".sqlite") }.sorted() == [
        "entitlements-1.2.sqlite", "entitlements-2.sqlite", "entitlements.sqlite",
      ])
    try release(4, 1)
    #expect(try live(folder) == 4)
    #expect(try ProjectionList.read(folder).names == ["entitlements-1.sqlite", names[0]])
    _ = lock.path
  }

  /// The number of the live row's state, which the folder's link leads to as well.
  private func live(_ folder: DataFolder) throws -> Int? {
    let live = try ProjectionReader.open(folder).streams(withOriginalTransactionId: "1").first
    let linked = try FileManager.default.destinationOfSymbolicLink(atPath: folder.liveProjection)
    #expect(try linked == ProjectionList.read(folder).live)
    return live.flatMap { StreamState(decoding: $0.state)?.number }
  }

  /// A line of the list is only used as a file name in the folder.
  @Test func `the list accepts only names of projections`() throws {
    let scratch = try Scratch()
    for text in ["../entitlements-1.sqlite", "entitlements-/../1.sqlite", "journal.sqlite", "\0"] {
      try Data(text.utf8).write(to: URL(filePath: scratch.folder.projectionList))
      #expect(try ProjectionList.read(scratch.folder).names.isEmpty)
    }
  }
}
