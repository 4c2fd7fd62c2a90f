import AppStore
import AppStoreSimulator
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

/// While another fold's rows are live and this fold's are not built yet: a read of one customer is
/// by this fold, and a list lacks nobody.
@Suite struct OtherFoldTests {
  private static let token = "01234567-89ab-4cde-8f01-23456789abcd"

  private func notification(_ number: Int) throws -> [UInt8] {
    try SharedAuthority.sign(
      Sample.notification(number, otid: "\(7_000 + number)")
        .setting("data.transaction.appAccountToken", .string(Self.token)))
  }

  private func ingest(_ numbers: Range<Int>, _ ledger: TestLedger) throws {
    for number in numbers {
      let answer = try ledger.ingest(try notification(number), at: Sample.start)
      #expect(answer == .accepted(Int64(number + 1)))
    }
  }

  /// The live projection says that another fold made it, and this fold's cannot be built, because
  /// another process builds.
  @Test func `a list of another fold's rows says so and lacks no later subscriber`() throws {
    let testLedger = try TestLedger()
    try ingest(0..<4, testLedger)
    try testLedger.whileStopped {
      let name = try #require(try ProjectionList.read(testLedger.folder).live)
      let file = try SQLiteConnection.open(testLedger.folder.projection(named: name), .write)
      try file.execute("UPDATE meta SET value = 9 WHERE key = 'fold_version'")
      file.close()
      let builder = try testLedger.folder.lockRebuild()
      let ledger = try Ledger.start(testLedger.folder, now: 0, onFailure: { _ in })
      defer { ledger.stop() }
      #expect(ledger.liveProjection.state == .otherFold)
      let receiver = try Receiver(testLedger.configuration)
      let received = try receiver.receive(body: try notification(4), at: Sample.start)
      let isAnswered = WakeupEvent()
      ledger.submit(received) { _ in isAnswered.signal() }
      isAnswered.wait(milliseconds: 20_000)
      let reader = try LedgerReader(ledger)
      var filter = LedgerReader.Filter()
      filter.appAccountToken = Self.token
      let question = LedgerReader.Question(now: Sample.start + 86_400_000)
      let list = try reader.list(filter, after: nil, limit: 10, question)
      #expect(
        list.rows.map(\.key.originalTransactionId) == ["7000", "7001", "7002", "7003", "7004"])
      #expect(list.foldVersion == 9)
      // Only rows of this fold know the id of a renewal.
      #expect(
        try reader.purchases(withId: "7001", question).map(\.key.originalTransactionId) == ["7001"])
      #expect(throws: LedgerError.self) { try reader.purchases(withId: "70011", question) }
      let isTold = WakeupEvent()
      ledger.perform(.refold(only: "7001")) { outcome in
        #expect(outcome == .notFollowing(.otherFold))
        isTold.signal()
      }
      isTold.wait(milliseconds: 20_000)
      for id in ["7001", "7004"] {
        let row = try reader.entitlement(id, environment: "Production", bundleId: nil, question)
        #expect(row?.eventCount == 1)
      }
      #expect(try reader.counts(at: question.now).byStatus.values.first?[.active] == 5)
      withExtendedLifetime(builder) {}
    }
  }

  /// The pages of a corrected list have every row once, in key order.
  @Test func `pages of a corrected list are whole`() throws {
    let testLedger = try TestLedger()
    try ingest(0..<30, testLedger)
    try testLedger.whileStopped {
      let name = try #require(try ProjectionList.read(testLedger.folder).live)
      let path = testLedger.folder.projection(named: name)
      // A reader at rest never follows: the streams with later events come from the journal.
      let journal = try JournalReader.open(testLedger.folder)
      let hash = try #require(try journal.hash(at: 20))
      let file = try SQLiteConnection.open(path, .write)
      try file.statement("UPDATE meta SET value = 20 WHERE key = 'folded_through'").run()
      try file.statement("UPDATE meta SET value = ? WHERE key = 'hash'").bind(1, hash).run()
      try file.execute(
        "DELETE FROM entitlement WHERE CAST(original_transaction_id AS INTEGER) >= 7020")
      file.close()
      let reader = try LedgerReader(testLedger.folder, durations: [:])
      for statuses in [[], [Entitlement.Status.active, .expired]] {
        var filter = LedgerReader.Filter()
        filter.statuses = Set(statuses)
        var found: [String] = []
        var last: StreamKey?
        repeat {
          let question = LedgerReader.Question(now: Sample.start + 86_400_000)
          let page = try reader.list(filter, after: last, limit: 7, question)
          found += page.rows.map(\.key.originalTransactionId)
          last = page.next
        } while last != nil
        #expect(found == (0..<30).map { "\(7_000 + $0)" })
      }
    }
  }
}
