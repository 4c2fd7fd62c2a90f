import AppStoreSimulator
import Foundation
import Store
import StrictJSON
import Support
import Testing

/// `verify` finds every change of the files, and names the first seq that it concerns (promise 5).
@Suite struct TamperTests {
  /// Eleven events of two streams, one of the Sandbox, and one quarantined notification. Files are
  /// arrays, because LeakSanitizer reports the storage of a static `Data`.
  private static let clean = Result { try make() }

  private static func make() throws -> (files: [String: [UInt8]], authority: SimulatedAuthority) {
    let installation = try Installation()
    var lines = try (1...11).map { number in
      try installation.sign(
        Sample.notification(
          number, otid: "70\(number % 2)", type: number == 9 ? "REFUND" : "DID_RENEW",
          environment: number == 10 ? "Sandbox" : "Production"
        ).setting("data.transaction.appAccountToken", .string(Sample.uuid(1000 + number % 2))))
    }
    lines.append(try installation.sign(Sample.notification(90, bundleId: "com.example.foreign")))
    let ingested = try installation.run(
      "ingest", try installation.file("all", lines), "--skip-bad")
    guard ingested.code == 1 else { throw TestFailure("\(ingested)") }
    guard try installation.verify().code == 0 else {
      throw TestFailure("verify has findings before the change")
    }
    return (try installation.files().mapValues { Array($0) }, installation.authority)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let sql: String
    /// The seq that the first line must name; nil if the finding has none.
    let seq: Int?
    /// The seq that `--only 701` names: the odd events are this customer's.
    let only: Int?

    init(_ name: String, _ seq: Int?, only: Int? = nil, _ sql: String) {
      self.name = name
      self.seq = seq
      self.only = only
      self.sql = sql
    }

    var testDescription: String { name }
  }

  private static func swap(_ one: Int, _ other: Int) -> String {
    "UPDATE event SET seq = -1 WHERE seq = \(one); UPDATE event SET seq = \(one) WHERE seq = "
      + "\(other); UPDATE event SET seq = \(other) WHERE seq = -1"
  }

  private static func flip(_ column: String, at index: Int) -> String {
    // The byte at the index, counted from 1, becomes 0x00, or 0x01 if it was 0x00.
    "UPDATE event SET \(column) = CAST(substr(\(column), 1, \(index - 1)) || CASE substr(\(column), "
      + "\(index), 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(\(column), \(index + 1)) "
      + "AS BLOB) WHERE seq = 5"
  }

