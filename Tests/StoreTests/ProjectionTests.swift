import AppStore
import Entitlements
import Foundation
import Platform
import Support
import Testing

@testable import Store

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

  private static func rows(_ key: (Int, String) -> StreamKey) -> [FoldedStream] {
    let rows = (0..<50).map { number in
      FoldedStream(
        key(number, "com.example.app"),
        StreamState(
          number: number, tokens: ["t\(number % 3)"], appTransactionIds: ["a\(number)"],
          previousOriginalTransactionIds: number == 4 ? ["999"] : [], seq: Int64(number)),
        broken: number == 5 ? "why" : nil)
    }
    return rows + [FoldedStream(key(0, "com.another"), StreamState(number: 255))]
  }

  @Test func `written rows are read back by every key`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let projection = try Projection.create(path(scratch), identity)
    let rows = Self.rows { key($0, $1) }
    try projection.commit(rows: rows, foldedThrough: 9, hash: hash(9))
    #expect(try projection.read(key(3)) == rows[3])
    #expect(try projection.stream(key(300)) == nil)
    let reader = try ProjectionReader.open(scratch.folder, path: path(scratch))
    let ordered = rows.sorted { $0.key < $1.key }
    #expect(try reader.streams(after: nil, limit: 100) == ordered)
    #expect(try reader.streams(after: ordered[0].key, limit: 2) == Array(ordered[1...2]))
    #expect(try reader.row(of: key(0, "com.another")) == rows[50].projected)
    #expect(try reader.row(of: key(300)) == nil)
    #expect(try rows.allSatisfy { try reader.isIndexed($0.key) } && !reader.isIndexed(key(300)))
    #expect(try reader.rows(withOriginalTransactionId: "1000").count == 2)
    #expect(try reader.streams(withOriginalTransactionId: "1007") == [rows[7]])
    #expect(try reader.successors(of: key(999 - 1_000)).map { $0.key } == [key(4)])
    #expect(try reader.rows(.appAccountToken, "t1", after: nil, 99).count == 17)
    #expect(
      try reader.rows(.appAccountToken, "t1", after: key(1), 1).map { $0.key } == [key(4)])
    #expect(try reader.rows(.appTransactionId, "a7", after: nil, 9).map { $0.key } == [key(7)])
    #expect(try reader.broken(limit: 9).map { $0.broken } == ["why"])
    #expect(try reader.count() == 51 && reader.foldedThrough() == 9)
    #expect(try reader.foldedHash() == hash(9) && reader.identity() == identity)
    var seen: [FoldedStream] = []
    try reader.forEach { row in
      seen.append(row)
      return true
    }
    #expect(seen == ordered)
    _ = lock.path
  }

  /// Of an account token its case does not count.
  @Test func `rows are found by ids of every form, and by no other spelling`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let projection = try Projection.create(path(scratch), identity)
    let ids = [
      "704000000000000000", "0704000000000000000", "7040000000000000000", "7", "07", "0", "-7",
      "+7",
      " 7", "7.0", "٧", "550e8400-e29b-41d4-a716-446655440000",
      "550E8400-e29b-41d4-a716-446655440000", "550e8400e29b41d4a716446655440000",
    ]
    let rows = ids.enumerated().map { number, id in
      FoldedStream(key(number), StreamState(number: number, tokens: [id], appTransactionIds: [id]))
    }
    try projection.commit(rows: rows, foldedThrough: 1, hash: hash(1))
    let reader = try ProjectionReader.open(scratch.folder, path: path(scratch))
    for (number, id) in ids.enumerated() {
      let found = try reader.rows(.appTransactionId, id, after: nil, 9).map(\.key)
      #expect(found == [key(number)], "\(id)")
      let token = id.lowercased()
      let same = ids.indices.filter { ids[$0].lowercased() == token }.map { key($0) }
      let rows = try reader.rows(.appAccountToken, token, after: nil, 9).map(\.key)
      #expect(Set(rows) == Set(same), "\(token)")
    }
    var found: Set<String> = []
    try reader.forEachIndexEntry { _, value, _ in found.insert(value) }
    #expect(found == Set(ids))
    _ = lock.path
  }

  @Test func `rows are found by their current tokens only`() throws {
    let scratch = try Scratch()
    let lock = try scratch.folder.lock()
    let projection = try Projection.create(path(scratch), identity)
    for tokens in [["a", "b"], ["b", "c"], [], ["a"]] {
      let row = FoldedStream(key(1), StreamState(number: 1, tokens: tokens))
      try projection.commit(rows: [row], foldedThrough: 1, hash: hash(1))
      let reader = try ProjectionReader.open(scratch.folder, path: path(scratch))
      for token in ["a", "b", "c"] {
        let found = try reader.rows(.appAccountToken, token, after: nil, 9)
        #expect(found.isEmpty != tokens.contains(token))
      }
    }
    _ = lock.path
  }

  /// The columns of a row and of its spans leave out what follows from others.
  @Test func `a row that was written and read back equals the row of its state`() throws {
    let scratch = try Scratch()
    let projection = try Projection.create(path(scratch), identity)
    let reader = try ProjectionReader.open(scratch.folder, path: path(scratch))
    for seed in 1...500 {
      var chance = SplitMix64(seed: UInt64(seed))
      // Each customer's row is overwritten twice.
      let streamKey = key(seed / 3)
      let stream = FoldedStream(streamKey, RandomEvent.state(&chance))
      try projection.commit(rows: [stream], foldedThrough: Int64(seed), hash: hash(1))
      #expect(try projection.stream(streamKey)?.state.encoded() == stream.state, "seed \(seed)")
      let read = try #require(try reader.row(of: streamKey))
      #expect(read == stream.projected, "seed \(seed)")
      #expect(try reader.streams(withOriginalTransactionId: "\(1_000 + seed / 3)") == [stream])
      #expect(try reader.isIndexed(streamKey), "seed \(seed)")
      for from in read.row.spans.map(\.from) {
        for time in [from, from &+ 1, from == .min ? .min : from - 1] {
          let row = try reader.row(of: streamKey, .at(time))?.row
          #expect(
            row?.entitlement(at: time) == read.row.entitlement(at: time), "seed \(seed), \(time)")
          let rest = try reader.row(of: streamKey, .since(time))?.row
          for later in [time] + read.row.spans.map(\.from) where later >= time {
            let answer = rest?.entitlement(at: later)
            #expect(answer == read.row.entitlement(at: later), "seed \(seed), \(time), \(later)")
          }
        }
      }
    }
  }

  /// Neither earlier states of the rows nor the order of writes have an effect.
  @Test func `the digest depends on the present rows alone`() throws {
    let scratch = try Scratch()
    let one = try Projection.create(path(scratch, "one"), identity)
    let other = try Projection.create(path(scratch, "other"), identity)
    let rows = (0..<20).map {
      FoldedStream(key($0), StreamState(number: $0, seq: Int64($0)))
    }
    try one.commit(rows: rows, foldedThrough: 1, hash: hash(1))
    for number in (0..<20).reversed() {
      let draft = FoldedStream(key(number), StreamState(number: 201))
      try other.commit(rows: [draft], foldedThrough: 1, hash: hash(1))
      let elsewhere = FoldedStream(key(number), StreamState(number: number, seq: 99))
      try other.commit(rows: [elsewhere], foldedThrough: 2, hash: hash(2))
    }
    #expect(one.digest == other.digest && one.digest != SetDigest())
    try other.commit(
      rows: [FoldedStream(key(0), StreamState(number: 7))], foldedThrough: 3, hash: hash(3))
    #expect(one.digest != other.digest)
    var sum = SetDigest()
    for row in rows { sum.add(row) }
    #expect(sum == one.digest)
    try one.close()
    #expect(try Projection.open(path(scratch, "one")).digest == sum)
  }
}
