import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// S: correctly signed payloads with unusual content. V: bodies of version 1.
extension HostileTable {
  private static func signed(
    _ hostile: HostileClient, _ changes: [(String, JSONValue?)]
  ) throws -> [HostileRow.Variant] {
    try changes.map { path, value in
      .jws(path, try hostile.authority.signed(hostile.notification().setting(path, value)))
    }
  }

  private static func inEnvironment(_ hostile: HostileClient, _ name: JSONValue?) -> JSONValue {
    hostile.notification().setting("data.environment", name)
      .setting("data.transaction.environment", name).setting("data.renewalInfo.environment", name)
  }

  static let semantics: [HostileRow] = [
    .coveredBy("S1", "SemanticsTests"), .coveredBy("S2", "SignedAgainTests"),
    .coveredBy("S2b", "SignedAgainTests"),
    .coveredBy("S3", "SemanticsTests"), .coveredBy("S4", "SemanticsTests"),
    .quarantined("S5") { hostile in
      try ["com.example.other", "COM.EXAMPLE.APP", "com.example.app ", "com.example.", "*"].map {
        .jws($0, try hostile.authority.signed(Sample.notification(hostile.next(), bundleId: $0)))
      }
    },
    .quarantined("S6") { hostile in
      try signed(
        hostile,
        [
          JSONValue.integer(123_456_788), .null, .string("123456789"), .number("123456789.0"), nil,
        ].map { ("data.appAppleId", $0) })
    },
    .quarantined("S7") { hostile in
      let names = [
        "Xcode", "production", "PRODUCTION", "PROD", "LocalTesting", "sandbox", "", " Sandbox",
      ]
      return try (names.map { JSONValue.string($0) } + [.integer(1), .null]).map {
        .jws($0.text, try hostile.authority.signed(inEnvironment(hostile, $0)))
      } + [
        .jws("missing", try hostile.authority.signed(inEnvironment(hostile, nil))),
        .jws(
          "of an app in Sandbox alone",
          try hostile.authority.signed(
            Sample.notification(hostile.next(), bundleId: "com.example.sandbox")
              .setting("data.appAppleId", nil))),
      ]
    },
    // Sandbox has no appAppleId.
    .accepted("S7") { hostile in
      [
        .jws(
          "Sandbox",
          try hostile.authority.signed(
            Sample.notification(hostile.next(), environment: "Sandbox")))
      ]
    },
    .quarantined("S8") { hostile in
      try signed(
        hostile,
        [
          "", "x", "not-a-uuid", String(repeating: "a", count: 36), "{\(Sample.uuid(1))}",
          Sample.uuid(1) + " ", " " + Sample.uuid(1), String(repeating: "é", count: 18),
          Sample.uuid(1).replacing("-", with: ""),
          String(repeating: "0", count: 100_000),
        ].map { ("notificationUUID", JSONValue.string($0)) })
        + signed(hostile, [("notificationUUID", nil), ("notificationUUID", .integer(1))])
    },
    .refused("S8", 413, codes: ["too_large"]) { hostile in
      try signed(
        hostile, [("notificationUUID", .string(String(repeating: "0", count: 1 << 20)))])
    },
    .scripted("S8") { hostile in
      let number = hostile.next()
      let notification = Sample.notification(number)
      let upper = notification.setting(
        "notificationUUID", .string(Sample.uuid(number).uppercased()))
      try hostile.accepts("S8", .jws("lower", try hostile.authority.signed(notification)))
      let before = try hostile.state().events
      let answer = hostile.daemon.client().post(ForgedJWS.body(try hostile.authority.signed(upper)))
      #expect(answer?.status == 200 && answer?.json?["outcome"]?.string == "duplicate", "S8")
      #expect(try hostile.state().events == before, "S8")
    },
    .quarantined("S9") { hostile in
      let two = JSONValue.object([("bundleId", .string("com.example.app"))])
      let wrong = [JSONValue.null, .array([]), .string("x"), .integer(0)].map {
        ("data", JSONValue?.some($0))
      }
      let none = try ["summary", "appData", "externalPurchaseToken"].flatMap { name in
        try [JSONValue.object([]), .null].map {
          try hostile.authority.signed(
            hostile.notification().setting("data", nil).setting(name, $0))
        }
      }
      let more: [(String, JSONValue?)] = [
        ("data", nil), ("summary", .object([])), ("notificationType", nil), ("data.bundleId", nil),
        ("data.environment", .string("Sandbox")),
      ]
      return try signed(hostile, more + wrong)
        + signed(hostile, ["summary", "appData", "externalPurchaseToken"].map { ($0, two) })
        + none.map { .jws("empty", $0) }
    },
    .accepted("S10") { hostile in
      let bare = {
        hostile.notification().setting("data.transaction", nil).setting("data.renewalInfo", nil)
      }
      let changes: [(String, JSONValue)] = [
        ("notificationType", .string("NEVER_HEARD_OF")), ("subtype", .string("NOR_THIS")),
        ("data.status", .integer(99)), ("data.status", .string("1")), ("data.new", .object([])),
        ("subtype", .integer(1)), ("new", .array([])), ("data.status", .integer(.max)),
        ("subtype", .string("")),
      ]
      return try changes.map {
        .jws($0.0, try hostile.authority.signed(bare().setting($0.0, $0.1)))
      }
    },
    .accepted("S11") { hostile in
      try signed(
        hostile,
        [.string("1.0"), .string("3.0"), .integer(2), .null, nil].map { ("version", $0) })
    },
    .quarantined("S12") { hostile in
      try signed(
        hostile,
        [
          nil, JSONValue.string("1767225600000"), .number("1767225600000.5"), .null,
          .number("1e12"), .number("99999999999999999999999"),
        ].map { ("signedDate", $0) })
    },
    // Under a known chain and under new ones.
    .refused("S12a", 401, codes: ["chain_dates"]) { hostile in
      let dates: [Int64] = [
        0, -1, -999, -1000, .min, .min + 1, .max, 253_402_300_799_000, 253_402_300_800_000,
        1 << 53, -(1 << 53), 8_640_000_000_000_000,
      ]
      return try signed(hostile, dates.map { ("signedDate", JSONValue.integer($0)) })
        + dates.map { .jws("new \($0)", try hostile.forged(signed: $0) { _ in }) }
    },
    .scripted("S12b") { hostile in
      let ahead = "subledger_signed_ahead_total"
      for (distance, isAhead) in [
        (365 * 86_400_000, true), (3_600_000, true), (-5 * 365 * 86_400_000, false),
      ] as [(Int64, Bool)] {
        let before = try hostile.counters()[ahead] ?? 0
        let notification = hostile.notification().setting(
          "signedDate", .integer(Clock.now() + distance))
        try hostile.accepts("S12b", .jws("\(distance)", try hostile.authority.signed(notification)))
        #expect(try hostile.counters()[ahead] ?? 0 == before + (isAhead ? 1 : 0), "S12b")
      }
    },
    .scripted("S13", anomalies),
    .scripted("S14", oddTexts),
    .quarantined("S14") { hostile in
      try [129, 20_000].map {
        .jws(
          "long",
          try hostile.authority.signed(
            hostile.notification(otid: String(repeating: "9", count: $0))))
      }
    },
    .coveredBy("S15", "SemanticsTests"),
  ]

