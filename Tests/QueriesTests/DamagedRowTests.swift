import AppStore
import AppStoreSimulator
import Audit
import Entitlements
import Foundation
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

/// A projection is a file that may be damaged in any way. Reading, comparing and verifying it must
/// neither trap nor allocate without bound, and a damaged row is answered from the journal.
@Suite struct DamagedRowTests {
  private static let rounds = 5
  private static let rowsEach = 400
  static let start: Int64 = 1_767_225_600_000

  @Test func `damaged rows neither trap nor change an answer`() throws {
    let testLedger = try TestLedger()
    for number in 0..<40 {
      let body = try SharedAuthority.sign(Self.notification(number))
      #expect(try testLedger.ingest(body, at: Self.start) == .accepted(Int64(number + 1)))
    }
    try testLedger.whileStopped {
      let path = testLedger.folder.projection(
        named: try #require(try ProjectionList.read(testLedger.folder).live))
      var rows: [FoldedStream] = []
      try ProjectionReader.open(testLedger.folder, path: path).forEach { row in
        rows.append(row)
        return true
      }
      #expect(rows.count == 20)
      let undamaged = try Data(contentsOf: URL(filePath: path))
      let answers = try Self.answers(testLedger, rows)
      var generator = SeededGenerator(seed: 20_260_101)
      for _ in 0..<Self.rounds {
        for _ in 0..<Self.rowsEach / rows.count {
          try undamaged.write(to: URL(filePath: path))
          let projection = try DamagedProjection(path)
          for row in rows { try projection.damage(row, &generator) }
          try projection.close()
          #expect(try Self.answers(testLedger, rows) == answers)
        }
        try Self.compare(testLedger)
        #expect(try testLedger.verify().findings.count > 0)
      }
      try undamaged.write(to: URL(filePath: path))
      #expect(try testLedger.verify().findings.isEmpty)
    }
  }

  @Test func `a row that is missing while the projection is followed is made of the journal`()
    throws
  {
    let testLedger = try TestLedger()
    for number in 0..<2 {
      let body = try SharedAuthority.sign(Self.notification(number))
      #expect(try testLedger.ingest(body, at: Self.start) == .accepted(Int64(number + 1)))
    }
    let name = try #require(try ProjectionList.read(testLedger.folder).live)
    let file = try SQLiteConnection.open(testLedger.folder.projection(named: name), .write)
    try file.execute("DELETE FROM entitlement WHERE original_transaction_id = '701'")
    file.close()
    // A row that was read before would be kept.
    let row = try testLedger.row("701", now: Self.start)
    #expect(row?.key.originalTransactionId == "701")
  }

  private static func answers(
    _ testLedger: TestLedger, _ rows: [FoldedStream]
  ) throws -> [String?] {
    let reader = try LedgerReader(testLedger.folder, durations: ["pro.monthly": .max])
    return try rows.flatMap { row in
      try [Int64.min, start, .max].map { time in
        try reader.entitlement(
          row.key.originalTransactionId, environment: row.key.environment, bundleId: nil,
          LedgerReader.Question(now: time))?.json.text
      }
    }
  }

  private static func compare(_ testLedger: TestLedger) throws {
    do throws(LedgerError) {
      _ = try ProjectionDiff.run(
        testLedger.folder, Rebuild.Plan(), at: start, progress: { _, _ in true },
        each: { _ in })
    } catch {
      // Rows that cannot be read cannot be compared.
      guard error.isDamage else { throw error }
    }
  }

  static func notification(_ number: Int) -> JSONValue {
    Sample.notification(number, otid: "70\(number % 20)")
  }
}
