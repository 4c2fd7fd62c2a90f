import Foundation
import JournalStore
import Platform
import Testing

@Suite struct ProjectionTests {
  private let identity = ProjectionIdentity(
    foldVersion: 1, fingerprint: "f1", journalId: [UInt8](repeating: 7, count: 16))

  private func key(_ number: Int, _ bundleId: String = "com.example.app") -> StreamKey {
    StreamKey(
      environment: "Production", bundleId: bundleId, originalTransactionId: "\(1_000 + number)")
  }

  private func hash(_ seq: Int64) -> [UInt8] { [UInt8](repeating: UInt8(seq), count: 32) }

  @Test func rowsComeBack() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let projection = try Projection.create(scratch.folder.projection(1), identity)
    var rows = (0..<50).map { number in
      ProjectedRow(
        key: key(number), state: Array("state \(number)".utf8),
        appAccountTokens: ["t\(number % 3)"], appTransactionIds: ["a\(number)"],
        previousOriginalTransactionIds: number == 4 ? ["999"] : [],
        broken: number == 5 ? "why" : nil)
    }
    rows.append(ProjectedRow(key: key(0, "com.another"), state: [0, 255]))
    try projection.commit(rows: rows, foldedThrough: 9, hash: hash(9))
    #expect(try projection.state(of: key(3))?.bytes == Array("state 3".utf8))
    #expect(try projection.state(of: key(300)) == nil)
    let reader = try ProjectionReader.open(scratch.folder, foldVersion: 1)
    let ordered = rows.sorted { $0.key < $1.key }
    #expect(try reader.rows(after: nil, limit: 100) == ordered)
    #expect(try reader.rows(after: ordered[0].key, limit: 2) == Array(ordered[1...2]))
    #expect(try reader.row(of: key(0, "com.another"))?.state == [0, 255])
    #expect(try reader.rows(withOriginalTransactionId: "1000").count == 2)
    #expect(try reader.rows(withPreviousOriginalTransactionId: "999").map { $0.key } == [key(4)])
    #expect(try reader.rows(withAppAccountToken: "t1", limit: 99).count == 17)
    #expect(
      try reader.rows(withAppAccountToken: "t1", after: key(1), limit: 1).map { $0.key } == [key(4)]
    )
    #expect(try reader.rows(withAppTransactionId: "a7", limit: 9).map { $0.key } == [key(7)])
    #expect(try reader.broken(limit: 9).map { $0.broken } == ["why"])
    #expect(try reader.count() == 51 && reader.foldedThrough() == 9)
    #expect(try reader.foldedHash() == hash(9) && reader.identity() == identity)
    var seen: [ProjectedRow] = []
    try reader.forEach { row in
      seen.append(row)
      return true
    }
    #expect(seen == ordered)
    _ = lock.path
  }

  @Test func tokensFollowTheRow() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let projection = try Projection.create(scratch.folder.projection(1), identity)
    for tokens in [["a", "b"], ["b", "c"], [], ["a"]] {
      let row = ProjectedRow(key: key(1), state: [1], appAccountTokens: tokens)
      try projection.commit(rows: [row], foldedThrough: 1, hash: hash(1))
      let reader = try ProjectionReader.open(scratch.folder, foldVersion: 1)
      for token in ["a", "b", "c"] {
        let found = try reader.rows(withAppAccountToken: token, limit: 9)
        #expect(found.isEmpty != tokens.contains(token))
      }
    }
    _ = lock.path
  }

  @Test func theConditionOfAFile() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let path = scratch.folder.projection(1)
    func condition(
      _ identity: ProjectionIdentity, head: Int64 = 9, salt: UInt8 = 0
    ) throws -> ProjectionCondition {
      try ProjectionFile.examine(path, identity) { seq in
        seq > head ? nil : self.hash(seq).map { $0 ^ salt }
      }
    }
    #expect(try condition(identity) == .absent)
    let projection = try Projection.create(path, identity)
    try projection.commit(rows: [], foldedThrough: 5, hash: hash(5))
    #expect(try condition(identity) == .usable(foldedThrough: 5))
    #expect(try condition(identity, head: 4) == .ahead(foldedThrough: 5))
    #expect(try condition(identity, salt: 1) == .diverged(foldedThrough: 5))
    let other = ProjectionIdentity(foldVersion: 1, fingerprint: "f1", journalId: hash(1))
    #expect(try condition(other) == .otherJournal)
    for (version, fingerprint) in [(2, "f1"), (1, "f2")] {
      let other = ProjectionIdentity(
        foldVersion: version, fingerprint: fingerprint, journalId: identity.journalId)
      #expect(try condition(other) == .otherFold)
    }
    try projection.close()
    #expect(try Projection.open(path).foldedThrough == 5)
    try Data("nothing".utf8).write(to: URL(filePath: path))
    #expect(try condition(identity) == .damaged)
    try ProjectionFile.putAside(path)
    #expect(try condition(identity) == .absent)
    _ = lock.path
  }

  @Test func aBuiltOneGoesLive() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let path = scratch.folder.projection(1)
    let building = scratch.folder.buildingProjection(1)
    let old = try Projection.create(path, identity)
    try old.commit(rows: [], foldedThrough: 1, hash: hash(1))
    let new = try Projection.create(building, identity)
    try new.commit(
      rows: [ProjectedRow(key: key(1), state: [1])], foldedThrough: 2, hash: hash(2))
    #expect(throws: StoreError.self) { try ProjectionFile.goLive(building, as: path) }
    try new.close()
    try old.close()
    try ProjectionFile.goLive(building, as: path)
    #expect(try scratch.files().keys.sorted() == ["entitlements-1.sqlite", "lock"])
    #expect(try ProjectionReader.open(scratch.folder, foldVersion: 1).foldedThrough() == 2)
    _ = lock.path
  }
}
