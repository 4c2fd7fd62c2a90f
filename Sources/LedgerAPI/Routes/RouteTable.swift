import LedgerQueries

extension Route {
  /// Everything that can be asked for.
  static let table = taking + reading + state + local + ConsolePages.routes

  private static let refused = Reply(status: 400, meaning: "Cannot be.", content: .problem)
  private static let tokenMissing = Reply(
    status: 401, meaning: "No read token, or none that is known.", content: .problem)
  private static let absent = Reply(
    status: 404, meaning: "There is none, or none that this token may see.", content: .problem)
  private static let notNow = Reply(
    status: 503, meaning: "Not now; Retry-After says when.", content: .problem)

  private static func answer(_ meaning: String, _ schema: String) -> Reply {
    Reply(status: 200, meaning: meaning, content: .json(.named(schema)))
  }

  private static let taking = [
    Route(
      .notifications, "POST", "/v1/notifications", .everybody,
      "Takes a notification of the App Store, of version 2 or 1.",
      body: .either([.named("NotificationV2"), .named("NotificationV1")]),
      [
        answer("It is in the journal, synced.", "Taken"),
        Reply(status: 400, meaning: "Malformed: will never be valid.", content: .problem),
        Reply(status: 401, meaning: "Nothing we trust vouches for it.", content: .problem),
        Reply(
          status: 422, meaning: "Genuine, not admitted, and kept in quarantine.",
          content: .problem), notNow,
      ])
  ]

  private static let reading = [
    Route(
      .entitlements, "GET", "/v1/entitlements", .token, "A list of entitlements, page by page.",
      [
        Parameter("app_account_token", .text, "Of this account of yours, a UUID."),
        Parameter("app_transaction_id", .text, "Of this download of the app."),
        Parameter("product_id", .text, "With this product."),
        Parameter("status", .status, "With this status now."),
        .onlyEnvironment, .onlyBundleId, .limit(500, default: 50), .after,
      ], [answer("One page.", "EntitlementList"), refused, tokenMissing, notNow]),
    Route(
      .entitlement, "GET", "/v1/entitlements/{otid}", .token,
      "What one customer may use, now or at a past moment.",
      [.id, .environment, .bundleId, .asOf, .knownAt],
      [answer("The row.", "Entitlement"), refused, tokenMissing, absent, notNow]),
    Route(
      .history, "GET", "/v1/entitlements/{otid}/history", .token,
      "Every event of one customer, and what it changed.",
      [
        .id, .environment, .bundleId, .asOf, .knownAt,
        Parameter("raw", .boolean, "Adds what each notification says, decoded."),
      ], [answer("The timeline, oldest first.", "History"), refused, tokenMissing, absent, notNow]),
    Route(
      .overview, "GET", "/v1/overview", .token,
      "What came over the last hours, rows by status, quarantine, last arrivals.",
      [
        Parameter("hours", .integer(1...168, default: 24), "How many hours back."),
        .onlyEnvironment, .onlyBundleId,
      ],
      [answer("Counts, as far as they are counted.", "Overview"), refused, tokenMissing, notNow]),
    Route(
      .quarantine, "GET", "/v1/quarantine", .token,
      "What was genuine and not admitted, newest first.",
      [.limit(500, default: 50), .after],
      [answer("One page.", "QuarantineList"), refused, tokenMissing, notNow]),
    Route(
      .comparison, "GET", "/v1/rebuild", .token, "What the last `rebuild --diff` found.", [],
      [
        answer("Counts and samples.", "Comparison"), refused, tokenMissing,
        Reply(status: 404, meaning: "None was made.", content: .problem), notNow,
      ]),
    Route(
      .metrics, "GET", "/metrics", .token, "Counters and gauges.", [],
      [
        Reply(
          status: 200, meaning: "Prometheus text exposition.", content: .text("text/plain")),
        tokenMissing,
      ]),
  ]

  private static let state = [
    Route(
      .healthz, "GET", "/healthz", .everybody, "Whether the process is alive.", [],
      [answer("It is.", "State")]),
    Route(
      .readyz, "GET", "/readyz", .everybody, "Whether notifications are taken.", [],
      [answer("They are.", "State"), notNow]),
    Route(
      .version, "GET", "/version", .everybody, "Of the program, its fold and its libraries.", [],
      [answer("Versions.", "Version")]),
    Route(
      .openAPI, "GET", "/openapi.json", .everybody, "This document.", [],
      [
        Reply(
          status: 200, meaning: "OpenAPI 3.1.",
          content: .json(.open([], required: ["openapi"], "")))
      ]),
  ]

  /// What commands hand to the daemon; no part of the contract.
  private static let local =
    [
      Route(.controlIngest, "POST", "/control/ingest", .local, "Lines of `ingest`."),
      Route(
        .controlAdmit, "POST", "/control/quarantine/{id}/admit", .local, "`quarantine admit`."),
      Route(.controlDrop, "POST", "/control/quarantine/{id}/drop", .local, "`quarantine drop`."),
    ]
    + ProjectionOrder.allCases.map { order in
      Route(
        .controlProjection(order), "POST", "/control/rows/\(order.rawValue)", .local, "`rebuild`.")
    }
}
