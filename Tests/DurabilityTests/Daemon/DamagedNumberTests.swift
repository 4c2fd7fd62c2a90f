import AppStore
import AppStoreSimulator
import Foundation
import Ledger
import Store
import StrictJSON
import Support
import Testing

/// A damaged number in a file is a finding or a refusal, and never ends a program by a signal.
@Suite struct DamagedNumberTests {
  /// A column of the journal that holds numbers.
  struct Column: Sendable, CustomTestStringConvertible {
    let table: String
    let name: String
    /// Of `meta`, the key.
    var key: String?

    var testDescription: String { "\(table).\(name) \(key ?? "")" }

    /// - Parameter row: `min` or `max`, for the first or the last row.
    func update(to value: String, row: String) -> String {
      guard let key else {
        // It has no rowid.
        let id = table == "claim" ? "seq" : "rowid"
        return "UPDATE \(table) SET \(name) = \(value) WHERE \(id) = "
          + "(SELECT \(row)(\(id)) FROM \(table))"
      }
      return "INSERT OR REPLACE INTO meta VALUES ('\(key)', \(value))"
    }
  }

  /// All columns of type INTEGER, and the values of `meta`, which has no type.
  static let columns: [Column] = {
    var columns = ["open", "generation", "foreign_overflow", "unnamed_through", "journal_id"].map {
      Column(table: "meta", name: "value", key: $0)
    }
    let tables = [
      "migration": ["number", "applied_at_ms"], "app": ["id"], "stream": ["id", "app_id"],
      "kind": ["id"], "dictionary": ["id"],
      "event": [
        "seq", "stream_id", "kind_id", "dictionary_id", "signed_date_ms", "received_at_ms",
      ],
      "quarantine": ["id", "is_foreign", "signed_date_ms", "received_at_ms", "dictionary_id"],
      "redelivery": ["seq", "count", "first_at_ms", "last_at_ms"], "arrival": ["seq"],
      "held_evidence": ["id", "stream_id", "signed_date_ms", "received_at_ms", "dictionary_id"],
      "account": ["id"], "statement": ["seq", "stream_id"], "receipt": ["id", "is_journaled"],
      "sqlite_sequence": ["seq"], "claim": ["stream_id", "seq"], "broken_event": ["seq"],
      "unproven_event": ["seq"], "skipped_note": ["version"],
    ]
    for (table, names) in tables.sorted(by: { $0.key < $1.key }) {
      columns += names.map { Column(table: table, name: $0) }
    }
    return columns
  }()

  private static let extremes = ["-9223372036854775808", "9223372036854775807", "-1"]

  /// Values of other types, where the column takes them.
  private static let otherTypes = ["'text'", "x'00ff'", "1.5e300", "zeroblob(16)"]

  private static let commands = [
    ["verify"], ["doctor"], ["history", "701"], ["quarantine", "list"], ["rebuild"],
    [
      "query",
      "SELECT (SELECT count(*) FROM journal_v1), (SELECT sum(id) FROM quarantine_v1), "
        + "(SELECT count(*) FROM entitlement_v1), (SELECT count(*) FROM entitlement_span_v1)",
    ],
  ]

  /// Events of two customers, one delivered again, two notifications in quarantine, a held
  /// transaction, and a receipt.
  private static let clean = Result { () throws -> Clean in
    let installation = try Installation()
    try installation.fill(1...6)
    let foreign = try (7...8).map {
      try installation.sign(Sample.notification($0, otid: "701", bundleId: "com.example.foreign"))
    }
    let kept = try installation.file("foreign", foreign)
    guard try installation.run("ingest", "--skip-bad", kept).code == 1 else {
      throw TestFailure("nothing in quarantine")
    }
    let again = try installation.file("again", [installation.sign(Sample.notification(3))])
    _ = try installation.run("ingest", again)
    let lines = try (1...2).map { try evidence($0, installation) } + [Sample.receipt(installation)]
    let asked = try installation.file("asked", lines)
    guard try installation.run("ingest", asked).firstLine.contains("1 duplicate") else {
      throw TestFailure("no evidence is held")
    }
    try installation.set(
      "INSERT OR IGNORE INTO redelivery VALUES (3, 2, 5, 9);"
        + " INSERT INTO arrival VALUES (2, 'history')")
    return (try installation.files().mapValues { Array($0) }, installation.authority)
  }

  /// A line of `ingest` with a transaction as of a day.
  private static func evidence(_ day: Int64, _ installation: Installation) throws -> [UInt8] {
    let transaction = JSONValue.object([
      ("transactionId", .string("1")), ("originalTransactionId", .string("702")),
      ("bundleId", .string("com.example.app")), ("environment", .string("Production")),
      ("purchaseDate", .integer(Sample.start)),
      ("signedDate", .integer(Sample.start + day * Sample.day)),
    ])
    let jws = try installation.authority.sign(payload: transaction.bytes)
    let origin = Receiver.EvidenceOrigin(
      bundleId: "com.example.app", environment: Environment.production)
    let body = EvidenceLine.body(String(decoding: jws, as: UTF8.self), .transaction, from: origin)
    return JSONValue.object([("body", body)]).bytes
  }