  static let cases = [
    Case("first row deleted", 1, "DELETE FROM event WHERE seq = 1"),
    Case("middle row deleted", 6, "DELETE FROM event WHERE seq = 6"),
    Case("last row deleted", 11, "DELETE FROM event WHERE seq = 11"),
    Case("all deleted", 1, "DELETE FROM event"),
    Case("the row before one of 701 deleted", 4, only: 4, "DELETE FROM event WHERE seq = 4"),
    Case(
      "the lowest seq", nil, only: .min,
      "UPDATE event SET seq = -9223372036854775808 WHERE seq = 5"),
    Case(
      "the highest seq", nil, only: .max,
      "UPDATE event SET seq = 9223372036854775807 WHERE seq = 9"),
    Case("two rows swapped", 4, swap(4, 8)),
    Case("neighbours swapped", 7, swap(7, 8)),
    Case(
      "renumbered from 7", 7,
      "UPDATE event SET seq = -seq WHERE seq >= 7; "
        + "UPDATE event SET seq = 1 - seq WHERE seq < 0"),
    Case(
      "a hole closed", 6,
      "DELETE FROM event WHERE seq = 6; "
        + "UPDATE event SET seq = -seq WHERE seq > 6; UPDATE event SET seq = -seq - 1 WHERE seq < 0"
    ),
    Case(
      "a row before the first", nil,
      "INSERT INTO event SELECT 0, randomblob(16), source, "
        + "stream_id, kind_id, dictionary_id, signed_date_ms, received_at_ms, body_sha256, hash, body "
        + "FROM event WHERE seq = 1"),
    Case(
      "a row appended", 12,
      "INSERT INTO event SELECT 12, randomblob(16), source, stream_id, "
        + "kind_id, dictionary_id, signed_date_ms, received_at_ms, body_sha256, hash, body FROM event "
        + "WHERE seq = 11"),
    Case("body, first byte", 5, flip("body", at: 1)),
    Case(
      "body of zeros", 5, only: 5, "UPDATE event SET body = zeroblob(length(body)) WHERE seq = 5"),
    Case("body, tenth byte", 5, flip("body", at: 10)),
    Case("body, in the signature", 5, flip("body", at: 100)),
    Case("body emptied", 5, "UPDATE event SET body = x'' WHERE seq = 5"),
    Case(
      "body of another", 5,
      "UPDATE event SET body = (SELECT body FROM event WHERE seq = 3) WHERE seq = 5"),
    Case("hash", 5, only: 5, flip("hash", at: 3)),
    Case("hash before", 4, only: 5, "UPDATE event SET hash = randomblob(32) WHERE seq = 4"),
    Case("body_sha256", 5, only: 5, flip("body_sha256", at: 3)),
    Case("notification_uuid", 5, only: 5, flip("notification_uuid", at: 3)),
    Case("source", 5, only: 5, "UPDATE event SET source = 'v1' WHERE seq = 5"),
    Case(
      "signed_date_ms", 5, only: 5,
      "UPDATE event SET signed_date_ms = signed_date_ms + 1 WHERE seq = 5"),
    Case(
      "received_at_ms", 5, only: 5,
      "UPDATE event SET received_at_ms = received_at_ms - 1 WHERE seq = 5"),
    Case(
      "stream_id", 5,
      "UPDATE event SET stream_id = (SELECT stream_id FROM event WHERE seq = 4) WHERE seq = 5"),
    Case(
      "kind_id", 5,
      "UPDATE event SET kind_id = (SELECT kind_id FROM event WHERE seq = 9) WHERE seq = 5"),
    Case("dictionary_id", 5, "UPDATE event SET dictionary_id = NULL WHERE seq = 5"),
    Case(
      "a stream renamed", 1,
      "UPDATE stream SET original_transaction_id = '999' WHERE original_transaction_id = '701'"),
    Case(
      "an app renamed", 10,
      "UPDATE app SET bundle_id = 'com.example.b' WHERE environment = 'Sandbox'"),
    Case(
      "a type renamed", 9,
      "UPDATE kind SET notification_type = 'RENEWED' WHERE notification_type = 'REFUND'"),
    Case("all types renamed", 1, only: 1, "UPDATE kind SET notification_type = 'REFUND'"),
    Case(
      "a subtype added", 9,
      "UPDATE kind SET subtype = 'VOLUNTARY' WHERE notification_type = 'REFUND'"),
    Case("the dictionary", 1, "UPDATE dictionary SET bytes = zeroblob(length(bytes))"),
    Case("quarantine", nil, "UPDATE quarantine SET body = zeroblob(length(body))"),
    Case("quarantine's hash", nil, "UPDATE quarantine SET body_sha256 = zeroblob(32)"),
  ]

  private func copy() throws -> Installation {
    let clean = try Self.clean.get()
    return try Installation(
      authority: clean.authority, files: clean.files.mapValues { Data($0) })
  }

