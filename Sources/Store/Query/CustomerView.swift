/// The view of `customers.sqlite`.
extension SQLView {
  static let customerEntitlement = SQLView(
    name: "customer_entitlement_v1",
    meaning: "One row for each name that a customer has or had.",
    columns: [
      Column("environment", .text, "Production or Sandbox."),
      Column("bundle_id", .text, "The bundle id of the app."),
      Column(
        "customer_by", .text,
        "What customer_id is: account, where a user of yours claimed the purchase; else "
          + "app_account_token; else original_transaction_id. app_transaction_id of grants alone."),
      Column("customer_id", .text, "The customer."),
      Column("name", .text, "The entitlement, as the mapping of products names it."),
      Column("active", .integer, "1 if the customer may use it, else 0."),
      Column("basis", .text, "Why, as in GET /v1/customers; null if it is not active."),
      Column(
        "since_ms", .integer,
        "Since when it is active, as far as was followed, or when it ended."),
      Column("expires_at_ms", .integer, "When it ends, as far as is known; null if it does not."),
      Column("product_id", .text, "The product that gives it; null if it was granted."),
      Column("original_transaction_id", .text, "The row with that product."),
      Column(
        "trial", .integer, "1 if it is a free trial, else 0; null in a file of an older version."),
    ], schema: temporarySchema)

  /// Past the end that was known when it was stored, nothing is active (promise 8), whether or not
  /// a daemon runs that would look whether something else gives it.
  ///
  /// - Parameter hasTrials: whether the file has the column; before its daemon was updated, it has
  ///   not.
  static func customerEntitlementSQL(hasTrials: Bool) -> String {
    """
    CREATE TEMP VIEW customer_entitlement_v1 AS
    WITH clock AS MATERIALIZED (
      SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now
    )
    SELECT e.environment, e.bundle_id, e.customer_by,
      coalesce(a.name, CAST(e.customer AS TEXT)) AS customer_id, e.name,
      iif(\(isOver), 0, e.active) AS active, \(unlessOver("basis")),
      iif(\(isOver), e.expires_at_ms, e.since_ms) AS since_ms, \(unlessOver("expires_at_ms")),
      \(unlessOver("product_id")), \(unlessOver("original_transaction_id")),
      \(hasTrials ? "iif(\(isOver), 0, e.trial)" : "NULL") AS trial
    FROM clock CROSS JOIN \(customersSchema).entitlement e
      LEFT JOIN \(journalSchema).account a ON e.customer_by = 'account' AND a.mac = e.customer
    WHERE e.customer_by <> 'account' OR a.name IS NOT NULL
    """
  }

  private static let isOver = "e.expires_at_ms <= clock.now"

  private static func unlessOver(_ column: String) -> String {
    "iif(\(isOver), NULL, e.\(column)) AS \(column)"
  }
}
