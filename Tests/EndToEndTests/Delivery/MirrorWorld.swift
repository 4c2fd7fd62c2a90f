import Foundation
import StrictJSON
import Support
import Testing

/// An installation with a mirror in a PostgreSQL server of its own, whose tables another role made.
final class MirrorWorld {
  let installation: Installation
  let server: TemporaryPostgres
  let database: String

  /// - Parameter hasSchema: whether the owner ran what `sink mirror-schema` prints.
  init(hasSchema: Bool = true) throws {
    installation = try Installation()
    server = try TemporaryPostgres()
    database = try server.makeDatabase()
    try server.sql("CREATE ROLE mirror LOGIN")
    try configure()
    if hasSchema { try makeSchema() }
  }

  /// - Parameter other: another installation with the same mirror; nil for this world's.
  func configure(
    _ more: [(String, JSONValue)] = [], kind: String = "mirror", of other: Installation? = nil
  ) throws {
    let mirror = JSONValue.object([
      ("name", .string("warehouse")), ("kind", .string(kind)),
      ("connection", .string(server.address(database, user: "mirror"))),
      ("schema", .string("ledger")),
    ])
    let all = ["read", "submit", "claim", "grant", "erase"].map { JSONValue.string($0) }
    try (other ?? installation).configure(
      with: [
        ("sinks", .array([mirror])),
        (
          "readTokens",
          .array([Installation.token("backend", Installation.token, [("may", .array(all))])])
        ),
      ] + more)
  }

  func makeSchema() throws {
    let printed = try installation.run("sink", "mirror-schema", "warehouse")
    #expect(printed.code == 0, "\(printed)")
    try sql(printed.output)
  }

  @discardableResult
  func sql(_ text: String) throws -> String { try server.sql(text, in: database) }

  func sink(_ daemon: RunningDaemon) -> JSONElement? {
    daemon.client().get("/v1/sinks")?.json?["items"]?.elements.first
  }

