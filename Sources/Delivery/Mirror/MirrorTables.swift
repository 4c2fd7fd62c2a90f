import AppStore
import Clients
import Platform
import Queries
import Store

/// The statements of a mirror. Every table has rows of several generations, of which `mirror` names
/// the one that counts: a new fill is beside the old one until one statement switches.
struct MirrorTables {
  /// What the table `mirror` says.
  struct State: Equatable {
    var layout: Int64
    var generation: Int64
    /// Nil: it was never filled.
    var journalId: [UInt8]?
    var fold: String?
    var seq: Int64
    var hash: [UInt8]
  }

  let connection: PostgresConnection
  private let schema: String

  /// Milliseconds that a statement may take, and one that goes through a whole table.
  private static let usual: Int64 = 60_000
  private static let whole: Int64 = 1_800_000

  private static func tables(_ layout: Int64) -> [String] {
    ["entitlement", "entitlement_span", "account", "event"]
      + (layout < MirrorSchema.transactions ? [] : ["transaction_line"])
      + (layout < MirrorSchema.requests ? [] : ["refund_request"])
  }

  init(_ connection: PostgresConnection, schema: String) {
    self.connection = connection
    self.schema = MirrorSchema.quoted(schema)
  }

  private func run(
    _ sql: String, _ parameters: [PostgresValue] = [], within milliseconds: Int64 = usual
  ) throws(LedgerError) -> PostgresRows {
    do throws(PostgresError) {
      return try connection.execute(sql, parameters, by: Deadline(milliseconds: milliseconds))
    } catch {
      throw .postgres(error)
    }
  }

  // MARK: The cursor

  /// - Throws: `LedgerError.mirrorTables` if the tables are missing or another version's.
  func state(isLocking: Bool = false) throws(LedgerError) -> State {
    let rows: PostgresRows
    do throws(LedgerError) {
      rows = try run(
        "SELECT layout, generation, journal_id, fold, seq, hash FROM \(schema).mirror"
          + (isLocking ? " FOR UPDATE" : ""))
    } catch {
      // undefined_table, undefined_column, invalid_schema_name
      let missing: Set = ["42P01", "42703", "3F000"]
      throw missing.contains(error.detail) ? .mirrorTables : error
    }
    guard rows.count == 1, let layout = rows.integer(0, 0), layout <= MirrorSchema.layout,
      let generation = rows.integer(0, 1)
    else { throw .mirrorTables }
    return State(
      layout: layout, generation: generation, journalId: rows.bytes(0, 2), fold: rows.text(0, 3),
      seq: rows.integer(0, 4) ?? 0, hash: rows.bytes(0, 5) ?? [])
  }

  /// Runs a body in one SQL transaction, in which the cursor is as it was read.
  ///
  /// - Throws: `LedgerError.mirrorMoved` if it is not.
  func atomically(
    _ state: State, _ body: () throws(LedgerError) -> Void
  ) throws(LedgerError) {
    _ = try run("BEGIN")
    do throws(LedgerError) {
      guard try self.state(isLocking: true) == state else { throw .mirrorMoved }
      try body()
      // An SQL transaction that failed is answered with ROLLBACK.
      guard try run("COMMIT").command == "COMMIT" else { throw .mirrorMoved }
    } catch {
      if connection.isUsable { _ = try? run("ROLLBACK") }
      throw error
    }
  }

  func set(_ state: State) throws(LedgerError) {
    _ = try run(
      """
      UPDATE \(schema).mirror SET generation = $1, journal_id = $2, fold = $3, seq = $4, hash = $5,
        moved_at = now()
      """,
      [
        .integer(state.generation), .bytes(state.journalId), .text(state.fold),
        .integer(state.seq), .bytes(state.hash),
      ])
  }

  // MARK: Rows

  func copy(_ batch: MirrorBatch, _ generation: Int64) throws(LedgerError) {
    let parts = [
      ("entitlement", batch.entitlementColumns, batch.entitlements),
      ("entitlement_span", batch.spanColumns, batch.spans),
      ("transaction_line", batch.lineColumns, batch.lines),
      ("refund_request", MirrorBatch.requestColumns, batch.requests),
      ("account", MirrorBatch.accountColumns, batch.accounts),
      ("event", MirrorBatch.eventColumns, batch.events),
    ]
    for (table, columns, rows) in parts where !rows.isEmpty {
      do throws(PostgresError) {
        try connection.copy(
          in: "COPY \(schema).\(table) (generation, \(columns)) FROM STDIN (FORMAT binary)",
          rows.lazy.map { [.integer(generation)] + $0 },
          by: Deadline(milliseconds: Self.usual))
      } catch {
        throw .postgres(error)
      }
    }
  }

