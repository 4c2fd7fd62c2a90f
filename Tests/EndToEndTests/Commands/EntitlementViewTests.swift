import Foundation
import Store
import StrictJSON
import Support
import Testing

/// The public SQL views of the entitlement rows say what the HTTP interface says.
@Suite struct EntitlementViewTests {
  /// The view's columns that have another name in the row, by path; nil: the same name.
  private static let paths: [String: String] = [
    "starts_at_ms": "starts_at", "expires_at_ms": "expires_at",
    "grace_period_expires_at_ms": "grace_period_expires_at", "revoked_at_ms": "revoked_at",
    "offer_type": "offer.type", "offer_identifier": "offer.identifier",
    "offer_discount_type": "offer.discount_type", "offer_period": "offer.period",
    "price_milliunits": "price.milliunits", "currency": "price.currency",
    "commitment_period": "commitment.period", "commitment_periods": "commitment.periods",
    "commitment_ends_at_ms": "commitment.ends_at",
    "commitment_auto_renew": "commitment.auto_renew", "last_event_seq": "last_event.seq",
    "renewal_price_milliunits": "renewal_price.milliunits",
    "renewal_currency": "renewal_price.currency", "renewal_offer_type": "renewal_offer.type",
    "renewal_offer_identifier": "renewal_offer.identifier",
    "renewal_offer_discount_type": "renewal_offer.discount_type",
    "renewal_offer_period": "renewal_offer.period",
    "last_notification_uuid": "last_event.notification_uuid",
    "last_notification_type": "last_event.notification_type",
    "last_subtype": "last_event.subtype", "last_signed_date_ms": "last_event.signed_date",
  ]

  /// A fleet with all kinds of products, among them season passes that last 90 days.
  private func installation() throws -> Installation {
    let installation = try Installation()
    let (authority, file) = (installation.folder.path + "/ca", installation.folder.path + "/f")
    let made = try installation.launch([
      "simulate", "run", "--fleet", "400", "--days", "400", "--seed", "11", "--end",
      "\(Int64(Date().timeIntervalSince1970 * 1000))", "--output", file, "--authority", authority,
    ]).finish(within: 600)
    guard made.code == 0 else { throw TestFailure("simulate: \(made)") }
    let app = Installation.app().setting(
      "nonRenewingDurations", .object([("season.pass", .string("P90D"))]))
    try installation.configure(
      apps: [app], with: [("trustRoots", .array([.string(authority + "/root.der")]))])
    let ingested = try installation.launch([
      "ingest", file, "--config", installation.config.path,
    ]).finish(within: 600)
    guard ingested.code == 0 else { throw TestFailure("ingest: \(ingested)") }
    return installation
  }

  @Test func `the view of rows equals the rows of the interface`() throws {
    let installation = try installation()
    let daemon = try installation.start()
    let client = daemon.client()
    var items: [String: JSONElement] = [:]
    var after = ""
    while true {
      let page = try #require(client.get("/v1/entitlements?limit=500\(after)")?.json)
      for item in page["items"]?.elements ?? [] { items[Self.key(item)] = item }
      guard let next = page["next_page"]?.string else { break }
      after = "&after=\(next)"
    }
    let rows = try installation.run("query", "SELECT * FROM entitlement_v1", "--json").lines()
    #expect(rows.count == items.count && items.count >= 400)
    for row in rows {
      let item = try #require(items[Self.key(row)])
      for (name, value) in row.members {
        let found = (Self.paths[name] ?? name).split(separator: ".").reduce(Optional(item)) {
          $0?[String($1)]
        }
        // The interface has `anomaly` only where it is true.
        let expected = name == "anomaly" && found == nil ? "0" : Self.plain(found)
        // A list is text in SQL, and null where it is empty.
        let told = name == "win_back_offers" ? value.string ?? "[]" : Self.plain(value)
        #expect(told == expected, "\(Self.key(row)): \(name)")
      }
    }
    for status in ["active", "expired", "revoked"] {
      let list = rows.filter { $0["status"]?.string == status }.count
      #expect(list == items.values.count { $0["status"]?.string == status } && list > 0)
    }
    #expect(try daemon.stop().code == 0)
  }

  /// Spans of one row follow each other from the beginning of time to its end, and the one that
  /// holds now is the row.
  @Test func `the spans of a row cover all time and contain the row`() throws {
    let installation = try installation()
    let wrong = try installation.run(
      "query",
      """
      SELECT count(*) AS spans, sum(from_ms IS NULL) AS first, sum(to_ms IS NULL) AS last,
        max(gaps) AS gaps, count(DISTINCT id) AS customers
      FROM (SELECT original_transaction_id AS id, from_ms, to_ms,
          from_ms IS NOT lag(to_ms) OVER (
            PARTITION BY environment, bundle_id, original_transaction_id
            ORDER BY coalesce(from_ms, -9e18)) AS gaps
        FROM entitlement_span_v1)
      """, "--json"
    ).lines()
    let all = try #require(wrong.first)
    #expect(all["gaps"]?.integer == 0)
    #expect(all["first"]?.integer == all["last"]?.integer)
    let different = try installation.run(
      "query",
      """
      SELECT count(*) AS rows, sum(r.status IS s.status AND r.gives_access = s.gives_access
        AND r.transaction_id IS s.transaction_id AND r.product_id IS s.product_id
        AND r.expires_at_ms IS s.expires_at_ms AND r.gap = s.gap) AS same
      FROM entitlement_v1 r JOIN entitlement_span_v1 s
        USING (environment, bundle_id, original_transaction_id)
      WHERE coalesce(s.from_ms <= unixepoch() * 1000, 1)
        AND coalesce(s.to_ms > unixepoch() * 1000, 1)
      """, "--json"
    ).lines()
    let compared = try #require(different.first)
    #expect(compared["rows"]?.integer == all["first"]?.integer)
    #expect(compared["same"]?.integer == compared["rows"]?.integer)
  }

  private static func key(_ row: JSONElement) -> String {
    ["environment", "bundle_id", "original_transaction_id"].map { row[$0]?.string ?? "" }
      .joined(separator: " ")
  }

  /// A value as text; booleans as the view has them.
  private static func plain(_ value: JSONElement?) -> String {
    guard let value = value?.value else { return "null" }
    switch value {
    case .boolean(let isTrue): return isTrue ? "1" : "0"
    default: return value.text
    }
  }
}
