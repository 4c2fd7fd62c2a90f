import AppStore
import Entitlements
import Foundation
import Ledger
import Platform
import Queries
import StrictJSON
import Support
import Testing

@testable import Store

/// After an upgrade from fold version 2, whose rows have an older layout: they are compared with
/// this fold's.
@Suite struct OlderLayoutTests {
  private static let (start, day) = (Sample.start, Sample.day)

  /// What was journaled. By fold version 3 the month after a refunded renewal gives 7001 no access,
  /// and nothing is pending for 7003, whose renewal has come. 7002 differs only before its
  /// purchase, where fold version 2 gave it a day of access, and 7000, which never ends, nowhere.
  private static let notifications: [JSONValue] = {
    let ahead = Sample.notification(2, otid: "7001")
      .setting("data.transaction.purchaseDate", .integer(start + 30 * day + 60_000))
      .setting("data.transaction.expiresDate", .integer(start + 60 * day))
      .setting("data.renewalInfo.renewalDate", .integer(start + 60 * day))
    return [
      Sample.notification(0).setting("data.renewalInfo", nil).setting("data.status", nil)
        .setting("data.transaction.type", .string("Non-Consumable"))
        .setting("data.transaction.expiresDate", nil),
      Sample.notification(1, otid: "7001"), ahead,
      ahead.setting("notificationUUID", .string(Sample.uuid(3)))
        .setting("notificationType", .string("REFUND"))
        .setting("data.transaction.signedDate", .integer(start + day))
        .setting("data.renewalInfo.signedDate", .integer(start + day))
        .setting("data.transaction.revocationDate", .integer(start + day)),
      // A row of the older layout has no storefront.
      Sample.notification(4, otid: "7002")
        .setting("data.transaction.storefront", .string("USA"))
        .setting("data.transaction.previousOriginalTransactionId", .string("6999")),
      Sample.notification(5, otid: "7003")
        .setting("data.transaction.purchaseDate", .integer(start + 3_600_000))
        .setting("data.renewalInfo.autoRenewProductId", .string("basic.monthly")),
      Sample.notification(6, otid: "7003").setting("data.renewalInfo", nil)
        .setting("data.transaction.purchaseDate", .integer(start + 30 * day + 300_000))
        .setting("data.transaction.expiresDate", .integer(start + 60 * day)),
    ]
  }()

  /// A ledger with these notifications in its journal.
  private func ledger() throws -> TestLedger {
    let testLedger = try TestLedger()
    for (index, notification) in Self.notifications.enumerated() {
      let answer = try testLedger.ingest(try SharedAuthority.sign(notification), at: Self.start)
      try #require(answer == .accepted(Int64(index + 1)))
    }
    return testLedger
  }

  /// Writes what the program with fold version 2 wrote of the notifications, as of this journal.
  ///
  /// - Parameter names: those of the list of projections, of which the last is the older one.
  private func writeOlder(_ folder: DataFolder, _ names: [String]) throws -> SQLiteConnection {
    let path = folder.projection(named: try #require(names.last))
    let url = Bundle.module.bundleURL.appendingPathComponent("Fixtures/projection-10.sql")
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA journal_mode=WAL")
    try connection.execute(try String(contentsOf: url, encoding: .utf8))
    let journal = try JournalReader.open(folder)
    let meta = Meta(connection: connection)
    try meta.set(.journalId, try journal.journalId())
    try meta.set(.hash, try #require(try journal.hash(at: 7)))
    try ProjectionList(names: names).write(folder)
    return connection
  }

  private func compared(
    _ folder: DataFolder, each: (RowDifference) -> Void = { _ in }
  ) throws -> ProjectionDiff.Summary {
    try #require(
      try ProjectionDiff.run(
        folder, Rebuild.Plan(), at: Self.start + 40 * Self.day,
        progress: { _, _ in true }, each: each))
  }

  @Test func `a comparison with fold version 2 says who loses access`() throws {
    let testLedger = try ledger()
    try testLedger.whileStopped {
      let older = try writeOlder(testLedger.folder, ["entitlements-2.sqlite"])
      defer { older.close() }
      var found: [String: RowDifference] = [:]
      let summary = try compared(testLedger.folder) { difference in
        found[difference.key.originalTransactionId] = difference
      }
      #expect(found.keys.sorted() == ["7001", "7002", "7003"])
      let access = ["status", "gives_access"]
      #expect(found["7001"]?.fields.contains("status") == true)
      #expect(found["7001"]?.when == .now)
      #expect(found["7002"]?.when == .past && found["7002"]?.fields == [])
      #expect(found["7002"]?.pastFields.filter(access.contains) == access)
      #expect(found["7003"]?.fields == ["pending_product_id"])
      #expect(summary.equal == 1 && summary.changed == 3)
      #expect(
        summary.changedNow == 2 && summary.changedPast == 1 && summary.changedLater == 0)
      #expect(summary.losing == 1 && summary.gaining == 0)
      #expect(summary.lost.keys.map(\.reason) == ["active → expired"])
      #expect(summary.liveFold.version == 2)
      #expect(summary.liveFold.fingerprint == "07cff365093c96fa1c1c2baf8006cd7b")
    }
  }

