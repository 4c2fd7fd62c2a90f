import AppStore
import Foundation
import Platform
import Support
import Testing

@testable import Store

/// SQL of the user over the views: what it may read, and when it ends.
@Suite struct QueryTests {
  /// A folder with 20 events of two customers and three quarantined notifications, at rest.
  private func filled(projection: Bool = true) throws -> Scratch {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append((0..<20).map { .event(Sample.event($0)) })
      _ = try opened.journal.append((0..<3).map { .quarantine(Sample.quarantine($0)) })
      try opened.journal.close()
    }
    if projection { try StandInProjection.write(in: scratch.folder) }
    return scratch
  }

  private func rows(
    _ sql: String, _ scratch: Scratch, limit: QueryLimit = QueryLimit(seconds: 30)
  ) throws -> [[QueryValue]] {
    try rows(sql, try QueryReader.open(scratch.folder), limit: limit)
  }

  private func rows(
    _ sql: String, _ reader: QueryReader, limit: QueryLimit = QueryLimit(seconds: 30)
  ) throws -> [[QueryValue]] {
    var rows: [[QueryValue]] = []
    try reader.prepare(sql).run(limit) { row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// Why the statement is refused; nil if it is not.
  private func refusal(_ sql: String) throws -> String? {
    let scratch = try filled()
    let reader = try QueryReader.open(scratch.folder)
    let before = try scratch.files()
    do throws(LedgerError) {
      _ = try reader.prepare(sql)
      return nil
    } catch {
      guard error.code == .usage else { throw error }
      #expect(try scratch.files() == before)
      return error.message
    }
  }

  // MARK: What can be read

  @Test func `one query joins the views of both files`() throws {
    let scratch = try filled()
    let found = try rows(
      """
      SELECT e.original_transaction_id, e.status, count(j.seq), s.to_ms, e.currency
      FROM entitlement_v1 AS e
      LEFT JOIN journal_v1 AS j USING (environment, bundle_id, original_transaction_id)
      JOIN entitlement_span_v1 AS s USING (environment, bundle_id, original_transaction_id)
      GROUP BY 1 ORDER BY 1
      """, scratch)
    #expect(
      found == [
        [.text("2"), .text("expired"), .integer(0), .null, .null],
        [.text("2000000000000000"), .text("active"), .integer(10), .integer(5), .null],
      ])
  }

  @Test func `values keep their types`() throws {
    let scratch = try filled()
    let value = try rows("SELECT 1, -2.5, 'a', x'00ff', NULL, hash FROM journal_v1", scratch)[0]
    #expect(value.prefix(5) == [.integer(1), .real(-2.5), .text("a"), .blob([0, 255]), .null])
    guard case .blob(let hash) = value[5] else { throw TestFailure("\(value)") }
    #expect(hash.count == 32)
  }

  @Test(arguments: [
    "SELECT count(*) FROM journal_v1", "SELECT count(*) FROM quarantine_v1 AS a, quarantine_v1",
    "SELECT count(*) FROM entitlement_v1", "SELECT count(*) FROM entitlement_span_v1, journal_v1",
    "SELECT 1 FROM entitlements.entitlement_v1, Journal.JOURNAL_V1",
    "SELECT app.bundle_id FROM journal_v1 AS app", "SELECT seq AS event FROM journal_v1",
    "WITH x AS (SELECT * FROM journal_v1 LIMIT 5) SELECT count(*) FROM x",
    "WITH y AS MATERIALIZED (SELECT 1) SELECT count(*) FROM y",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n",
    "SELECT (SELECT max(seq) FROM journal_v1 WHERE seq IN (SELECT id FROM quarantine_v1))",
    "SELECT row_number() OVER (ORDER BY seq), datetime(signed_date_ms / 1000, 'unixepoch')"
      + " FROM journal_v1", "VALUES (1), (2)", "SELECT 1 ; -- done\n ;", "/* a */ SELECT 1",
    "WITH journal_v1 AS (SELECT 1 AS event) SELECT event FROM journal_v1", "SELECT 'event'",
    "SELECT \"seq\" FROM [journal_v1]", ";; SELECT 1",
  ]) func `a query over the views is allowed`(sql: String) throws {
    #expect(try !rows(sql, try filled()).isEmpty)
  }

  // MARK: What is refused

  @Test(arguments: [
    "DELETE FROM journal_v1", "WITH a AS (SELECT 1) DELETE FROM event", "DROP VIEW journal_v1",
    "INSERT INTO event (seq) VALUES (1)", "UPDATE event SET seq = 1", "REPLACE INTO app VALUES (1)",
    "CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "CREATE TEMP VIEW t AS SELECT 1",
    "PRAGMA user_version", "PRAGMA journal.journal_mode = DELETE", "PRAGMA writable_schema = ON",
    "ATTACH 'x' AS x", "DETACH journal", "BEGIN", "COMMIT", "SAVEPOINT a", "VACUUM",
    "VACUUM INTO 'x'", "REINDEX", "ANALYZE", "EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT 1",
  ]) func `everything but SELECT is refused`(sql: String) throws {
    let refusal = try #require(try self.refusal(sql))
    #expect(refusal.contains("only SELECT"), "\(refusal)")
  }

  @Test(arguments: [
    "SELECT body FROM event", "SELECT count(*) FROM event", "SELECT 1 FROM journal.event",
    "SELECT value FROM journal.meta", "SELECT state FROM purchase", "SELECT count(*) FROM purchase",
    "SELECT * FROM sqlite_schema", "SELECT count(*) FROM sqlite_master",
    "SELECT sql FROM journal.sqlite_schema", "SELECT * FROM entitlements.app",
    "SELECT (SELECT body FROM event) FROM journal_v1", "SELECT id FROM span",
    "SELECT * FROM journal_v1 WHERE seq IN (SELECT seq FROM event)",
    "WITH x AS (SELECT body FROM event) SELECT * FROM x",
    "SELECT * FROM (SELECT body FROM event) AS journal_v1",
    "SELECT rowid FROM event", "SELECT * FROM main.event", "SELECT 1 FROM journal_v1, event",
    "SELECT * FROM \"Event\"", "SELECT * FROM [event]/**/AS--\njournal_v1",
    "SELECT * FROM temp.sqlite_schema", "SELECT count(*) FROM entitlements.sqlite_schema",
    "SELECT * FROM sqlite_sequence", "SELECT 1 FROM journal_v1 WHERE seq IN event",
  ]) func `tables are refused, also beside a view`(sql: String) throws {
    let refusal = try #require(try self.refusal(sql))
    #expect(refusal.contains("only SELECT") && refusal.contains("journal_v1"), "\(refusal)")
  }

  /// SQLite's authorizer is told of reads through a WITH clause and through a view in the same way.
  @Test(arguments: [
    "WITH journal_v1 AS (SELECT body FROM event) SELECT * FROM journal_v1",
    "WITH Journal_V1 (a) AS NOT MATERIALIZED (SELECT seq FROM event) SELECT * FROM journal_v1",
    "WITH \"journal_v1\"/**/AS--\n(SELECT seq FROM event) SELECT * FROM [journal_v1]",
    "WITH x AS (SELECT 1), 'entitlement_v1' AS MATERIALIZED (SELECT app_id FROM purchase)"
      + " SELECT * FROM entitlement_v1",
    "WITH closed AS (SELECT id FROM span) SELECT * FROM closed",
  ]) func `a WITH clause with the name of a view reads no table`(sql: String) throws {
    let refusal = try #require(try self.refusal(sql))
    #expect(refusal.hasPrefix("no such table: "), "\(refusal)")
  }

  @Test(arguments: [
    ("SELECT * FROM pragma_table_info('event')", "only SELECT"),
    ("SELECT count(*) FROM pragma_table_list", "only SELECT"),
    ("SELECT * FROM json_each('[1]')", "only SELECT"), ("SELECT * FROM dbstat", "only SELECT"),
    ("SELECT count(*) FROM json_each('[1]')", "only SELECT"),
    ("SELECT count(*) FROM dbstat", "only SELECT"),
    ("SELECT * FROM fts3tokenize", "only SELECT"), ("SELECT * FROM sqlite_stmt", "only SELECT"),
    ("SELECT fts3_tokenizer('simple')", "fts3_tokenizer"),
    ("SELECT rtreecheck('journal', 'event')", "rtreecheck"),
    ("SELECT load_extension('x')", "load_extension"), ("SELECT Sqlite_Log(1, 'x')", "Sqlite_Log"),
    ("SELECT 1; SELECT 2", "one statement"), ("SELECT 1; x", "one statement"),
    ("SELECT 1; PRAGMA query_only = OFF", "one statement"),
    ("", "no SQL"), (" -- nothing", "no SQL"), (";", "no SQL"), ("SELECT ?", "parameters"),
    ("SELECT :seq FROM journal_v1", "parameters"), ("SELECT 1\0", "zero byte"),
    ("SELCT 1", "near \"SELCT\": syntax error"), ("SELECT x FROM journal_v1", "no such column: x"),
    ("SELECT * FROM nowhere", "no such table: nowhere"), ("SELECT nowhere(1)", "no such function"),
  ]) func `wrong SQL is refused with the reason`(sql: String, reason: String) throws {
    let refusal = try #require(try self.refusal(sql))
    #expect(refusal.contains(reason), "\(refusal)")
  }

  @Test func `an error of the SQL that only its run shows is a refusal`() throws {
    let scratch = try filled()
    let sum = "SELECT sum(9223372036854775807) FROM journal_v1"
    #expect(throws: LedgerError.usage("integer overflow")) { try rows(sum, scratch) }
    #expect(throws: LedgerError.usage("string or blob too big")) {
      try rows("SELECT zeroblob(100000001)", scratch)
    }
  }

  @Test func `without a projection its views say so and the others work`() throws {
    let scratch = try filled(projection: false)
    let reader = try QueryReader.open(scratch.folder)
    #expect(try rows("SELECT count(*) FROM journal_v1, quarantine_v1", reader) == [[.integer(60)]])
    for sql in ["SELECT 1 FROM Entitlement_V1", "SELECT 1 FROM entitlements.entitlement_v1"] {
      #expect(throws: LedgerError.missing(view: "entitlement_v1")) { try rows(sql, reader) }
    }
    // The link of a projection that was removed.
    symlink("entitlements-7.sqlite", scratch.folder.path + "/entitlements.sqlite")
    #expect(throws: LedgerError.missing(view: "entitlement_span_v1")) {
      try rows("SELECT 1 FROM entitlement_span_v1", scratch)
    }
  }

  // MARK: Time

  private let endless =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

  @Test func `a query that does not end is stopped after its time limit`() throws {
    let scratch = try filled()
    let began = Clock.monotonicNanoseconds()
    #expect(throws: LedgerError.timeLimit(seconds: 1)) {
      try rows(endless, scratch, limit: QueryLimit(seconds: 1))
    }
    #expect(Clock.monotonicNanoseconds() - began >= 1_000_000_000)
    let text = LedgerError.timeLimit(seconds: 1).description
    #expect(text.contains("1 s") && text.contains("--limit-seconds"))
  }

  /// Of these instructions, 10,000 take minutes.
  @Test func `a query of few and long instructions is stopped too`() throws {
    let scratch = try filled()
    let sql =
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
      + "SELECT sum(length(hex(randomblob(8000000)))) FROM n"
    let began = Clock.monotonicNanoseconds()
    #expect(throws: LedgerError.timeLimit(seconds: 1)) {
      try rows(sql, scratch, limit: QueryLimit(seconds: 1))
    }
    #expect(Clock.monotonicNanoseconds() - began < 60_000_000_000)
  }

  /// While the rows are printed, the write-ahead log cannot be shortened either.
  @Test func `the time in which a row is used counts`() throws {
    let scratch = try filled()
    let reader = try QueryReader.open(scratch.folder)
    let query = try reader.prepare("SELECT seq FROM journal_v1")
    #expect(throws: LedgerError.timeLimit(seconds: 1)) {
      try query.run(QueryLimit(seconds: 1)) { _ in
        usleep(400_000)
        return true
      }
    }
  }

  @Test func `a query that does not end after its time is told of once`() throws {
    let scratch = try filled()
    let reader = try QueryReader.open(scratch.folder)
    let query = try reader.prepare("SELECT seq FROM journal_v1")
    let told = WakeupEvent()
    let limit = QueryLimit(
      seconds: 1,
      onOverrun: { error in
        if error == .timeLimit(seconds: 1) { told.signal() }
      })
    #expect(throws: LedgerError.timeLimit(seconds: 1)) {
      try query.run(limit) { _ in
        told.wait()
        return true
      }
    }
  }

  @Test func `a row that is too long is not returned`() throws {
    let scratch = try filled()
    let columns = "zeroblob(8000000), zeroblob(8000000), zeroblob(8000000)"
    #expect(throws: LedgerError.memoryLimit) { try rows("SELECT \(columns)", scratch) }
  }

  @Test func `an interrupted query ends and the next one works`() throws {
    let scratch = try filled()
    let reader = try QueryReader.open(scratch.folder)
    let limit = QueryLimit(seconds: 600, isInterrupted: { true })
    #expect(throws: LedgerError.stopped) { try rows(endless, reader, limit: limit) }
    #expect(try rows("SELECT count(*) FROM journal_v1", reader) == [[.integer(20)]])
  }

  // MARK: Files

  @Test func `a folder at rest is not changed`() throws {
    let scratch = try filled()
    let before = try scratch.files()
    #expect(try rows("SELECT 1 FROM journal_v1, entitlement_v1", scratch).count == 40)
    #expect(try scratch.files() == before)
  }

  @Test func `a query beside a writer sees what was committed before it`() throws {
    let scratch = try filled()
    let opened = try scratch.open()
    let reader = try QueryReader.open(scratch.folder)
    let count = "SELECT count(*) FROM journal_v1"
    _ = try opened.journal.append([.event(Sample.event(20))])
    #expect(try rows(count, reader) == [[.integer(21)]])
    var seen = 0
    try reader.prepare("SELECT seq FROM journal_v1").run(QueryLimit(seconds: 30)) { _ in
      seen += 1
      _ = try? opened.journal.append([.event(Sample.event(20 + seen))])
      return true
    }
    #expect(seen == 21)
    #expect(try rows(count, reader) == [[.integer(42)]])
  }

  @Test func `a file at rest that changes during a query is reported`() throws {
    let scratch = try filled()
    let reader = try QueryReader.open(scratch.folder)
    let opened = try scratch.open()
    _ = try opened.journal.append((20..<40).map { .event(Sample.event($0)) })
    try opened.journal.close()
    #expect(throws: LedgerError.filesChanged) { try rows("SELECT seq FROM journal_v1", reader) }
  }

  @Test func `a file that is no projection is refused`() throws {
    let scratch = try filled()
    unlink(scratch.folder.path + "/entitlements.sqlite")
    symlink("journal.sqlite", scratch.folder.path + "/entitlements.sqlite")
    #expect(throws: LedgerError.foreign("journal.sqlite is another program's file")) {
      try QueryReader.open(scratch.folder)
    }
  }

  // MARK: Descriptions

  @Test(arguments: SQLView.all.map(\.name)) func `every column of a view is described`(
    name: String
  ) throws {
    let view = try #require(SQLView.all.first { $0.name == name })
    let scratch = try filled()
    let journal = try JournalReader.open(scratch.folder)
    try CustomerStore(scratch.folder, journalId: try journal.journalId()).close()
    let reader = try QueryReader.open(scratch.folder)
    #expect(try reader.prepare("SELECT * FROM \(name)").columns == view.columns.map(\.name))
    for column in view.columns {
      #expect(column.meaning.hasSuffix(".") && column.meaning.count > 10, "\(column.name)")
    }
  }

  @Test func `customers of an older version's file are read, without trials`() throws {
    let scratch = try filled()
    let journal = try JournalReader.open(scratch.folder)
    try CustomerStore(scratch.folder, journalId: try journal.journalId()).close()
    let connection = try SQLiteConnection.open(scratch.folder.customers, .write)
    try connection.execute(
      """
      INSERT INTO entitlement VALUES
        ('Production', 'com.example.app', 'original_transaction_id', x'37', 'pro', 1, 'paid', 0,
         NULL, 'pro', '7', NULL, 1, 1);
      ALTER TABLE entitlement DROP COLUMN trial; PRAGMA user_version = 2
      """)
    connection.close()
    let found = try rows("SELECT name, active, trial FROM customer_entitlement_v1", scratch)
    #expect(found == [[.text("pro"), .integer(1), .null]])
  }

  @Test func `the views of a projection have the columns of the contract`() throws {
    let named = Dictionary(uniqueKeysWithValues: SQLView.all.map { ($0.name, $0.columns) })
    #expect(named["entitlement_v1"]?.map(\.name) == names(Self.entitlement))
    #expect(named["entitlement_span_v1"]?.map(\.name) == names(Self.span))
    #expect(named["transaction_v1"]?.map(\.name) == names(Self.transaction))
    #expect(
      named["refund_v1"]?.map(\.name)
        == names(
          """
          environment bundle_id original_transaction_id transaction_id product_id purchased_at_ms
          kind at_ms milliunits currency type percentage
          """))
  }

  @Test(
    arguments: [
      "ownership": ["PURCHASED", "FAMILY_SHARED", "ASSIGNED"],
      "offer_type": ["1 (introductory)", "4 (win-back)"],
      "offer_discount_type": ["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"],
      "revoked_at_ms": ["refund", "family", "seat"],
    ]) func `a column names Apple's values`(_ name: String, _ values: [String]) throws
  {
    let columns = SQLView.all.first { $0.name == "entitlement_v1" }?.columns
    let column = try #require(columns?.first { $0.name == name })
    for value in values { #expect(column.meaning.contains(value), "\(column.meaning)") }
  }

  private func names(_ text: String) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  private static let entitlement = """
    environment bundle_id original_transaction_id transaction_id product_id product_type ownership
    status gives_access starts_at_ms expires_at_ms grace_period_expires_at_ms revoked_at_ms
    auto_renew pending_product_id gap app_account_token app_transaction_id subscription_group_id
    offer_type offer_identifier offer_discount_type offer_period price_milliunits currency
    price_increase commitment_period commitment_periods commitment_ends_at_ms commitment_auto_renew
    succeeded_by event_count last_event_seq last_notification_uuid last_notification_type
    last_subtype last_signed_date_ms anomaly storefront billing_plan
    revocation_percentage renewal_price_milliunits renewal_currency renewal_offer_type
    renewal_offer_identifier renewal_offer_discount_type renewal_offer_period renewal_quantity
    win_back_offers expiration_reason seats
    """

  private static let span = """
    environment bundle_id original_transaction_id from_ms to_ms status gives_access transaction_id
    product_id expires_at_ms gap
    """

  private static let transaction = """
    environment bundle_id original_transaction_id transaction_id other_transaction_ids
    web_order_line_item_id product_id product_type subscription_group_id ownership reason
    purchased_at_ms original_purchased_at_ms expires_at_ms ended_at_ms quantity price_milliunits
    currency storefront billing_plan offer_type offer_identifier offer_discount_type offer_period
    is_upgraded replaced_by revoked_at_ms revocation_reason revocation_type revocation_percentage
    refunded_milliunits app_account_token app_transaction_id first_seq last_seq signed_date_ms
    seats seat_price refunded_seats seats_refunded_at_ms consumption_request_reason refunds
    """
}