  /// Files are arrays, because LeakSanitizer reports the storage of a static `Data`.
  private typealias Clean = (files: [String: [UInt8]], authority: SimulatedAuthority)

  private func installation() throws -> Installation {
    let (files, authority) = try Self.clean.get()
    return try Installation(authority: authority, files: files.mapValues { Data($0) })
  }

  @Test func `the table of columns is complete`() throws {
    let clean = try installation()
    let connection = try SQLiteConnection.open(clean.journal.path, .read)
    let found = try connection.statement(
      """
      SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND c.type NOT IN ('TEXT', 'BLOB') AND c.name <> 'name'
      """
    ).all { $0.text(0) }
    connection.close()
    #expect(Set(found) == Set(Self.columns.map { "\($0.table).\($0.name)" }))
  }

  @Test(arguments: columns) func `an impossible number ends no program`(column: Column) throws {
    let values = Self.extremes + (column.table == "meta" ? Self.otherTypes : [])
    for value in values {
      for row in column.name == "received_at_ms" ? ["min", "max"] : ["max"] {
        let installation = try installation()
        try installation.set(column.update(to: value, row: row))
        if column.table == "event" { try installation.chainAgain() }
        try run(installation, "\(column.testDescription) = \(value), \(row)")
      }
    }
  }

  @Test func `impossible numbers in the list of projections end no program`() throws {
    let installation = try installation()
    let names = ["9223372036854775807", "9223372036854775808", "1.9223372036854775808", "0", "."]
    let lines = names.map { "entitlements-\($0).sqlite\n" }.joined()
    try Data(lines.utf8).write(to: installation.data.appending(path: "projections"))
    try run(installation, "the list of projections")
  }

  /// Runs the commands, then a daemon with a few requests.
  private func run(_ installation: Installation, _ what: String) throws {
    let config = ["--config", installation.config.path]
    let running = try Self.commands.map { try installation.launch($0 + config) }
    for (command, arguments) in zip(running, Self.commands) {
      let finished = try command.finish(within: 60)
      #expect(finished.code < 128, "\(what): \(arguments): \(finished)")
      if finished.code == 1 || finished.code == 3 {
        #expect(!(finished.output + finished.errors).isEmpty, "\(what): \(arguments)")
      }
    }
    let daemon = try installation.launch(["serve"] + config)
    try daemon.wait(60, "the start or a refusal") {
      !daemon.isRunning || RunningDaemon.port(in: daemon.errorsSoFar()) != nil
    }
    if let port = RunningDaemon.port(in: daemon.errorsSoFar()) {
      try ask(installation, Client(port: port), what)
      daemon.signal(SIGTERM)
    }
    let finished = try daemon.finish(within: 30)
    #expect(finished.code < 128, "\(what): serve: \(finished)")
  }

  private func ask(_ installation: Installation, _ client: Client, _ what: String) throws {
    for path in [
      "/v1/entitlements/701", "/v1/entitlements/701/history", "/v1/entitlements?limit=10",
      "/v1/entitlements/701?known_at=1", "/v1/entitlements/701/explain", "/v1/quarantine",
      "/v1/overview", "/metrics", "/readyz",
    ] { _ = client.get(path) }
    for number in [1, 3, 90] {
      let body = try installation.sign(Sample.notification(number, otid: "701"))
      // 503 where the journal failed, and never because of a number that is only counted.
      let status = client.post(body)?.status
      if what.hasPrefix("redelivery") { #expect(status == 200, "\(what)") }
    }
    _ = client.get("/metrics")
  }
}

extension Installation {
  /// Changes the journal against its constraints and triggers.
  fileprivate func set(_ sql: String) throws {
    try tamper("PRAGMA ignore_check_constraints=ON; " + sql)
  }

  /// Computes the chain's hashes again, so that a start does not stop at them.
  func chainAgain() throws {
    let connection = try SQLiteConnection.open(journal.path, .read)
    let events = try connection.statement(
      """
      SELECT seq, notification_uuid, source, received_at_ms, body_sha256 FROM event ORDER BY seq
      """
    ).all { ($0.int(0), $0.bytes(1), $0.text(2), $0.int(3), $0.bytes(4)) }
    connection.close()
    var hash = ChainHash.origin
    var sql = ""
    for (seq, bytes, source, receivedAt, body) in events {
      guard let uuid = NotificationUUID(bytes: bytes) else { throw TestFailure("no uuid") }
      hash = ChainHash.next(
        after: hash, seq: seq, receivedAt: receivedAt,
        notificationUUID: uuid, source: EventSource(rawValue: source),
        bodySHA256: body)
      let text = hash.map { String(format: "%02x", $0) }.joined()
      sql += "UPDATE event SET hash = x'\(text)' WHERE seq = \(seq);"
    }
    try tamper(sql)
  }
}
