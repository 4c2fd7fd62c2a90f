import Entitlements
import Glibc
package import Store

/// A file with the views of a projection and two customers, in place of one that was folded.
///
/// `entitlement_v1` joins two tables, and `entitlement_span_v1` reads through a WITH clause of its
/// own, as views may.
package enum StandInProjection {
  /// Writes the file, and the link `entitlements.sqlite` that leads to it.
  package static func write(in folder: DataFolder) throws {
    let name = "entitlements-99.sqlite"
    let path = folder.path + "/" + name
    guard let file = fopen(path, "w") else { throw TestFailure("cannot make \(name)") }
    fclose(file)
    let connection = try SQLiteConnection.open(path, .copy)
    try connection.execute(schema)
    connection.close()
    unlink(folder.path + "/entitlements.sqlite")
    guard symlink(name, folder.path + "/entitlements.sqlite") == 0 else {
      throw TestFailure("cannot make the link")
    }
  }

  private static let own = SQLView.all.first { $0.name == "entitlement_v1" }?.columns ?? []

  private static var schema: String {
    let own = own.map(\.name).filter { !["environment", "bundle_id"].contains($0) }
    let lines = TransactionField.all.dropFirst(2).map { "NULL AS \($0.column)" }
    let refunds = SQLView.all.first { $0.name == "refund_v1" }?.columns.dropFirst(2) ?? []
    let requests = RefundField.all.dropFirst(2).map { "NULL AS \($0.column)" }
    return """
      PRAGMA application_id=\(0x5355_4245);
      CREATE TABLE app (id INTEGER PRIMARY KEY, environment TEXT, bundle_id TEXT);
      CREATE TABLE purchase (app_id INTEGER, state BLOB, \(own.joined(separator: ", ")));
      CREATE TABLE span (app_id INTEGER, id TEXT, from_ms INTEGER, to_ms INTEGER, status TEXT);
      CREATE VIEW entitlement_v1 AS SELECT environment, bundle_id, \(own.joined(separator: ", "))
        FROM purchase JOIN app ON app.id = app_id;
      CREATE VIEW entitlement_span_v1 AS
        WITH closed AS (SELECT * FROM span WHERE from_ms IS NOT NULL)
        SELECT environment, bundle_id, closed.id AS original_transaction_id, from_ms, to_ms, status,
          status = 'active' AS gives_access, NULL AS transaction_id, NULL AS product_id,
          to_ms AS expires_at_ms, 0 AS gap
        FROM closed JOIN app ON app.id = app_id;
      CREATE VIEW transaction_v1 AS SELECT environment, bundle_id, \(lines.joined(separator: ", "))
        FROM app;
      CREATE VIEW refund_v1 AS SELECT environment, bundle_id,
        \(refunds.map { "NULL AS \($0.name)" }.joined(separator: ", ")) FROM app;
      CREATE VIEW refund_request_v1 AS
        SELECT environment, bundle_id, \(requests.joined(separator: ", ")) FROM app;
      INSERT INTO app VALUES (1, 'Production', 'com.example.app');
      INSERT INTO purchase (app_id, state, original_transaction_id, status, gives_access)
        VALUES (1, x'00', '2000000000000000', 'active', 1), (1, x'00', '2', 'expired', 0);
      INSERT INTO span VALUES (1, '2000000000000000', 1, 5, 'active'), (1, '2', 1, NULL, 'expired');
      """
  }
}