  @Test(arguments: cases) func `verify names the first seq that was tampered with`(
    _ tampering: Case
  ) throws {
    let installation = try copy()
    try installation.tamper(tampering.sql)
    let before = try installation.files()
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.firstLine.hasPrefix("promise "), "\(verified)")
    if let seq = tampering.seq {
      #expect(verified.firstLine.contains("broken at seq \(seq):"), "\(verified)")
    }
    if let only = tampering.only {
      let verified = try installation.run("verify", "--only", "701")
      #expect(verified.code == 1, "\(verified)")
      #expect(verified.firstLine.hasPrefix("promise 5 broken at seq \(only):"), "\(verified)")
    }
    #expect(try installation.files() == before, "verify changes nothing")
  }

  struct Structure: Sendable, CustomTestStringConvertible {
    let sql: String
    let finding: String
    /// Whether the triggers are removed and created again, because the change is not about them.
    var restoresTriggers = false

    var testDescription: String { finding }
  }

  static let structures = [
    Structure(sql: "DROP TRIGGER event_update", finding: "trigger event_update is missing"),
    Structure(
      sql: "DROP TRIGGER event_delete; CREATE TRIGGER event_delete BEFORE DELETE ON event "
        + "WHEN OLD.seq = 0 BEGIN SELECT raise(ABORT, 'never'); END",
      finding: "trigger event_delete was changed"),
    Structure(sql: "DROP INDEX event_uuid", finding: "index event_uuid is missing"),
    Structure(sql: "CREATE TABLE more (a)", finding: "something was added to the schema"),
    Structure(
      sql: "UPDATE migration SET sha256 = zeroblob(32)",
      finding: "migration 1 is not the one that was applied"),
    Structure(
      sql: "UPDATE dictionary SET header_sha256 = zeroblob(32)",
      finding: "dictionary 1 was changed", restoresTriggers: true),
  ]

  /// No event is changed, but the next change would not be prevented.
  @Test(arguments: structures) func `verify names a change of the schema`(_ tampering: Structure)
    throws
  {
    let installation = try copy()
    if tampering.restoresTriggers {
      try installation.tamper(tampering.sql)
    } else {
      let connection = try SQLiteConnection.open(installation.journal.path, .write)
      try connection.execute(tampering.sql)
      try connection.checkpointTruncate()
      connection.close()
    }
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.firstLine == "promise 5 broken: the file: \(tampering.finding)")
  }

  /// The -wal of a killed daemon is cut, or replaced. The projection contains more events, which
  /// shows it.
  @Test(arguments: [true, false]) func `a cut or replaced wal is found`(isCut: Bool) throws {
    let installation = try copy()
    let daemon = try installation.start()
    for number in 20..<40 {
      let answer = daemon.client().post(
        try installation.sign(Sample.notification(number, otid: "701")))
      #expect(answer?.status == 200)
    }
    try daemon.crash()
    let wal = URL(filePath: installation.journal.path + "-wal")
    let bytes = try Data(contentsOf: wal)
    if isCut {
      try bytes.prefix(bytes.count / 2).write(to: wal)
    } else {
      var other = bytes
      for offset in 16..<24 { other[offset] ^= 0x55 }
      try other.write(to: wal)
    }
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.firstLine.contains(" broken at seq "), "\(verified)")
  }

  /// A bit of the file, as a failing disk flips it.
  @Test(arguments: [0, 60, 200]) func `a flipped bit in a body is found and stops the daemon`(
    offset: Int
  ) throws {
    let installation = try copy()
    var bytes = try Data(contentsOf: installation.journal)
    let connection = try SQLiteConnection.open(installation.journal.path, .read)
    let body = try #require(
      try connection.statement("SELECT body FROM event WHERE seq = 5").first { $0.bytes(0) })
    connection.close()
    let start = try #require(bytes.range(of: Data(body))).lowerBound
    bytes[start + min(offset, body.count - 1)] ^= 0x10
    try bytes.write(to: installation.journal)
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.firstLine.contains("broken at seq 5:"), "\(verified)")
    // The daemon does not start on it either, and leaves it as it is (promise 10).
    let before = try installation.files()
    let started = try installation.run("serve")
    #expect(started.code == 1 && started.errors.contains("seq 5"), "\(started)")
    #expect(started.errors.contains("subledger verify"))
    #expect(try installation.files() == before)
  }

  /// A seq far from all others is named without walking the gap before it.
  @Test(arguments: [Int64.max, 1 << 50]) func `a seq far away is found quickly`(seq: Int64) throws {
    let installation = try copy()
    try installation.tamper("UPDATE event SET seq = \(seq) WHERE seq = 11")
    for arguments in [[], ["--chain"], ["--only", "701"]] {
      let verified = try installation.launch(
        ["verify", "--config", installation.config.path] + arguments
      ).finish(within: 30)
      #expect(verified.code == 1 && verified.firstLine.hasPrefix("promise "), "\(verified)")
    }
    let started = try installation.run("serve")
    #expect(started.code == 1, "\(started)")
  }

  /// The last rowid is changed in the file to an earlier one. Read in batches, each after the last
  /// row of the batch before, such a file would have no end.
  @Test func `a rowid out of order is found`() throws {
    let installation = try copy()
    let connection = try SQLiteConnection.open(installation.journal.path, .read)
    let body = try #require(
      try connection.statement("SELECT body FROM event WHERE seq = 11").first { $0.bytes(0) })
    connection.close()
    var bytes = try Data(contentsOf: installation.journal)
    let page = try #require(bytes.range(of: Data(body))).lowerBound / 4096 * 4096
    func number(_ offset: Int) -> Int { Int(bytes[offset]) << 8 | Int(bytes[offset + 1]) }
    // A leaf page of a table. Each cell begins with a length of two bytes, then the rowid
    // (sqlite.org/fileformat2.html, section 1.6).
    #expect(bytes[page] == 0x0D)
    let rowIDs = (0..<number(page + 3)).map { page + number(page + 8 + 2 * $0) + 2 }
    bytes[try #require(rowIDs.first { bytes[$0] == 11 })] = 1
    try bytes.write(to: installation.journal)
    for arguments in [["verify"], ["verify", "--chain"]] {
      let verified = try installation.launch(arguments + ["--config", installation.config.path])
        .finish(within: 30)
      #expect(verified.code == 1 && verified.firstLine.hasPrefix("promise "), "\(verified)")
    }
    let exported = try installation.launch(["export", "--config", installation.config.path])
      .finish(within: 30)
    #expect(exported.code != 0, "\(exported)")
  }

  /// SQLite reports this damage as an error in SQL.
  @Test func `a header of another format is found`() throws {
    let installation = try copy()
    var bytes = try Data(contentsOf: installation.journal)
    bytes[47] ^= 0x80
    try bytes.write(to: installation.journal)
    let verified = try installation.run("verify")
    #expect(verified.code == 1 && verified.firstLine.hasPrefix("promise 5 broken"), "\(verified)")
  }

  @Test(arguments: [
    "DELETE FROM token", "UPDATE token SET value = 'x'", "DROP TABLE token", "DROP TABLE app",
    "DELETE FROM entitlement", "UPDATE entitlement SET state = x'00'",
    "DELETE FROM entitlement WHERE id = 1",
    "UPDATE entitlement SET original_transaction_id = '4'  WHERE id = 1",
  ])
  func `changed rows are found and rebuilt`(sql: String) throws {
    let installation = try copy()
    let name = try #require(
      try installation.files().keys.first { $0.hasPrefix("entitlements-") && $0.hasSuffix("e") })
    let connection = try SQLiteConnection.open(installation.data.path + "/" + name, .write)
    try connection.execute(sql)
    try connection.checkpointTruncate()
    connection.close()
    let verified = try installation.run("verify")
    #expect(verified.code == 1 && verified.firstLine.hasPrefix("promise 7 broken"), "\(verified)")
    let rebuilt = try installation.run("rebuild", "--apply")
    #expect(rebuilt.code == 0, "\(rebuilt)")
    #expect(try installation.verify().code == 0)
  }

  @Test func `another root proves nothing`() throws {
    let installation = try copy()
    let stranger = try Installation()
    try installation.configure(with: [("trustRoots", .array([.string(stranger.root.path)]))])
    for arguments in [["verify"], ["verify", "--only", "701"]] {
      let verified = try installation.launch(arguments + ["--config", installation.config.path])
        .finish()
      #expect(verified.code == 1)
      #expect(verified.firstLine.hasPrefix("promise 3 broken at seq 1:"), "\(verified)")
      #expect(verified.output.contains("data breaks a promise"))
    }
  }
}
