import Foundation
import JournalStore
import Platform
import Synchronization
import Testing

/// What goes wrong around the files of projections when several hands are on them.
@Suite struct DamagedProjectionTests {
  private let identity = ProjectionIdentity(
    foldVersion: 1, fingerprint: "f1", journalId: [UInt8](repeating: 7, count: 16))

  private func row(_ number: Int, _ state: [UInt8]) -> ProjectedRow {
    ProjectedRow(
      key: StreamKey(
        environment: "Production", bundleId: "com.example.app", originalTransactionId: "\(number)"),
      state: state)
  }

  private func hash(_ seq: Int64) -> [UInt8] { [UInt8](repeating: UInt8(seq), count: 32) }

  private func release(_ folder: DataFolder, _ state: UInt8, keeping kept: Int = 2) throws {
    let building = folder.buildingProjection(1)
    let built = try Projection.create(building, identity)
    try built.commit(rows: [row(1, [state])], foldedThrough: 2, hash: hash(2))
    try built.close()
    try ProjectionFile.goLive(building, in: folder, foldVersion: 1, keeping: kept)
  }

  /// A name twice in the list must not make the live one a kept one, which pruning removes.
  @Test func aNameTwiceRemovesNothing() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    try release(scratch.folder, 1)
    let name = "entitlements-1.sqlite\n"
    try Data((name + name).utf8).write(to: URL(filePath: scratch.folder.projectionList))
    #expect(try ProjectionFile.prune(scratch.folder, keeping: 0).isEmpty)
    #expect(try ProjectionReader.open(scratch.folder).count() == 1)
    _ = lock.path
  }

  /// As a journal's: what a failed sync left in memory alone would be torn by a checkpoint.
  @Test func theLogIsCopiedToAFreshFile() throws {
    let scratch = try Scratch()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    try scratch.folder.create()
    do {
      let projection = try Projection.create(path, identity)
      try projection.commit(rows: [row(1, [2])], foldedThrough: 3, hash: hash(3))
    }
    let before = try inode(path + "-wal")
    let again = try Projection.open(path)
    #expect(try inode(path + "-wal") != before)
    #expect(try again.row(of: row(1, []).key)?.state == [2])
  }

  /// Where a row was is remembered; that somebody else took it away is seen, not written over.
  @Test func aRowThatIsGoneIsNotWritten() throws {
    let scratch = try Scratch()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    try scratch.folder.create()
    let projection = try Projection.create(path, identity)
    try projection.commit(rows: [row(1, [1]), row(2, [2])], foldedThrough: 2, hash: hash(2))
    let place = try #require(try projection.row(of: row(1, []).key)).place
    let (digest, foe) = (projection.digest, try SQLiteConnection.open(path, .write))
    try foe.execute("DELETE FROM entitlement WHERE original_transaction_id = '1'")
    foe.close()
    #expect(throws: StoreError.corrupt("a row of \(path) is gone")) {
      try projection.commit(foldedThrough: 3, hash: hash(3)) { () throws(StoreError) in
        try projection.write(row(1, [3]), over: place)
      }
    }
    #expect(projection.foldedThrough == 2 && projection.digest == digest)
  }

  private func inode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
  }

  /// A switch must not wait for a reader of the old rows; what the -wal holds is not lost by that.
  @Test func closingDoesNotWaitForReaders() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    try release(scratch.folder, 1)
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    let projection = try Projection.open(path)
    try projection.commit(rows: [row(1, [2])], foldedThrough: 3, hash: hash(3))
    let reader = try ProjectionReader.open(scratch.folder)
    try reader.beginSnapshot()
    #expect(try reader.foldedThrough() == 3)
    let spent = ContinuousClock().measure {
      #expect(throws: StoreError.busy) { try projection.close(isPatient: false) }
    }
    #expect(spent < .seconds(2))
    reader.endSnapshot()
    #expect(try Projection.open(path).row(of: row(1, []).key)?.state == [2])
    _ = lock.path
  }

  /// Who has a projection open goes on seeing it, also when another one gets its name.
  @Test func aNameUsedAgainChangesNobodysRows() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    try release(scratch.folder, 1, keeping: 0)
    let reader = try ProjectionReader.open(scratch.folder)
    for state in UInt8(2)...5 {
      try release(scratch.folder, state, keeping: 0)
      let live = try ProjectionList.read(scratch.folder).live ?? ""
      let projection = try Projection.open(scratch.folder.projection(named: live))
      try projection.commit(rows: [row(2, [state])], foldedThrough: 3, hash: hash(3))
      #expect(try reader.row(of: row(1, []).key)?.state == [1])
      #expect(try reader.count() == 1)
    }
    _ = lock.path
  }

  /// Looking whether the folder is held must not keep an owner from taking it.
  @Test func lookingIsNotHolding() throws {
    let scratch = try Scratch()
    do { _ = try scratch.folder.lock() }
    let folder = scratch.folder
    let done = DispatchGroup()
    let over = Over()
    for _ in 0..<2 {
      done.enter()
      Thread.detachNewThread {
        while !over.isSet.load(ordering: .relaxed) { _ = try? folder.isLocked() }
        done.leave()
      }
    }
    for _ in 0..<300 { #expect(throws: Never.self) { _ = try folder.lock() } }
    over.isSet.store(true, ordering: .relaxed)
    done.wait()
  }

  private final class Over: Sendable { let isSet = Atomic<Bool>(false) }

  /// The digest against a sum in single bytes, in chance orders, with rows replaced.
  @Test func theDigestIsASum() throws {
    let scratch = try Scratch()
    let (one, other) = (
      scratch.folder.projection(named: "a"), scratch.folder.projection(named: "b")
    )
    var dice = Dice(state: 5)
    let rows = (0..<200).map { row($0, dice.bytes(1 + $0 % 40)) }
    let first = try Projection.create(one, identity)
    try first.commit(rows: rows, foldedThrough: 1, hash: hash(1))
    let second = try Projection.create(other, identity)
    for row in rows.shuffled() {
      try second.replace(self.row(Int(row.key.originalTransactionId) ?? 0, [9]))
      try second.replace(row)
    }
    #expect(first.digest == second.digest)
    var sum = [Int](repeating: 0, count: 32)
    for row in rows {
      var single = SetDigest()
      single.add(row)
      var carry = 0
      for place in stride(from: 31, through: 0, by: -1) {
        carry += sum[place] + Int(single.bytes[place])
        sum[place] = carry & 255
        carry >>= 8
      }
    }
    #expect(first.digest.bytes == sum.map { UInt8($0) })
  }
}