  @Test func `after the switch the retained rows of fold version 2 are compared`() throws {
    let testLedger = try ledger()
    try testLedger.whileStopped {
      let live = try #require(try ProjectionList.read(testLedger.folder).live)
      let older = try writeOlder(testLedger.folder, [live, "entitlements-2.sqlite"])
      older.close()
      var folds: [Int] = []
      var found: [String] = []
      try ProjectionDiff.afterSwitch(
        testLedger.folder, at: Self.start + 40 * Self.day, durations: [:]
      ) { before, after in
        folds = [before.foldVersion, after.foldVersion]
        return true
      } each: { difference in
        found.append(difference.key.originalTransactionId)
      }
      #expect(folds == [2, Int(Fold.current.version)])
      // The answer of 7002 differs in the past alone.
      #expect(found == ["7001", "7003"])
    }
  }

  @Test func `events that only one of the projections has make no difference`() throws {
    let testLedger = try ledger()
    let refund = Self.notifications[0].setting("notificationUUID", .string(Sample.uuid(8)))
      .setting("notificationType", .string("REFUND"))
      .setting("data.transaction.signedDate", .integer(Self.start + 2 * Self.day))
      .setting("data.transaction.revocationDate", .integer(Self.start + Self.day))
    #expect(
      try testLedger.ingest(try SharedAuthority.sign(refund), at: Self.start) == .accepted(8))
    try testLedger.whileStopped {
      let live = try #require(try ProjectionList.read(testLedger.folder).live)
      try writeOlder(testLedger.folder, [live, "entitlements-2.sqlite"]).close()
      var found: [String] = []
      try ProjectionDiff.afterSwitch(
        testLedger.folder, at: Self.start + 40 * Self.day, durations: [:]
      ) { _, _ in
        true
      } each: {
        found.append($0.key.originalTransactionId)
      }
      #expect(found == ["7001", "7003"])
      try writeOlder(testLedger.folder, ["entitlements-2.sqlite"]).close()
      // A build that has them is built again without them.
      #expect(try Rebuild.build(testLedger.folder, progress: { _, _ in true })?.events == 8)
      #expect(try compared(testLedger.folder).equal == 1)
    }
  }

  /// As of a later version of this program, after going back.
  @Test func `a layout that is not known is compared by the columns that both have`() throws {
    let testLedger = try ledger()
    try testLedger.whileStopped {
      let newer = try writeOlder(testLedger.folder, ["entitlements-2.sqlite"])
      defer { newer.close() }
      try newer.execute("PRAGMA user_version = 99; DROP VIEW entitlement_span_v1")
      let summary = try compared(testLedger.folder)
      #expect(summary.equal == 2 && summary.changedNow == 2 && summary.changedPast == 0)
    }
  }

  @Test func `an older layout of another journal, unfinished or ahead is not compared`() throws {
    let changes = [
      "UPDATE meta SET value = x'00' WHERE key = 'journal_id'",
      "UPDATE meta SET value = x'00' WHERE key = 'hash'",
      "UPDATE meta SET value = 8 WHERE key = 'folded_through'",
      """
      INSERT INTO meta SELECT 'build_' || column1, x'00'
      FROM (VALUES ('through'), ('hash'), ('next'), ('events'), ('boot'))
      """,
      "DROP VIEW entitlement_v1",
    ]
    for change in changes {
      let testLedger = try ledger()
      try testLedger.whileStopped {
        let older = try writeOlder(testLedger.folder, ["entitlements-2.sqlite"])
        defer { older.close() }
        try older.execute(change)
        #expect("\(change)") {
          try compared(testLedger.folder)
        } throws: {
          ($0 as? LedgerError)?.description.contains("cannot be compared") == true
        }
      }
    }
  }
}
