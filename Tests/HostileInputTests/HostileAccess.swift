import Foundation
import StrictJSON
import Support
import Testing

/// A: read access. D: commands, data and logs.
extension HostileTable {
  private static let routes = [
    "/v1/entitlements", "/v1/entitlements/7000", "/v1/entitlements/7000/history", "/metrics",
    "/v1/overview", "/v1/quarantine", "/v1/rebuild",
  ]

  private static func gets(_ targets: [String]) -> [HostileRow.Variant] {
    targets.map { .get($0) }
  }

  /// With and without a token.
  private static func otherMethods(_ paths: [String]) -> [HostileRow.Variant] {
    let token = "Authorization: Bearer \(Installation.token)"
    return paths.flatMap { path in
      ["POST", "PUT", "DELETE", "PATCH"].flatMap { method in
        [["Content-Length: 0"], ["Content-Length: 0", token]].map {
          HostileRow.Variant.get(path, $0, method: method)
        }
      }
    }
  }

  static let access: [HostileRow] = [
    .refused("A1", 401, field: "WWW-Authenticate: Bearer") { _ in
      let token = Installation.token
      let good = "Authorization: Bearer \(token)"
      let wrong = [
        [], ["Authorization: Basic \(token)"], ["Authorization: Bearer"],
        ["Authorization: Bearer "], ["Authorization: \(token)"], [good, good],
        [good, "Authorization: Bearer wrong"], [good + "x"], [good + " x"],
        ["Authorization: Bearer, Bearer \(token)"], [String(good.dropLast())],
        ["Cookie: token=\(token)"], ["X-Authorization: Bearer \(token)"],
        ["Authorization: Bearer \(token.uppercased())"],
        ["Authorization: Bearer " + String(repeating: "x", count: 10_240)],
      ]
      return routes.flatMap { route in
        wrong.map { HostileRow.Variant.get(route, $0) }
          + ["?token=\(token)", "?access_token=\(token)"].map { .get(route + $0, []) }
      }
    },
    .scripted("A1") { hostile in
      let fields = ["authorization: bearer \(Installation.token)"]
      #expect(hostile.daemon.client().ask("GET", "/metrics", fields)?.status == 200, "A1")
    },
    .scripted("A2", othersRows),
    .refused("A3", 400) { _ in
      let lists = [
        "limit=-1", "limit=1e9", "limit=1000000000", "limit=abc", "limit=0", "limit=",
        "limit=1&limit=1", "limit=9223372036854775808", "limit=501", "limit", "=1", "x=1",
        "status=ACTIVE", "status=%", "status=%2", "status=%zz", "environment=production",
        "product_id=%ff", "product_id=%C0%80", "product_id=%0a", "after=x", "after=00",
        "after=" + String(repeating: "ab", count: 900), "app_account_token=", "limit=+1",
        "limit=%31%00", "limit= 1", "Limit=1", "after=%00", "after=zz",
      ]
      let rows = [
        "as_of=x", "as_of=", "as_of=9223372036854775808", "as_of=2026-13-01", "known_at=-",
        "as_of=1&as_of=1", "environment=Xcode", "limit=0", "as_of=0x1", "known_at=1e3",
        "as_of=2026-02-30", "as_of=2026-01-01T00:00:00", "as_of=2026-01-01T25:00:00Z", "as_of=%2B",
        "as_of=\u{661}",
      ]
      let others = [
        "/v1/overview?hours=x", "/v1/overview?x=1", "/v1/quarantine?limit=0",
        "/v1/quarantine?after=x", "/v1/quarantine?after=0", "/v1/rebuild?x=1",
      ]
      return gets(others) + gets(lists.map { "/v1/entitlements?" + $0 })
        + gets(
          rows.flatMap { ["/v1/entitlements/7000?" + $0, "/v1/entitlements/7000/history?" + $0] })
    },
    .scripted("A3", cursors),
    .refused("A4", 400, 404, 414) { _ in
      let ids = [
        "%27%20OR%201=1--", "%27OR", "..", ".", "%2e%2e", "%00", "7000%00", "7000'", "7000;", "*",
        "7000,2", "+", "1;x", "7000.", "~", "", "-1'--", String(repeating: "9", count: 129),
        String(repeating: "9", count: 10_240), "%EF%BC%97", "\u{FF17}", "7\u{202E}", "7 OR 1",
      ]
      return gets(ids.flatMap { ["/v1/entitlements/\($0)", "/v1/entitlements/\($0)/history"] })
        .filter { $0.name != "GET /v1/entitlements//history" }
    },
    .refused("A4", 404) { _ in
      gets(["/", "/history/", "/HISTORY", "/x"].map { "/v1/entitlements/7000" + $0 })
    },
    .refused("A5", 405, field: "Allow: GET, HEAD") { _ in
      otherMethods([
        "/v1/entitlements", "/v1/entitlements/7000", "/v1/entitlements/7000/history", "/metrics",
        "/healthz", "/readyz", "/version", "/",
      ])
    },
    .refused("A5", 404) { _ in
      otherMethods([
        "/v1", "/v1/journal", "/v1/quarantine/1", "/v2/notifications", "/v1/notifications/x",
        "/admin", "/control/ingest", "/control/projection", "/control/quarantine/admit",
      ])
    },
  ]