  func waitUntil(_ what: String, _ holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 60 * RunningCommand.waitFactor)
    while Date() < end {
      if try holds() { return }
      usleep(50_000)
    }
    throw TestFailure("timed out waiting for \(what)")
  }

  /// Waits until the mirror has every event.
  func waitUntilCurrent(_ daemon: RunningDaemon) throws {
    let head = daemon.client().get("/v1/events?limit=1")?.json?["head"]?.integer
    try waitUntil("the mirror to have every event") {
      guard let sink = sink(daemon), sink["state"]?.string == "up" else { return false }
      return sink["seq"]?.integer == head && head != nil
    }
  }

  // MARK: Rows of both

  /// A view's rows as JSON.
  func rows(_ query: String) throws -> [JSONElement] {
    let text = try sql("SELECT coalesce(json_agg(to_json(q)), '[]') FROM (\(query)) q")
    return try JSONDocument(parsing: Array(text.utf8)).root.elements
  }

  /// Members of the mirror's row, and the path of each in the HTTP row.
  private static let members = [
    ("environment", "environment"), ("bundle_id", "bundle_id"),
    ("original_transaction_id", "original_transaction_id"), ("transaction_id", "transaction_id"),
    ("product_id", "product_id"), ("product_type", "product_type"), ("ownership", "ownership"),
    ("status", "status"), ("gives_access", "gives_access"), ("starts_at_ms", "starts_at"),
    ("expires_at_ms", "expires_at"), ("grace_period_expires_at_ms", "grace_period_expires_at"),
    ("revoked_at_ms", "revoked_at"), ("auto_renew", "auto_renew"),
    ("pending_product_id", "pending_product_id"), ("gap", "gap"),
    ("app_account_token", "app_account_token"), ("app_transaction_id", "app_transaction_id"),
    ("subscription_group_id", "subscription_group_id"), ("offer_type", "offer.type"),
    ("offer_identifier", "offer.identifier"), ("offer_discount_type", "offer.discount_type"),
    ("offer_period", "offer.period"), ("price_milliunits", "price.milliunits"),
    ("currency", "price.currency"), ("price_increase", "price_increase"),
    ("commitment_period", "commitment.period"), ("commitment_periods", "commitment.periods"),
    ("commitment_ends_at_ms", "commitment.ends_at"),
    ("commitment_auto_renew", "commitment.auto_renew"), ("succeeded_by", "succeeded_by"),
    ("event_count", "event_count"), ("last_event_seq", "last_event.seq"),
    ("last_notification_uuid", "last_event.notification_uuid"),
    ("last_notification_type", "last_event.notification_type"),
    ("last_subtype", "last_event.subtype"), ("last_signed_date_ms", "last_event.signed_date"),
    ("storefront", "storefront"), ("billing_plan", "billing_plan"),
    ("revocation_percentage", "revocation_percentage"),
    ("renewal_price_milliunits", "renewal_price.milliunits"),
    ("renewal_currency", "renewal_price.currency"), ("renewal_offer_type", "renewal_offer.type"),
    ("renewal_offer_identifier", "renewal_offer.identifier"),
    ("renewal_offer_discount_type", "renewal_offer.discount_type"),
    ("renewal_offer_period", "renewal_offer.period"), ("renewal_quantity", "renewal_quantity"),
    ("expiration_reason", "expiration_reason"), ("seats", "seats"),
  ]

  /// A row as one line; members that differ show.
  private static func line(
    _ row: JSONElement, _ names: KeyPath<(String, String), String>
  ) -> String {
    members.map { pair in
      var value: JSONElement? = row
      for part in pair[keyPath: names].split(separator: ".") { value = value?[String(part)] }
      return "\(pair.0)=\(value?.kind == .null ? "null" : value?.value.text ?? "null")"
    }.joined(separator: " ")
  }

  /// Every customer of the mirror's journal by its rows: those of the mirror, and those over HTTP.
  func compare(_ daemon: RunningDaemon, at time: Int64? = nil) throws {
    let moment = time.map { "to_timestamp(\($0) / 1000.0)" }
    let from = moment.map { "ledger.entitlement_as_of(\($0))" } ?? "ledger.entitlement_v1"
    let mirrored = Dictionary(
      try rows("SELECT * FROM \(from)").map { row in
        (row["original_transaction_id"]?.string ?? "", Self.line(row, \.0))
      }, uniquingKeysWith: { "\($0)\n\($1)" })
    let customers = try rows(
      """
      SELECT DISTINCT original_transaction_id AS id, environment FROM ledger.event_v1
      WHERE original_transaction_id IS NOT NULL
      """)
    var found = 0
    let client = daemon.client()
    for customer in customers {
      let id = customer["id"]?.string ?? ""
      let query = "environment=\(customer["environment"]?.string ?? "")"
      let answer = try #require(
        client.get("/v1/entitlements/\(id)?\(query)" + (time.map { "&as_of=\($0)" } ?? "")))
      let expected = answer.status == 200 ? answer.json : nil
      if expected != nil { found += 1 }
      #expect(mirrored[id] == expected.map { Self.line($0, \.1) }, "\(id) at \(time ?? 0)")
    }
    #expect(found == mirrored.count && found > 0)
  }

  /// What decides an answer, as one line of either database.
  private static let decided =
    "original_transaction_id || ' ' || environment || ' ' || status || ' ' "
    + "|| CASE WHEN gives_access THEN 'yes' ELSE 'no' END || ' ' || coalesce(product_id, '-') "
    + "|| ' ' || coalesce(transaction_id, '-') || ' ' || coalesce(expires_at_ms, 0) || ' ' "
    + "|| CASE WHEN gap THEN 'gap' ELSE '' END"

  /// Compares both databases at a moment of the past, as all events of today tell it. HTTP's
  /// `as_of` leaves out what was signed later, so the ledger's own spans are asked.
  func compareSpans(at time: Int64) throws {
    let mirrored = try sql(
      "SELECT \(Self.decided) FROM ledger.entitlement_as_of(to_timestamp(\(time) / 1000.0))")
    let own = try installation.run(
      "query", "--csv",
      """
      SELECT \(Self.decided) AS decided FROM entitlement_span_v1
      WHERE coalesce(from_ms, \(Int64.min)) <= \(time) AND \(time) < coalesce(to_ms, \(Int64.max))
      """)
    #expect(own.code == 0, "\(own)")
    let lines = own.output.split(whereSeparator: \.isNewline).dropFirst().sorted()
    #expect(mirrored.split(whereSeparator: \.isNewline).sorted() == lines, "at \(time)")
    #expect(!lines.isEmpty)
  }

  /// Ten moments of the past: those at which answers changed, and just before.
  func pastMoments() throws -> [Int64] {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let turns = try rows(
      """
      SELECT from_ms FROM (SELECT DISTINCT from_ms, md5(from_ms::text) AS place
        FROM ledger.entitlement_span_v1 WHERE from_ms < \(now)) q ORDER BY place LIMIT 5
      """
    ).compactMap { $0["from_ms"]?.integer }
    return turns.flatMap { [$0 - 1, $0] }
  }

  /// Ten moments from now on: near those at which answers change, and others.
  func moments() throws -> [Int64] {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let turns = try rows(
      """
      SELECT DISTINCT from_ms FROM ledger.entitlement_span_v1 WHERE from_ms > \(now + 60_000)
      ORDER BY from_ms LIMIT 5
      """
    ).compactMap { $0["from_ms"]?.integer }
    let others = (1...10).map { now + Int64($0 * $0) * 5 * 86_400_000 + 60_000 }
    return Array((turns.flatMap { [$0 - 1, $0] } + others).prefix(10))
  }
}
