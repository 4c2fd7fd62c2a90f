import AppStore
import Entitlements
import Foundation
import Platform
import Store
import Support
import Synchronization
import Testing

/// Damage to the files of projections, and several programs that use them at the same time.
@Suite struct DamagedProjectionTests {
  private let identity = ProjectionIdentity(
    foldVersion: 1, fingerprint: "f1", journalId: [UInt8](repeating: 7, count: 16))

  private func key(_ number: Int) -> StreamKey {
    StreamKey(
      environment: "Production", bundleId: "com.example.app", originalTransactionId: "\(number)")
  }

  private func row(_ number: Int, _ state: Int) -> FoldedStream {
    FoldedStream(key(number), StreamState(number: state))
  }

  private func hash(_ seq: Int64) -> [UInt8] { [UInt8](repeating: UInt8(seq), count: 32) }

  private func release(_ folder: DataFolder, _ state: Int) throws {
    let folder = DataFolder(path: folder.path, fold: Fold(version: 1))
    let building = folder.buildingProjection
    let built = try Projection.create(building, identity)
    try built.commit(rows: [row(1, state)], foldedThrough: 2, hash: hash(2))
    try built.close()
    try ProjectionFile.goLive(building, in: folder)
  }

  /// Otherwise the live projection would also be an older one, which a switch removes.
  @Test func `a repeated name in the list removes no file`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    try release(scratch.folder, 1)
    let name = "entitlements-1.sqlite\n"
    try Data((name + name).utf8).write(to: URL(filePath: scratch.folder.projectionList))
    try ProjectionFile.makeLive("entitlements-1.sqlite", in: scratch.folder)
    #expect(try ProjectionReader.open(scratch.folder).count() == 1)
    _ = lock.path
  }

  /// As for a journal: a failed sync may leave pages only in memory, and a checkpoint of them would
  /// not be safe.
  @Test func `opening copies the -wal to a fresh inode`() throws {
    let scratch = try Scratch()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    try scratch.folder.create()
    do {
      let projection = try Projection.create(path, identity)
      try projection.commit(rows: [row(1, 2)], foldedThrough: 3, hash: hash(3))
    }
    let before = try inode(path + "-wal")
    let again = try Projection.open(path)
    #expect(try inode(path + "-wal") != before)
    #expect(try again.read(key(1)) == row(1, 2))
  }

  /// The writer has a reference to the row, and must notice that another program removed the row.
  @Test func `overwriting a missing row fails and changes nothing`() throws {
    let scratch = try Scratch()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    try scratch.folder.create()
    let projection = try Projection.create(path, identity)
    try projection.commit(rows: [row(1, 1), row(2, 2)], foldedThrough: 2, hash: hash(2))
    let reference = try #require(try projection.stream(key(1))).reference
    let (digest, other) = (projection.digest, try SQLiteConnection.open(path, .write))
    try other.execute("DELETE FROM entitlement WHERE original_transaction_id = '1'")
    other.close()
    #expect(throws: LedgerError.corrupt("a row of \(path) is missing")) {
      try projection.commit(foldedThrough: 3, hash: hash(3)) { () throws(LedgerError) in
        try projection.write(StatePacker().pack(row(1, 3)), over: reference, at: 0)
      }
    }
    #expect(projection.foldedThrough == 2 && projection.digest == digest)
  }

  /// A daemon repairs by the check of its rows what `verify` finds by reading all.
  @Test func `a page that cannot be read is found by the check of the rows`() throws {
    let scratch = try Scratch()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    try scratch.folder.create()
    let keys = (1...60).map(key)
    let projection = try Projection.create(path, identity)
    try projection.commit(rows: (1...60).map { row($0, $0) }, foldedThrough: 60, hash: hash(60))
    try projection.close()
    let whole = try Data(contentsOf: URL(filePath: path))
    let size = 4096
    for page in 1..<whole.count / size {
      var damaged = whole
      damaged.replaceSubrange(page * size..<(page + 1) * size, with: Data(count: size))
      let copy = scratch.folder.projection(named: "entitlements-\(page + 1).sqlite")
      try damaged.write(to: URL(filePath: copy))
      let isRead = (try? readAll(copy, scratch.folder)) != nil
      #expect(isRead || !areGood(keys, copy, scratch.folder), "page \(page + 1)")
    }
  }

  private func readAll(_ path: String, _ folder: DataFolder) throws {
    let reader = try ProjectionReader.open(folder, path: path)
    try reader.forEach { _ in true }
    try reader.forEachIndexEntry { _, _, _ in }
    _ = try (reader.digest(), reader.streams(after: nil, limit: 500))
  }

  private func areGood(_ keys: [StreamKey], _ path: String, _ folder: DataFolder) -> Bool {
    guard let reader = try? ProjectionReader.open(folder, path: path),
      (try? reader.checkTables()) != nil, (try? reader.foldedThrough()) == 60
    else { return false }
    return (try? keys.allSatisfy { try reader.isIndexed($0) }) ?? false
  }

  private func inode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
  }

  /// A switch to another projection must not wait for readers. The -wal then remains and is read by
  /// the next open.
  @Test func `a line that is damaged or missing is found with its row`() throws {
    let scratch = try Scratch()
    try scratch.folder.create()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    let projection = try Projection.create(path, identity)
    var chance = SplitMix64(seed: 3)
    let stream = FoldedStream(key(1), RandomEvent.state(&chance))
    try #require(!stream.lines.isEmpty)
    let connection = try SQLiteConnection.open(path, .write)
    let reader = try ProjectionReader.open(scratch.folder, path: path)
    for field in TransactionField.stored {
      try projection.commit(rows: [stream], foldedThrough: 1, hash: hash(1))
      #expect(try reader.isIndexed(key(1)))
      let other = if case .flag = field.kind { "1 - \(field.column)" } else { "'77'" }
      try connection.execute("UPDATE OR IGNORE transaction_line SET \(field.column) = \(other)")
      #expect(throws: LedgerError.self, "\(field.column)") { try reader.isIndexed(key(1)) }
      try connection.execute("DELETE FROM transaction_line")
      #expect(throws: LedgerError.self) { try reader.isIndexed(key(1)) }
      try projection.replace(
        projection.packer.pack(stream), over: try projection.stream(key(1))?.reference)
      #expect(try reader.streams(withOriginalTransactionId: "1") == [stream])
    }
  }

  @Test func `closing need not wait for readers and loses nothing`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    try release(scratch.folder, 1)
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    let projection = try Projection.open(path)
    try projection.commit(rows: [row(1, 2)], foldedThrough: 3, hash: hash(3))
    let reader = try ProjectionReader.open(scratch.folder)
    try reader.beginSnapshot()
    #expect(try reader.foldedThrough() == 3)
    let spent = ContinuousClock().measure {
      #expect(throws: LedgerError.busy) { try projection.close(waitsForReaders: false) }
    }
    // Others wait ten seconds.
    #expect(spent < .seconds(9))
    reader.endSnapshot()
    #expect(try Projection.open(path).read(key(1)) == row(1, 2))
    _ = lock.path
  }

  /// An open reader continues to see its projection when another one gets the same name.
  @Test func `reusing a name does not change the rows of open readers`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    try release(scratch.folder, 1)
    let reader = try ProjectionReader.open(scratch.folder)
    for state in 2...5 {
      try release(scratch.folder, state)
      let live = try ProjectionList.read(scratch.folder).live ?? ""
      let projection = try Projection.open(scratch.folder.projection(named: live))
      try projection.commit(rows: [row(2, state)], foldedThrough: 3, hash: hash(3))
      #expect(try reader.row(of: key(1)) == row(1, 1).projected)
      #expect(try reader.count() == 1)
    }
    _ = lock.path
  }

  /// A check of the lock by another thread must not make locking fail.
  @Test func `checking the lock does not prevent taking it`() throws {
    let scratch = try Scratch()
    do { _ = try scratch.folder.lock() }
    let folder = scratch.folder
    let done = DispatchGroup()
    let end = End()
    for _ in 0..<2 {
      done.enter()
      Thread.detachNewThread {
        while !end.isSet.load(ordering: .relaxed) { _ = try? folder.isLocked() }
        done.leave()
      }
    }
    for _ in 0..<300 { #expect(throws: Never.self) { _ = try folder.lock() } }
    end.isSet.store(true, ordering: .relaxed)
    done.wait()
  }

  private final class End: Sendable { let isSet = Atomic<Bool>(false) }

  /// Compares the digest with a sum of single bytes, with rows replaced in a random order.
  @Test func `the digest is the sum of the rows in any order`() throws {
    let scratch = try Scratch()
    let (one, other) = (
      scratch.folder.projection(named: "a"), scratch.folder.projection(named: "b")
    )
    var dice = Dice(state: 5)
    let rows = (0..<200).map { row($0, Int(dice.next() % 1_000)) }
    let first = try Projection.create(one, identity)
    try first.commit(rows: rows, foldedThrough: 1, hash: hash(1))
    let second = try Projection.create(other, identity)
    for row in rows.shuffled() {
      let other = FoldedStream(row.key, StreamState(number: 9))
      try second.replace(second.packer.pack(other), over: nil)
      try second.replace(second.packer.pack(row), over: try second.stream(row.key)?.reference)
    }
    #expect(first.digest == second.digest)
    var sum = [Int](repeating: 0, count: 32)
    for row in rows {
      var single = SetDigest()
      single.add(row)
      var carry = 0
      for index in stride(from: 31, through: 0, by: -1) {
        carry += sum[index] + Int(single.bytes[index])
        sum[index] = carry & 255
        carry >>= 8
      }
    }
    #expect(first.digest.bytes == sum.map { UInt8($0) })
  }
}