  /// An unknown customer and a customer outside the token's scope get the same answer. It is
  /// counted and not logged, because backends ask about users without a subscription all day.
  @Sendable private static func othersRows(_ hostile: HostileClient) throws {
    try hostile.accepts(
      "A2", .jws("one", try hostile.authority.signed(hostile.notification(otid: "7500"))))
    var bodies: Set<[UInt8]> = []
    for token in [Installation.otherAppsToken, Installation.sandboxToken] {
      let fields = ["Authorization: Bearer \(token)"]
      for id in ["7500", "7599"] {
        for suffix in ["", "/history", "?environment=Production", "?as_of=1767225600001"] {
          let variant = HostileRow.Variant.get("/v1/entitlements/\(id)\(suffix)", fields)
          let answer = try hostile.refuses("A2 \(variant.name)", variant, [404], lines: 0)
          bodies.insert(answer?.body ?? [])
        }
      }
      let list = hostile.daemon.client().ask("GET", "/v1/entitlements", fields)
      #expect(list?.json?["items"]?.elements.isEmpty == true, "A2")
    }
    for query in ["bundle_id=com.example.sandbox", "environment=Sandbox"] {
      let variant = HostileRow.Variant.get("/v1/entitlements/7500?\(query)")
      try hostile.refuses("A2 \(query)", variant, [404], lines: 0)
    }
    #expect(bodies.count == 1, "A2 tells one from the other")
  }

  @Sendable private static func cursors(_ hostile: HostileClient) throws {
    for index in 0..<3 {
      let notification = hostile.notification(otid: "76\(index)")
      try hostile.accepts("A3", .jws("one", try hostile.authority.signed(notification)))
    }
    let page = hostile.daemon.client().get("/v1/entitlements?limit=1")
    let cursor = try #require(page?.json?["next_page"]?.string)
    let target = { (cursor: String) in "/v1/entitlements?limit=1&after=\(cursor)" }
    #expect(hostile.daemon.client().get(target(cursor))?.status == 200, "A3")
    var forged = [
      String(cursor.dropLast(2)), String(cursor.dropFirst(2)), cursor + "00", cursor + cursor,
    ]
    forged += stride(from: 0, to: cursor.count, by: 5).map { index in
      var letters = Array(cursor)
      letters[index] = letters[index] == "0" ? "1" : "0"
      return String(letters)
    }
    for text in forged { try hostile.refuses("A3 forged", .get(target(text)), [400]) }
    let other = HostileRow.Variant.get(
      target(cursor), ["Authorization: Bearer \(Installation.sandboxToken)"])
    try hostile.refuses("A3 of another", other, [400])
  }

  // MARK: Data

