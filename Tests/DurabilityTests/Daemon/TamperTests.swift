import Foundation
import JournalStore
import Simulator
import StrictJSON
import Support
import Testing

/// Whatever somebody changes in the files, `verify` finds it and names the first place (promise 5).
@Suite struct TamperTests {
  /// Eleven events of two streams, one of the Sandbox, and one quarantined notification; as arrays,
  /// since LeakSanitizer does not find what a static `Data` holds.
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
    guard ingested.code == 1 else { throw Trouble("\(ingested)") }
    guard try installation.verify().code == 0 else { throw Trouble("not clean to begin with") }
    return (try installation.files().mapValues { Array($0) }, installation.authority)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let sql: String
    /// The place that the first line must name; nil where it is no place in the journal.
    let seq: Int?

    init(_ name: String, _ seq: Int?, _ sql: String) {
      self.name = name
      self.seq = seq
      self.sql = sql
    }

    var testDescription: String { name }
  }

  private static func swap(_ one: Int, _ other: Int) -> String {
    "UPDATE event SET seq = -1 WHERE seq = \(one); UPDATE event SET seq = \(one) WHERE seq = "
      + "\(other); UPDATE event SET seq = \(other) WHERE seq = -1"
  }

  private static func flip(_ column: String, at place: Int) -> String {
    // The byte at the place becomes another one: 0x00, or 0x01 where it was that.
    "UPDATE event SET \(column) = CAST(substr(\(column), 1, \(place - 1)) || CASE substr(\(column), "
      + "\(place), 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(\(column), \(place + 1)) "
      + "AS BLOB) WHERE seq = 5"
  }

  static let cases = [
    Case("first row deleted", 1, "DELETE FROM event WHERE seq = 1"),
    Case("middle row deleted", 6, "DELETE FROM event WHERE seq = 6"),
    Case("last row deleted", 11, "DELETE FROM event WHERE seq = 11"),
    Case("all deleted", 1, "DELETE FROM event"),
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
    Case("body, tenth byte", 5, flip("body", at: 10)),
    Case("body, in the signature", 5, flip("body", at: 100)),
    Case("body emptied", 5, "UPDATE event SET body = x'' WHERE seq = 5"),
    Case(
      "body of another", 5,
      "UPDATE event SET body = (SELECT body FROM event WHERE seq = 3) WHERE seq = 5"),
    Case("hash", 5, flip("hash", at: 3)),
    Case("body_sha256", 5, flip("body_sha256", at: 3)),
    Case("notification_uuid", 5, flip("notification_uuid", at: 3)),
    Case("source", 5, "UPDATE event SET source = 'v1' WHERE seq = 5"),
    Case(
      "signed_date_ms", 5,
      "UPDATE event SET signed_date_ms = signed_date_ms + 1 WHERE seq = 5"),
    Case(
      "received_at_ms", 5,
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

  @Test(arguments: cases) func verifyNamesTheFirstPlace(_ tampering: Case) throws {
    let installation = try copy()
    try installation.tamper(tampering.sql)
    let before = try installation.files()
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.firstLine.hasPrefix("promise "), "\(verified)")
    if let seq = tampering.seq {
      #expect(verified.firstLine.contains("broken at seq \(seq):"), "\(verified)")
    }
    #expect(try installation.files() == before, "verify changes nothing")
  }

  struct Structure: Sendable, CustomTestStringConvertible {
    let sql: String
    let finding: String
    /// Takes triggers out of the way and puts them back: it is not about them.
    var keepsTriggers = false

    var testDescription: String { finding }
  }

  static let structures = [
    Structure(sql: "DROP TRIGGER event_update", finding: "trigger event_update is gone"),
    Structure(
      sql: "DROP TRIGGER event_delete; CREATE TRIGGER event_delete BEFORE DELETE ON event "
        + "WHEN OLD.seq = 0 BEGIN SELECT raise(ABORT, 'never'); END",
      finding: "trigger event_delete was changed"),
    Structure(sql: "DROP INDEX event_uuid", finding: "index event_uuid is gone"),
    Structure(sql: "CREATE TABLE more (a)", finding: "something was added to the schema"),
    Structure(
      sql: "UPDATE migration SET sha256 = zeroblob(32)",
      finding: "migration 1 is not the one that was applied"),
    Structure(
      sql: "UPDATE dictionary SET header_sha256 = zeroblob(32)",
      finding: "dictionary 1 was changed", keepsTriggers: true),
  ]

  /// Nothing says so in any event, but the next change would find nobody in its way.
  @Test(arguments: structures) func verifyNamesWhatIsBeneath(_ tampering: Structure) throws {
    let installation = try copy()
    if tampering.keepsTriggers {
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

  /// The end of a -wal that a killed daemon left is cut off, or another one lies in its place: the
  /// rows that know more say so.
  @Test(arguments: [true, false]) func theWALIsCutOrReplaced(isCut: Bool) throws {
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
      for place in 16..<24 { other[place] ^= 0x55 }
      try other.write(to: wal)
    }
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.firstLine.contains(" broken at seq "), "\(verified)")
  }

  /// Bits of the file itself, as a bad disk flips them.
  @Test(arguments: [0, 60, 200]) func aFlippedBitInTheFile(place: Int) throws {
    let installation = try copy()
    var bytes = try Data(contentsOf: installation.journal)
    let connection = try SQLiteConnection.open(installation.journal.path, .read)
    let body = try #require(
      try connection.statement("SELECT body FROM event WHERE seq = 5").first { $0.bytes(0) })
    connection.close()
    let start = try #require(bytes.range(of: Data(body))).lowerBound
    bytes[start + min(place, body.count - 1)] ^= 0x10
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

  /// Places far from all others are named, and not walked up to.
  @Test(arguments: [Int64.max, 1 << 50]) func aPlaceFarAway(seq: Int64) throws {
    let installation = try copy()
    try installation.tamper("UPDATE event SET seq = \(seq) WHERE seq = 11")
    for words in [[], ["--chain"], ["--only", "701"]] {
      let verified = try installation.launch(
        ["verify", "--config", installation.config.path] + words
      ).finish(within: 30)
      #expect(verified.code == 1 && verified.firstLine.hasPrefix("promise "), "\(verified)")
    }
    let started = try installation.run("serve")
    #expect(started.code == 1, "\(started)")
  }

  /// The last place, turned in the file into one that came before: read in pieces, each behind the
  /// last row of the one before, such a file has no end.
  @Test func aPlaceThatGoesBack() throws {
    let installation = try copy()
    let connection = try SQLiteConnection.open(installation.journal.path, .read)
    let body = try #require(
      try connection.statement("SELECT body FROM event WHERE seq = 11").first { $0.bytes(0) })
    connection.close()
    var bytes = try Data(contentsOf: installation.journal)
    let page = try #require(bytes.range(of: Data(body))).lowerBound / 4096 * 4096
    func number(_ place: Int) -> Int { Int(bytes[place]) << 8 | Int(bytes[place + 1]) }
    // A leaf of a table: its cells, each a length of two bytes, then the place
    // (sqlite.org/fileformat2.html, section 1.6).
    #expect(bytes[page] == 0x0D)
    let places = (0..<number(page + 3)).map { page + number(page + 8 + 2 * $0) + 2 }
    bytes[try #require(places.first { bytes[$0] == 11 })] = 1
    try bytes.write(to: installation.journal)
    for words in [["verify"], ["verify", "--chain"]] {
      let verified = try installation.launch(words + ["--config", installation.config.path])
        .finish(within: 30)
      #expect(verified.code == 1 && verified.firstLine.hasPrefix("promise "), "\(verified)")
    }
    let exported = try installation.launch(["export", "--config", installation.config.path])
      .finish(within: 30)
    #expect(exported.code != 0, "\(exported)")
  }

  /// What SQLite calls an error in SQL is damage here.
  @Test func aHeaderThatSaysAnotherFormat() throws {
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
  func rowsThatWereChanged(sql: String) throws {
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

  @Test func anotherRootProvesNothing() throws {
    let installation = try copy()
    let stranger = try Installation()
    try installation.configure(with: [("trustRoots", .array([.string(stranger.root.path)]))])
    let verified = try installation.run("verify")
    #expect(verified.code == 1)
    #expect(verified.firstLine.hasPrefix("promise 3 broken at seq 1:"), "\(verified)")
  }
}
