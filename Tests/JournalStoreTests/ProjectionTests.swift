import AppStore
import Foundation
import JournalStore
import Platform
import Support
import Testing

@Suite struct ProjectionTests {
  private let identity = ProjectionIdentity(
    foldVersion: 1, fingerprint: "f1", journalId: [UInt8](repeating: 7, count: 16))

  private func key(_ number: Int, _ bundleId: String = "com.example.app") -> StreamKey {
    StreamKey(
      environment: "Production", bundleId: bundleId, originalTransactionId: "\(1_000 + number)")
  }

  private func path(_ scratch: Scratch, _ name: String = "entitlements-1.sqlite") -> String {
    scratch.folder.projection(named: name)
  }

  private func hash(_ seq: Int64) -> [UInt8] { [UInt8](repeating: UInt8(seq), count: 32) }

  @Test func `written rows are read back by every key`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let projection = try Projection.create(path(scratch), identity)
    var rows = (0..<50).map { number in
      ProjectedRow(
        key: key(number), state: Array("state \(number)".utf8),
        appAccountTokens: ["t\(number % 3)"], appTransactionIds: ["a\(number)"],
        previousOriginalTransactionIds: number == 4 ? ["999"] : [],
        broken: number == 5 ? "why" : nil)
    }
    rows.append(ProjectedRow(key: key(0, "com.another"), state: [0, 255]))
    try projection.commit(rows: rows, foldedThrough: 9, hash: hash(9))
    #expect(try projection.row(of: key(3))?.state == Array("state 3".utf8))
    #expect(try projection.row(of: key(300)) == nil)
    let reader = try ProjectionReader.open(scratch.folder, path: path(scratch))
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

  @Test func `rows are found by their current tokens only`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let projection = try Projection.create(path(scratch), identity)
    for tokens in [["a", "b"], ["b", "c"], [], ["a"]] {
      let row = ProjectedRow(key: key(1), state: [1], appAccountTokens: tokens)
      try projection.commit(rows: [row], foldedThrough: 1, hash: hash(1))
      let reader = try ProjectionReader.open(scratch.folder, path: path(scratch))
      for token in ["a", "b", "c"] {
        let found = try reader.rows(withAppAccountToken: token, limit: 9)
        #expect(found.isEmpty != tokens.contains(token))
      }
    }
    _ = lock.path
  }

  /// Neither earlier states of the rows nor the order of writes have an effect.
  @Test func `the digest depends on the present rows alone`() throws {
    let scratch = try Scratch()
    let one = try Projection.create(path(scratch, "one"), identity)
    let other = try Projection.create(path(scratch, "other"), identity)
    let rows = (0..<20).map { ProjectedRow(key: key($0), state: [UInt8($0)], lastSeq: Int64($0)) }
    try one.commit(rows: rows, foldedThrough: 1, hash: hash(1))
    for row in rows.reversed() {
      let draft = ProjectedRow(key: row.key, state: [200, 1])
      try other.commit(rows: [draft], foldedThrough: 1, hash: hash(1))
      let elsewhere = ProjectedRow(key: row.key, state: row.state, lastSeq: 99)
      try other.commit(rows: [elsewhere], foldedThrough: 2, hash: hash(2))
    }
    #expect(one.digest == other.digest && one.digest != SetDigest())
    try other.commit(
      rows: [ProjectedRow(key: key(0), state: [7])], foldedThrough: 3, hash: hash(3))
    #expect(one.digest != other.digest)
    var sum = SetDigest()
    for row in rows { sum.add(row) }
    #expect(sum == one.digest)
    try one.close()
    #expect(try Projection.open(path(scratch, "one")).digest == sum)
  }
}