  static let data: [HostileRow] = [
    .coveredBy("D1", "DiskTests"), .coveredBy("D2", "IngestTests"),
    .coveredBy("D3", "StartUpRefusalTests"), .coveredBy("D4", "StartUpRefusalTests"),
    .scripted("D5", injections), .scripted("D6", texts), .coveredBy("D7", "BackupRefusalTests"),
    .coveredBy("D8", "StartUpRefusalTests"),
  ]

  /// Text that would change an SQL statement built by concatenation, in every string.
  @Sendable private static func injections(_ hostile: HostileClient) throws {
    let text = "'; DROP TABLE event;--"
    let accepted = [
      "notificationType", "subtype", "version", "data.bundleVersion", "data.transaction.productId",
      "data.transaction.transactionId", "data.transaction.appAccountToken",
      "data.transaction.type", "data.transaction.inAppOwnershipType", "data.transaction.currency",
      "data.transaction.offerIdentifier", "data.transaction.storefront",
      "data.transaction.subscriptionGroupIdentifier", "data.transaction.webOrderLineItemId",
      "data.transaction.appTransactionId", "data.renewalInfo.autoRenewProductId",
      "data.renewalInfo.productId", "data.renewalInfo.offerIdentifier",
    ]
    for path in accepted {
      let notification = hostile.notification(otid: "7700").setting(path, .string(text))
      try hostile.accepts("D5 \(path)", .jws(path, try hostile.authority.signed(notification)))
    }
    for path in ["notificationUUID", "data.bundleId", "data.environment"] {
      let notification = hostile.notification(otid: "7700").setting(path, .string(text))
      try hostile.refuses(
        "D5 \(path)", .jws(path, try hostile.authority.signed(notification)), [422])
    }
    let tables = try hostile.state().rows.keys
    #expect(tables.contains("event") && tables.contains("quarantine"), "D5")
    let row = hostile.daemon.client().get("/v1/entitlements/7700?as_of=\(Sample.start + 3_600_000)")
    #expect(row?.status == 200, "D5")
    let encoded = "%27%3B%20DROP%20TABLE%20entitlement%3B--"
    for name in ["product_id", "app_account_token", "app_transaction_id", "bundle_id"] {
      let list = hostile.daemon.client().get("/v1/entitlements?\(name)=\(encoded)")
      // An account token is a UUID: other texts are a mistake.
      #expect(list?.status == (name == "app_account_token" ? 400 : 200), "D5 \(name)")
    }
    #expect(hostile.daemon.client().get("/v1/entitlements/7700")?.status == 200, "D5")
  }

  /// A log line is one line of visible characters, whatever text arrives.
  @Sendable private static func texts(_ hostile: HostileClient) throws {
    let odd = [
      "a\r\n{\"level\":\"error\"}", "\u{1B}[2J\u{1B}]0;x\u{7}", "\u{202E}gnp.exe", "\u{9B}31m",
      String(repeating: "T", count: 64 * 1024), "\u{2028}x", "\u{FEFF}x",
    ]
    for text in odd {
      // Refused: the log shows the type of a quarantined notification.
      let foreign = Sample.notification(hostile.next(), type: text, bundleId: "com.example.foreign")
      let variant = HostileRow.Variant.jws("text", try hostile.authority.signed(foreign))
      try hostile.refuses("D6 type", variant, [422])
    }
    for field in ["User-Agent: ", "Referer: ", "X-Forwarded-For: "] {
      let long = field + String(repeating: "u", count: 64 * 1024)
      try hostile.refuses("D6 \(field)", .get("/", [long]), [431])
      try hostile.refuses("D6 \(field)", .get("/\u{1B}[2J", [field + "x"]), [400])
    }
    for byte in hostile.daemon.log.utf8 where byte < 0x20 && byte != 0x0A {
      Issue.record("D6: byte \(byte) in the log")
    }
    let marks: Set<Unicode.Scalar> = ["\u{202E}", "\u{9B}", "\u{2028}", "\u{FEFF}"]
    #expect(!hostile.daemon.log.unicodeScalars.contains { marks.contains($0) }, "D6")
  }
}