  /// Accepted like any other; impossible values give no access.
  @Sendable private static func anomalies(_ hostile: HostileClient) throws {
    let odd: [(String, JSONValue?)] = [
      ("data.transaction.expiresDate", .integer(Sample.start - 1)),
      ("data.transaction.expiresDate", .integer(Sample.start)),
      ("data.transaction.expiresDate", .integer(.min)),
      ("data.transaction.expiresDate", .string("later")),
      ("data.transaction.purchaseDate", .string("x")),
      ("data.transaction.purchaseDate", .integer(.max)),
    ]
    // Otherwise the renewal info would prove a period.
    let ends = [nil, JSONValue.integer(Sample.start - Sample.day)]
    let all = ends.flatMap { end in odd.map { ($0.0, $0.1, end) } }
    for (index, change) in all.enumerated() {
      let otid = "79\(index)"
      let notification = hostile.notification(otid: otid)
        .setting("data.renewalInfo.renewalDate", change.2)
        .setting("data.transaction.purchaseDate", .integer(Sample.start))
        .setting(change.0, change.1)
      try hostile.accepts(
        "S13 \(index)", .jws(change.0, try hostile.authority.signed(notification)))
      let times = [.min, 0, Sample.start, Sample.start + 1000, Sample.start + 1_000_000_000, .max]
      for query in times.map({ "?as_of=\($0)" }) + [""] {
        let row = hostile.daemon.client().get("/v1/entitlements/\(otid)\(query)")?.json
        #expect(
          row == nil || row?["gives_access"]?.boolean != true, "S13 \(index): \(row?.text ?? [])")
      }
    }
    for (path, value) in [
      ("data.transaction.price", JSONValue.integer(-1)), ("data.transaction.quantity", .integer(0)),
      ("data.transaction.price", .number("1e300")), ("data.transaction.price", .integer(.min)),
      ("data.transaction.quantity", .integer(-1)),
      ("data.transaction.revocationPercentage", .integer(.max)),
    ] {
      let notification = hostile.notification(otid: "79x").setting(path, value)
      try hostile.accepts("S13 \(path)", .jws(path, try hostile.authority.signed(notification)))
    }
    let nameless = hostile.notification().setting("data.transaction.originalTransactionId", nil)
      .setting("data.renewalInfo.originalTransactionId", nil)
    try hostile.accepts("S13 nameless", .jws("nameless", try hostile.authority.signed(nameless)))
  }

  /// Texts in every member, which are read back unchanged, page by page.
  @Sendable private static func oddTexts(_ hostile: HostileClient) throws {
    let texts = [
      "'; DROP TABLE event;--", "\" OR 1=1 --", "<script>alert(1)</script>", "../../etc/passwd",
      "\r\nSet-Cookie: a=b", "\u{1B}[2J", "\u{202E}x", "%00", "${jndi:ldap://x}", "\u{1F}",
      String(repeating: "9", count: 128), "\u{FEFF}1", "１２３", "\t", "null", "a\u{1F}b\u{1F}c",
    ]
    let members = [
      "notificationType", "subtype", "version", "data.bundleVersion", "data.transaction.productId",
      "data.transaction.appAccountToken", "data.transaction.type", "data.transaction.currency",
    ]
    for text in texts {
      let value = JSONValue.string(text)
      let named = hostile.notification(otid: text)
        .setting("data.transaction.transactionId", value)
      let everywhere = members.reduce(hostile.notification()) { $0.setting($1, value) }
      for notification in [named, everywhere] {
        try hostile.accepts("S14", .jws(text, try hostile.authority.signed(notification)))
      }
    }
    var found: [String] = []
    var after: String?
    repeat {
      let query = "?limit=1" + (after.map { "&after=\($0)" } ?? "")
      let page = try #require(hostile.daemon.client().get("/v1/entitlements" + query)?.json)
      let items = try #require(page["items"]?.elements, "S14: the list broke off")
      found += items.compactMap { $0["original_transaction_id"]?.string }
      after = page["next_page"]?.string
    } while after != nil
    #expect(Set(found.map { Array($0.utf8) }).isSuperset(of: texts.map { Array($0.utf8) }), "S14")
    let types = try hostile.installation.events().compactMap { $0["notification_type"]?.string }
    #expect(Set(types.map { Array($0.utf8) }).isSuperset(of: texts.map { Array($0.utf8) }), "S14")
    let metrics = try #require(hostile.daemon.client().get("/metrics")?.text)
    #expect(!metrics.contains("DROP") && !metrics.contains("script"), "S14")
  }

  // MARK: Version 1

  private static func body(_ number: Int, password: JSONValue?) -> JSONValue {
    let entry = JSONValue.object([
      ("transaction_id", .string("8\(number)")), ("original_transaction_id", .string("8000")),
      ("product_id", .string("basic.m")),
      ("purchase_date_ms", .string("\(Sample.start + Int64(number))")),
      ("expires_date_ms", .string("\(Sample.start + 30 * Sample.day)")),
    ])
    let receipt = JSONValue.object([
      ("environment", .string("Production")), ("latest_receipt", .string("cmVjZWlwdA==")),
      ("latest_receipt_info", .array([entry])),
    ])
    return .object([
      ("notification_type", .string("DID_RENEW")), ("environment", .string("PROD")),
      ("bid", .string("com.example.app")), ("original_transaction_id", .number("8000")),
      ("unified_receipt", receipt),
    ]).setting("password", password)
  }

  private static func good(_ hostile: HostileClient) -> JSONValue {
    body(hostile.next(), password: .string(HostileClient.v1Secret))
  }

  /// Run against a daemon that accepts V1.
  static let v1: [HostileRow] = [
    .scripted("V1") { _ in
      let hostile = try HostileClient()
      for password in [
        nil, JSONValue.string("guess"), .string(""), .string(HostileClient.v1Secret),
      ] {
        let variant = HostileRow.Variant.post(
          "no secret", body(hostile.next(), password: password).bytes)
        try hostile.refuses("V1", variant, [401], codes: ["v1_secret"])
      }
      for body in [
        #"{"unified_receipt":{"status":0},"password":""}"#, #"{"notification_type":"CANCEL"}"#,
        #"{"notification_type":null,"password":["x"]}"#,
      ] {
        try hostile.refuses("V1", .post("short", body), [401], codes: ["v1_secret"])
      }
      try hostile.finish()
    },
    .scripted("V2") { hostile in
      let secret = HostileClient.v1Secret
      let wrong: [JSONValue?] = [
        nil, .string(""), .string("wrong"), .string(String(secret.dropLast())),
        .string(secret + "x"), .string(secret + "\u{0}"), .string(secret.uppercased()),
        .string(secret + "\n"), .string(" " + secret), .array([.string(secret)]), .null,
        .integer(0), .boolean(true), .object([("a", .string(secret))]),
      ]
      let bodies = try wrong.map { password in
        let variant = HostileRow.Variant.post(
          password?.text ?? "missing", body(hostile.next(), password: password).bytes)
        return try hostile.refuses("V2", variant, [401])?.body
      }
      #expect(Set(bodies).count == 1, "V2 tells one from the other")
    },
    .scripted("V3") { _ in
      let installation = try Installation()
      let file = installation.folder.appending(path: "v1.secret")
      try installation.configure(
        apps: [Installation.app().setting("v1SharedSecretFile", .string(file.path))])
      for text in ["", "\n", " \n", "\n\n\n"] {
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o600], ofItemAtPath: file.path)
        let finished = try installation.run("serve")
        #expect(finished.code == 2 && finished.errors.contains("v1SharedSecretFile"), "\(finished)")
      }
      #expect(!FileManager.default.fileExists(atPath: installation.data.path), "V3")
    },
    .quarantined("V4") { hostile in
      let changes: [(String, JSONValue)] = [
        ("environment", .string("Elsewhere")), ("environment", .string("Sandbox")),
        ("bid", .string("com.example.foreign")),
      ]
      return changes.map { .post($0.0, good(hostile).setting($0.0, $0.1).bytes) }
    },
    .accepted("V4") { hostile in
      let bare = good(hostile).setting("original_transaction_id", nil)
        .setting("unified_receipt.latest_receipt_info", nil)
      return [
        .post("no stream", bare.bytes), .post("no bid", good(hostile).setting("bid", nil).bytes),
      ]
    },
    .scripted("V5") { hostile in
      let first = good(hostile)
      try hostile.accepts("V5", .post("first", first.bytes))
      let again = first.setting("unified_receipt.latest_receipt", .string("YW5vdGhlcg=="))
      let before = try hostile.state()
      let answer = hostile.daemon.client().post(again.bytes)
      #expect(answer?.json?["outcome"]?.string == "duplicate", "V5")
      #expect(try hostile.state() == before, "V5")
    },
    .coveredBy("V6", "EvidenceTests"),
    .refused("V8", 400) { hostile in
      let secret = HostileClient.v1Secret
      let text = { String(decoding: good(hostile).bytes, as: UTF8.self) }
      let member = "\"password\":\"\(secret)\""
      return [
        .post("twice", text().replacing(member, with: "\(member),\(member)")),
        .post("escaped", text().replacing(member, with: "\(member),\"pass\\u0077ord\":\"x\"")),
        .post("nested", good(hostile).setting("unified_receipt.password", .string(secret)).bytes),
        .post("deep", good(hostile).setting("x", .array([.object([("password", .null)])])).bytes),
      ]
    },
  ]
}
