import AppStore
import Foundation
import Store
import Support
import Testing

/// Redeliveries are counted outside the chain, without a sync of their own (promise 4).
@Suite struct RedeliveryTests {
  /// The stream of event 1.
  private static let key = StreamKey(
    environment: "Production", bundleId: "com.example.app",
    originalTransactionId: "2000000000000000")

  private func counts(_ scratch: Scratch) throws -> [Int64: Redeliveries] {
    try JournalReader.open(scratch.folder).redeliveries(of: Self.key)
  }

  private func again(_ number: Int, at time: Int64) -> Submission {
    .event(Sample.event(number, receivedAt: time))
  }

  @Test func `counts are written with the next synced append`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append([.event(Sample.event(1)), .event(Sample.event(2))])
    let wal = try scratch.files()["journal.sqlite-wal"]
    let outcomes = try opened.journal.append([again(1, at: 500), again(1, at: 300)])
    #expect(outcomes == [.duplicate(seq: 1), .duplicate(seq: 1)])
    _ = try opened.journal.append([again(1, at: 700)])
    // No byte was written, so nothing was synced.
    #expect(try scratch.files()["journal.sqlite-wal"] == wal && wal?.isEmpty == false)
    #expect(opened.journal.waitingCounts == 1)
    #expect(try counts(scratch).isEmpty)
    _ = try opened.journal.append([again(2, at: 900), .event(Sample.event(3))])
    #expect(try counts(scratch) == [1: Redeliveries(count: 3, firstAt: 300, lastAt: 700)])
    try opened.journal.writeCounts()
    _ = try opened.journal.append([again(2, at: 100)])
    try opened.journal.writeCounts()
    #expect(opened.journal.waitingCounts == 0)
    #expect(try counts(scratch)[2] == Redeliveries(count: 2, firstAt: 100, lastAt: 900))
    #expect(opened.journal.head.seq == 3)
    // The digest of the counts is that of those that stand there now.
    #expect(try JournalReader.open(scratch.folder).rowFaults() == [])
  }

  @Test func `close writes the counts and a crash may lose them`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append([.event(Sample.event(1))])
      _ = try opened.journal.append([again(1, at: 5)])
      let crashed = try scratch.crashed()
      #expect(try crashed.open().journal.head.seq == 1)
      #expect(try counts(crashed).isEmpty)
      try opened.journal.close()
    }
    #expect(try counts(scratch) == [1: Redeliveries(count: 1, firstAt: 5, lastAt: 5)])
  }

  @Test func `a journal of schema 1 is read and then migrated`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      var named = Sample.quarantine(7)
      named.claims.originalTransactionId = "900"
      _ = try opened.journal.append([
        .event(Sample.event(1)), .quarantine(Sample.quarantine(1)), .quarantine(named),
      ])
      let reader = try JournalReader.open(scratch.folder)
      let found = try reader.quarantined(about: "900", environment: nil, bodies: false, limit: 9)
      #expect(found.map(\.id) == [2] && found.allSatisfy { $0.body.isEmpty })
      #expect(try opened.journal.unnamedThrough() == 0)
      try opened.journal.close()
    }
    try OlderSchema.restore(scratch.folder)
    let before = try scratch.files()
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.head().seq == 1 && reader.redeliveries(of: Self.key).isEmpty)
    let none = try reader.quarantined(about: "900", environment: nil, bodies: true, limit: 9)
    #expect(none.isEmpty)
    reader.close()
    #expect(try scratch.files() == before)
    let opened = try scratch.open()
    // Quarantine older than the column is still to be processed, the newest first.
    #expect(try opened.journal.unnamedThrough() == 2)
    let migrated = try JournalReader.open(scratch.folder)
    #expect(
      try migrated.quarantined(through: 2, limit: 1).map(\.body) == [Sample.quarantine(7).body])
    try opened.journal.setOriginalTransactionIds(
      [(id: 2, originalTransactionId: "900")], unnamedThrough: 1)
    #expect(try opened.journal.unnamedThrough() == 1)
    let named = try migrated.quarantined(
      about: "900", environment: "Sandbox", bodies: true, limit: 9)
    // The notification names Production.
    #expect(named.isEmpty)
    let all = try migrated.quarantined(
      about: "900", environment: "Production", bodies: true, limit: 9)
    #expect(all.map(\.body) == [Sample.quarantine(7).body])
    _ = try opened.journal.append([again(1, at: 5), .event(Sample.event(2))])
    try opened.journal.close()
    #expect(try counts(scratch)[1]?.count == 1)
  }
}
