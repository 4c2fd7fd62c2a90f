import AppStoreSimulator
import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// `verify` finds changes of all tables beside the events, and names what is wrong (promises 2, 3
/// and 5).
@Suite struct TamperedTableTests {
  private static let secret = "a-secret-of-these-tests"

  /// Files are arrays, because LeakSanitizer reports the storage of a static `Data`.
  private static let clean = Result { try make() }

  /// A V1 body that names no app.
  private static func v1(_ number: Int, _ more: String = "") -> [UInt8] {
    Array(
      """
      {"notification_type":"DID_RENEW","password":"\(secret)","environment":"PROD",\(more)\
      "unified_receipt":{"environment":"Production","latest_receipt_info":[\
      {"transaction_id":"9\(number)","original_transaction_id":"900","product_id":"pro.monthly",\
      "purchase_date_ms":"1767225600000","expires_date_ms":"1769904000000"}]}}
      """.utf8)
  }

  private static func configured(_ installation: Installation) throws {
    let file = installation.folder.appending(path: "v1.secret").path
    try DurableFile.write(Array(secret.utf8), to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    try installation.configure(apps: [
      Installation.app().setting("v1SharedSecretFile", .string(file)),
      Installation.app("com.example.other"),
    ])
  }

  /// Events of two apps, of the Sandbox and of V1; quarantine of both versions and of a conflict;
  /// redeliveries.
  private static func make() throws -> (files: [String: [UInt8]], authority: SimulatedAuthority) {
    let installation = try Installation()
    try configured(installation)
    var lines = try (1...8).map { number in
      try installation.sign(
        Sample.notification(
          number, otid: "70\(number % 2)", type: number == 7 ? "REFUND" : "DID_RENEW",
          bundleId: number == 8 ? "com.example.other" : "com.example.app",
          environment: number == 6 ? "Sandbox" : "Production"))
    }
    lines += [v1(1), v1(2), v1(3, #""bid":"com.example.elsewhere","#)]
    lines +=
      try [lines[0], lines[0], lines[1]]
      + [90, 91].map {
        try installation.sign(Sample.notification($0, bundleId: "com.example.foreign"))
      }
    lines.append(try installation.sign(Sample.notification(1, otid: "700", type: "EXPIRED")))
    lines.append(try Sample.receipt(installation))
    let ingested = try installation.run(
      "ingest", try installation.file("all", lines), "--skip-bad")
    guard ingested.code == 1 else { throw TestFailure("\(ingested)") }
    let verified = try installation.run("verify")
    guard verified.code == 0 else { throw TestFailure("\(verified)") }
    return (try installation.files().mapValues { Array($0) }, installation.authority)
  }

  struct Edit: Sendable, CustomTestStringConvertible {
    let sql: String
    /// What a finding says.
    let finding: String

    init(_ sql: String, _ finding: String) { (self.sql, self.finding) = (sql, finding) }

    var testDescription: String { sql }
  }

  private static let otherApp = "(SELECT id FROM app WHERE bundle_id = 'com.example.other')"

  private static let apps = [
    Edit(
      "UPDATE app SET bundle_id = 'x' WHERE bundle_id = 'com.example.other'",
      "column bundle_id differs"),
    Edit(
      "UPDATE app SET environment = 'Sandbox' WHERE bundle_id = 'com.example.other'",
      "column environment differs"),
    Edit("INSERT INTO app (environment, bundle_id) VALUES ('Production', 'x')", "has no stream"),
    Edit("DELETE FROM app WHERE bundle_id = 'com.example.other'", "a row of app that is missing"),
    Edit("UPDATE app SET id = 77 WHERE bundle_id = 'com.example.other'", "a row of app that is"),
    Edit(
      "UPDATE stream SET original_transaction_id = '9' WHERE original_transaction_id = '700'",
      "column original_transaction_id differs"),
    Edit(
      "DELETE FROM stream WHERE original_transaction_id = '701'", "a row of stream that is missing"
    ),
    Edit(
      "UPDATE stream SET id = id + 500 WHERE original_transaction_id = '701'",
      "a row of stream that is missing"),
    Edit(
      "UPDATE stream SET app_id = \(otherApp) WHERE original_transaction_id = '701'",
      "column bundle_id differs"),
    Edit(
      "UPDATE stream SET app_id = 999 WHERE original_transaction_id = '701'",
      "a row of app that is missing"),
    Edit(
      "UPDATE stream SET app_id = \(otherApp) WHERE original_transaction_id = '900'",
      "the apps of V1 events and renewals: a row was changed"),
    Edit(
      "INSERT INTO stream (id, app_id, original_transaction_id) VALUES (500, \(otherApp), '900');"
        + " UPDATE event SET stream_id = 500 WHERE source = 'v1'",
      "the apps of V1 events and renewals: a row was changed"),
    Edit(
      "INSERT INTO stream (id, app_id, original_transaction_id) VALUES (500, \(otherApp), '900');"
        + " UPDATE event SET stream_id = 500 WHERE seq = (SELECT max(seq) FROM event WHERE"
        + " source = 'v1')", "the apps of V1 events and renewals: a row was changed"),
  ]

  private static let kinds = [
    Edit(
      "UPDATE kind SET notification_type = 'X' WHERE notification_type = 'REFUND'",
      "column notification_type differs"),
    Edit(
      "UPDATE kind SET subtype = 'X' WHERE notification_type = 'REFUND'", "column subtype differs"),
    Edit("INSERT INTO kind (notification_type) VALUES ('X')", "has no event"),
    Edit(
      "INSERT INTO kind (notification_type, subtype) SELECT notification_type, subtype FROM kind"
        + " WHERE id = 1", "is there twice"),
    Edit("DELETE FROM kind WHERE notification_type = 'REFUND'", "a row of kind that is missing"),
    Edit("UPDATE dictionary SET bytes = zeroblob(length(bytes))", "dictionary 1 was changed"),
    Edit("UPDATE dictionary SET sha256 = zeroblob(32)", "dictionary 1 was changed"),
    Edit("DELETE FROM dictionary", "a row of dictionary that is missing"),
    Edit("INSERT INTO redelivery VALUES (999, 1, 5, 5)", "a row of event that is missing"),
    Edit("UPDATE redelivery SET seq = 999 WHERE seq = 1", "a row of event that is missing"),
    Edit(
      "PRAGMA ignore_check_constraints = ON; UPDATE redelivery SET count = 0 WHERE seq = 1",
      "the redeliveries of seq 1 are impossible"),
    Edit(
      "PRAGMA ignore_check_constraints = ON; UPDATE redelivery SET last_at_ms = 0 WHERE seq = 1",
      "the redeliveries of seq 1 are impossible"),
    Edit(
      "UPDATE redelivery SET last_at_ms = last_at_ms + 5 WHERE count = 1",
      "the redeliveries of seq 2 are impossible"),
    Edit("INSERT INTO arrival VALUES (999, 'history')", "a row of event that is missing"),
    Edit(
      "PRAGMA ignore_check_constraints = ON; INSERT INTO arrival VALUES (1, 'posted')",
      "how seq 1 arrived is not known"),
    Edit("INSERT INTO arrival VALUES (1, 'history')", "arrivals: 3 rows, the journal's writer"),
    Edit(
      "UPDATE redelivery SET count = count + 1 WHERE count > 1",
      "redeliveries: a row was changed or replaced"),
    Edit(
      "UPDATE redelivery SET first_at_ms = first_at_ms - 1, last_at_ms = last_at_ms - 1",
      "redeliveries: a row was changed or replaced"),
    Edit("UPDATE redelivery SET seq = 3 WHERE seq = 1", "redeliveries: a row was changed"),
    Edit(
      "DELETE FROM redelivery WHERE seq = 1", "redeliveries: 1 rows, the journal's writer counted 2"
    ),
  ]

  /// One of two notifications of another app.
  private static func quarantine(_ change: String, _ finding: String) -> Edit {
    Edit(
      "UPDATE quarantine SET \(change) WHERE id = (SELECT min(id) FROM quarantine"
        + " WHERE bundle_id = 'com.example.foreign')", finding)
  }

  private static let quarantined = [
    quarantine("reason = 'x'", "quarantine: a row was changed"),
    quarantine("is_foreign = 0", "quarantine: a row was changed"),
    quarantine("source = 'v1'", "column source differs"),
    quarantine("notification_uuid = 'x'", "column notification_uuid differs"),
    quarantine("notification_uuid = NULL", "column notification_uuid differs"),
    quarantine("environment = 'Sandbox'", "column environment differs"),
    quarantine("environment = NULL", "column environment differs"),
    quarantine("bundle_id = 'x'", "column bundle_id differs"),
    quarantine("notification_type = 'x'", "column notification_type differs"),
    quarantine("signed_date_ms = signed_date_ms + 1", "column signed_date_ms differs"),
    quarantine("signed_date_ms = NULL", "column signed_date_ms differs"),
    quarantine("received_at_ms = received_at_ms - 1", "quarantine: a row was changed"),
    quarantine("body_sha256 = zeroblob(32)", "the body was changed"),
    quarantine("body = zeroblob(length(body))", "the body was changed"),
    quarantine("original_transaction_id = 'x'", "column original_transaction_id differs"),
    quarantine("original_transaction_id = NULL", "column original_transaction_id differs"),
    quarantine("id = 1000", "sqlite_sequence: an id of quarantine may be used again"),
    Edit(
      "UPDATE quarantine SET notification_type = 'x' WHERE source = 'v1'",
      "column notification_type differs"),
    Edit(
      "UPDATE quarantine SET bundle_id = 'x' WHERE reason = 'conflict'",
      "column bundle_id differs"),
    Edit("DELETE FROM quarantine WHERE source = 'v1'", "quarantine: 3 rows, the journal's writer"),
    Edit("DELETE FROM quarantine", "quarantine: 0 rows, the journal's writer counted 4"),
    Edit(
      "INSERT INTO quarantine SELECT 50, reason, is_foreign, source, 'x', environment, bundle_id,"
        + " notification_type, signed_date_ms, received_at_ms, body_sha256, dictionary_id, body,"
        + " original_transaction_id FROM quarantine WHERE reason = 'conflict'",
      "quarantine: 5 rows, the journal's writer counted 4"),
  ]

  private static let itself = [
    Edit("INSERT INTO meta VALUES ('x', 1)", "meta has a key that is not known"),
    Edit("UPDATE meta SET value = x'00' WHERE key = 'journal_id'", "journal_id is not valid"),
    Edit("UPDATE meta SET value = -1 WHERE key = 'generation'", "generation is not valid"),
    Edit("UPDATE meta SET value = 'x' WHERE key = 'foreign_overflow'", "foreign_overflow is not"),
    Edit("DELETE FROM meta WHERE key = 'foreign_overflow'", "foreign_overflow is missing"),
    Edit(
      "UPDATE meta SET value = value + 1 WHERE key = 'quarantine_count'",
      "quarantine: 4 rows, the journal's writer counted 5"),
    Edit(
      "UPDATE meta SET value = zeroblob(32) WHERE key = 'quarantine_digest'",
      "quarantine: a row was changed"),
    Edit(
      "DELETE FROM meta WHERE key = 'quarantine_digest'",
      "quarantine: the count or the digest is missing"),
    Edit(
      "UPDATE meta SET value = zeroblob(32) WHERE key = 'v1_digest'",
      "the apps of V1 events and renewals: a row was changed"),
    Edit(
      "UPDATE meta SET value = 0 WHERE key = 'v1_count'",
      "the apps of V1 events and renewals: 2 rows"),
    Edit("UPDATE migration SET sha256 = zeroblob(32) WHERE number = 2", "migration 2 is not the"),
    Edit("UPDATE migration SET name = 'x' WHERE number = 2", "migration 2 has another name"),
    Edit("UPDATE sqlite_sequence SET seq = 0", "sqlite_sequence: an id of quarantine"),
    Edit("DELETE FROM sqlite_sequence", "sqlite_sequence: an id of quarantine"),
  ]

  private static let receipts = [
    Edit("UPDATE receipt SET is_journaled = 0", "receipt 1 is not marked as journaled"),
    Edit("UPDATE receipt SET sha256 = zeroblob(32)", "the body was changed or cannot be read"),
    Edit("UPDATE receipt SET body = zeroblob(40)", "the body was changed or cannot be read"),
    Edit("DELETE FROM receipt", "the body was changed or cannot be read"),
    Edit(
      "INSERT INTO receipt SELECT 7, zeroblob(32), 1, body FROM receipt",
      "receipt 7 is marked as journaled, and no event names it"),
    Edit(
      "INSERT INTO receipt SELECT 7, zeroblob(32), 0, body FROM receipt", "receipt 7 is not used"),
    // Which of the receipt's customers the event is about.
    Edit(
      "UPDATE event SET body = (SELECT body FROM event WHERE source = 'receipt' LIMIT 1)"
        + " WHERE seq = (SELECT max(seq) FROM event)",
      "the body was changed or cannot be read"),
    Edit(
      "UPDATE stream SET original_transaction_id = '9' WHERE original_transaction_id = '7000'",
      "the body was changed or cannot be read"),
  ]

  private func copy() throws -> Installation {
    let clean = try Self.clean.get()
    let installation = try Installation(
      authority: clean.authority, files: clean.files.mapValues { Data($0) })
    try Self.configured(installation)
    return installation
  }

  @Test(arguments: apps + kinds + quarantined + itself + receipts)
  func `verify finds a change of a table and says what is wrong`(_ edit: Edit) throws {
    let installation = try copy()
    try installation.tamper(edit.sql)
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.output.contains(edit.finding), "\(verified)")
  }

  /// `String` calls both spellings equal.
  @Test func `verify finds a column that spells an accent in another way than the body`() throws {
    let installation = try Installation()
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    let lines = try [
      installation.sign(Sample.notification(1, otid: composed)),
      installation.sign(Sample.notification(2, bundleId: "com.\(composed)")),
    ]
    let file = try installation.file("lines", lines)
    #expect(try installation.run("ingest", "--skip-bad", file).code == 1)
    #expect(try installation.verify().code == 0)
    try installation.tamper(
      """
      UPDATE stream SET original_transaction_id = '\(decomposed)'
        WHERE original_transaction_id = '\(composed)';
      UPDATE quarantine SET bundle_id = 'com.\(decomposed)';
      """)
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    #expect(verified.output.contains("column original_transaction_id differs"), "\(verified)")
    #expect(verified.output.contains("column bundle_id differs"), "\(verified)")
  }

  /// A journal of an older program has no digests. It is verified as before, and the next start
  /// makes them.
  @Test func `a journal without digests has no findings, and gets them from a start`() throws {
    let installation = try copy()
    let keys = "'quarantine_count', 'quarantine_digest', 'v1_from', 'v1_count', 'v1_digest'"
    try installation.tamper("DELETE FROM meta WHERE key IN (\(keys))")
    #expect(try installation.run("verify").code == 0)
    try installation.fill(100...101)
    #expect(try installation.run("verify").code == 0)
    try installation.tamper("DELETE FROM quarantine WHERE source = 'v1'")
    let verified = try installation.run("verify")
    #expect(verified.code == 1 && verified.output.contains("quarantine: 3 rows"), "\(verified)")
  }

  /// Whatever leaves the quarantine in the right way leaves its count too.
  @Test func `notifications that leave the quarantine are no finding`() throws {
    let installation = try copy()
    let listed = try installation.run("quarantine", "list", "--json")
    let ids = try listed.lines().compactMap { $0["id"]?.integer }.map(String.init)
    #expect(ids.count == 4, "\(listed)")
    for id in ids.prefix(2) {
      let dropped = try installation.run("quarantine", "drop", id)
      #expect(dropped.code == 0, "\(dropped)")
    }
    let verified = try installation.run("verify")
    #expect(verified.code == 0, "\(verified)")
  }
}