  /// Removes the rows of customers, which are written anew.
  func remove(_ keys: [StreamKey], _ state: State) throws(LedgerError) {
    for table in Self.tables(state.layout) where table != "event" {
      _ = try run(
        """
        DELETE FROM \(schema).\(table) t
        USING unnest($1::text[], $2::text[], $3::text[]) AS k (otid, bundle, env)
        WHERE t.original_transaction_id = k.otid AND t.bundle_id = k.bundle
          AND t.environment = k.env AND t.generation = $4
        """,
        [
          .texts(keys.map { PostgresText.of($0.originalTransactionId) }),
          .texts(keys.map { PostgresText.of($0.bundleId) }),
          .texts(keys.map { $0.environment.rawValue }), .integer(state.generation),
        ])
    }
  }

  /// Removes what a fill that ended early left, or what a new fill replaced.
  func removeAll(except generation: Int64, _ layout: Int64) throws(LedgerError) {
    for table in Self.tables(layout) {
      _ = try run(
        "DELETE FROM \(schema).\(table) WHERE generation <> $1", [.integer(generation)],
        within: Self.whole)
    }
  }

  // MARK: Customers

  /// How far what customers have by name is written.
  func customers() throws(LedgerError) -> CustomerStore.Place {
    let rows = try run("SELECT customers_file, customers_revision FROM \(schema).mirror")
    return CustomerStore.Place(file: rows.bytes(0, 0) ?? [], revision: rows.integer(0, 1) ?? 0)
  }

  func removeCustomers() throws(LedgerError) {
    _ = try run("DELETE FROM \(schema).customer_entitlement", within: Self.whole)
  }

  func replace(
    customers rows: [(entitlement: CustomerEntitlement, of: CustomerKey)],
    to place: CustomerStore.Place
  ) throws(LedgerError) {
    func texts(_ text: ((entitlement: CustomerEntitlement, of: CustomerKey)) -> String)
      -> PostgresValue
    {
      .texts(rows.map { PostgresText.of(text($0)) })
    }
    _ = try run(
      """
      DELETE FROM \(schema).customer_entitlement t
      USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
        AS k (env, bundle, kind, id, name)
      WHERE t.customer_id = k.id AND t.customer_by = k.kind AND t.name = k.name
        AND t.bundle_id = k.bundle AND t.environment = k.env
      """,
      [
        texts { $0.entitlement.customer.environment.rawValue },
        texts { $0.entitlement.customer.bundleId }, texts { $0.of.kind.rawValue },
        texts { $0.of.id }, texts { $0.entitlement.name },
      ])
    do throws(PostgresError) {
      try connection.copy(
        in: "COPY \(schema).customer_entitlement (\(MirrorBatch.customerColumns)) FROM STDIN "
          + "(FORMAT binary)", rows.map { MirrorBatch.values(of: $0.entitlement, $0.of) },
        by: Deadline(milliseconds: Self.usual))
    } catch {
      throw .postgres(error)
    }
    _ = try run(
      "UPDATE \(schema).mirror SET customers_file = $1, customers_revision = $2",
      [.bytes(place.file), .integer(place.revision)])
  }

  // MARK: Accounts

  /// Names after one, in order.
  func accounts(
    after name: String, _ state: State, limit: Int64
  ) throws(LedgerError) -> [String] {
    let named =
      state.layout < MirrorSchema.customers
      ? ""
      : """
      UNION SELECT customer_id COLLATE "C" FROM \(schema).customer_entitlement
        WHERE customer_by = 'account' AND customer_id COLLATE "C" > $2
      """
    let rows = try run(
      """
      SELECT DISTINCT account COLLATE "C" AS name FROM \(schema).account
        WHERE generation = $1 AND account COLLATE "C" > $2
      \(named) ORDER BY name LIMIT $3
      """, [.integer(state.generation), .text(name), .integer(limit)])
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  func remove(accounts: [String], _ state: State) throws(LedgerError) {
    _ = try run(
      "DELETE FROM \(schema).account WHERE account = ANY ($1::text[])", [.texts(accounts)])
    guard state.layout >= MirrorSchema.customers else { return }
    _ = try run(
      """
      DELETE FROM \(schema).customer_entitlement
      WHERE customer_by = 'account' AND customer_id = ANY ($1::text[])
      """, [.texts(accounts)])
  }
}
