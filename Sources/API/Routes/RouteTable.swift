import AppStore
import Ledger
import Queries
import Store
import StrictJSON

extension Route {
  /// All routes of the server.
  static let table =
    ingest + [receipts] + reads + statements + state + control + ConsolePages.routes

  private static let refused = Reply(
    status: 400, meaning: "The request is malformed.", content: .problem)
  private static let unauthorized = Reply(
    status: 401, meaning: "The read token is missing or unknown.", content: .problem)
  private static let notAllowed = Reply(
    status: 403, meaning: "The token may not do this.", content: .problem)
  private static let absent = Reply(
    status: 404, meaning: "The resource does not exist, or the token may not read it.",
    content: .problem)
  private static let unavailable = Reply(
    status: 503,
    meaning: "The service is temporarily unavailable; Retry-After says when to try again.",
    content: .problem)

  private static func answer(_ meaning: String, _ schema: String) -> Reply {
    Reply(status: 200, meaning: meaning, content: .json(.named(schema)))
  }

  private static let ingest = [
    Route(
      .notifications, "POST", "/v1/notifications", .anyone,
      "Accepts an App Store Server Notification, version 2 or 1.",
      bodies: [.notificationV2, .notificationV1],
      [
        answer("The notification is in the journal and synced to disk.", "Taken"),
        Reply(
          status: 400, meaning: "The notification is malformed and will never be valid.",
          content: .problem),
        Reply(
          status: 401,
          meaning: "No configured trust root or shared secret authenticates the notification.",
          content: .problem),
        Reply(
          status: 422,
          meaning: "The notification is genuine but not admitted; it is stored in quarantine "
            + "unless that is full of other apps' notifications.",
          content: .problem), unavailable,
      ]),
    Route(
      .transactions, "POST", "/v1/transactions", .token(.submit),
      "Accepts a transaction that StoreKit 2 gave to the app, and returns its entitlement.",
      bodies: [.signedTransaction],
      [
        answer("What Apple signed is in the journal, or held, and synced to disk.", "Submitted"),
        Reply(
          status: 400, meaning: "The request is malformed and will never be valid.",
          content: .problem),
        Reply(
          status: 401,
          meaning: "The token is missing or unknown, or Apple did not sign the transaction.",
          content: .problem), notAllowed,
        Reply(
          status: 422,
          meaning: "The transaction is genuine, but of another app or environment than expected; "
            + "it is not stored.",
          content: .problem), unavailable,
      ]),
  ]

  private static let receipts = Route(
    .receipts, "POST", "/v1/receipts", .token(.submit),
    "Accepts the receipt of an app, and returns the entitlements that it is about.",
    bodies: [.appReceipt],
    [
      answer("What Apple signed is in the journal, or held, and synced to disk.", "Receipt"),
      Reply(
        status: 400, meaning: "The request is malformed and will never be valid.",
        content: .problem),
      Reply(
        status: 401,
        meaning: "The token is missing or unknown, or Apple did not sign the receipt.",
        content: .problem), notAllowed,
      Reply(
        status: 422,
        meaning:
          "The receipt is genuine and not admitted. It is stored in quarantine, unless it is "
          + "of another environment than expected.",
        content: .problem), unavailable,
    ])

  private static let reads = [
    Route(
      .entitlements, "GET", "/v1/entitlements", .token(.read), "Lists entitlements, page by page.",
      [
        Parameter(
          "app_account_token", .uuid, "Only entitlements with this appAccountToken."),
        Parameter("app_transaction_id", .text, "Only entitlements of this download of the app."),
        Parameter("product_id", .text, "Only entitlements to this product."),
        Parameter(
          "status", .words(Parameter.statuses),
          "Only entitlements that have this status now, or one of these, separated by commas."),
        Parameter(
          "gives_access", .boolean, "Only entitlements that give access now, or that give none."),
        .onlyEnvironment, .onlyBundleId, .limit(500, default: 50), .after, .minSeq,
      ],
      [
        answer("One page of entitlements.", "EntitlementList"), refused, unauthorized, notAllowed,
        unavailable,
      ]),
    Route(
      .entitlement, "GET", "/v1/entitlements/{otid}", .token(.read),
      "Returns what one customer may use, now or at an earlier time.",
      [.id, .environment, .bundleId, .asOf, .knownAt, .knowledge, .minSeq],
      [
        answer("The entitlement.", "Entitlement"), refused, unauthorized, notAllowed, absent,
        unavailable,
      ]),
    Route(
      .purchases, "GET", "/v1/entitlements/{otid}/transactions", .token(.read),
      "Lists every purchase and renewal of one customer, with its price and what became of it.",
      [
        .id, .environment, .bundleId, .asOf, .knownAt, .limit(1000, default: 1000), .after, .minSeq,
      ],
      [
        answer("One page of transactions, the earliest purchase first.", "TransactionList"),
        refused, unauthorized, notAllowed, absent, unavailable,
      ]),
    Route(
      .history, "GET", "/v1/entitlements/{otid}/history", .token(.read),
      "Lists every event of one customer, with what it changed.",
      [
        .id, .environment, .bundleId, .asOf, .knownAt,
        Parameter("raw", .boolean, "Whether to add the decoded payload of each notification."),
        .limit(1000, default: 1000), .after, .minSeq,
      ],
      [
        answer("One page of the timeline, oldest event first.", "History"), refused, unauthorized,
        notAllowed,
        absent,
        unavailable,
      ]),
    Route(
      .order, "GET", "/v1/orders/{order}", .token(.lookup),
      "Asks Apple for the purchases of an order id, as a customer's mail has it.",
      [.order],
      [
        answer("What Apple knows of the order; empty if nothing.", "OrderPurchaseList"), refused,
        unauthorized, notAllowed, absent, unavailable,
      ]),
    Route(
      .search, "GET", "/v1/search", .token(.read),
      "Finds the purchases that an id of Apple's belongs to: an original transaction id, a "
        + "transaction id or a notification's UUID.",
      [Parameter("id", .text, "The id, in any of these forms.", isRequired: true)],
      [
        answer("The purchases; none if the id is in none.", "FoundPurchaseList"), refused,
        unauthorized, notAllowed, unavailable,
      ]),
    Route(
      .customer, "GET", "/v1/customers/{id}", .token(.read),
      "Returns what one customer may use by name, and the rows that say so.",
      [
        .customerId, .by, .environment, .onlyBundleId, .asOf, .knownAt, .knowledge, .mapping,
        .minSeq,
      ],
      [
        answer(
          "The customer; `known` is false if nothing is known under the id, which says nothing "
            + "about access.", "Customer"), refused, unauthorized, notAllowed, unavailable,
      ]),
    Route(
      .customers, "POST", "/v1/customers/query", .token(.read),
      "Returns the same for up to 500 customers, in the order of their ids.",
      bodies: [.customerQuery(nil)],
      [
        answer("The customers.", "CustomerList"), refused, unauthorized, notAllowed, unavailable,
      ]),
    Route(
      .overview, "GET", "/v1/overview", .token(.read),
      "Returns counts of recent notifications, of rows by status and of quarantine, and what was "
        + "recovered.",
      [
        Parameter(
          "hours", .integer(1...168, default: 24),
          "The number of hours to cover, the current hour included."),
        .onlyEnvironment, .onlyBundleId,
      ],
      [answer("The counts so far.", "Overview"), refused, unauthorized, notAllowed, unavailable]),
    Route(
      .quarantine, "GET", "/v1/quarantine", .token(.read),
      "Lists genuine notifications that were not admitted, newest first.",
      [
        Parameter("reason", .text, "Only those that were not admitted for this reason."),
        Parameter("environment", .environment, "Only those that name this environment."),
        Parameter("bundle_id", .text, "Only those that name this app."),
        Parameter("raw", .boolean, "Whether to add the decoded payload of each notification."),
        .limit(500, default: 50), .after,
      ],
      [
        answer("One page of quarantined notifications.", "QuarantineList"), refused, unauthorized,
        notAllowed,
        unavailable,
      ]),
    Route(
      .comparison, "GET", "/v1/rebuild", .token(.read),
      "Returns the result of the last `rebuild --diff`.",
      [],
      [
        answer("Counts and samples of the differences.", "Comparison"), refused, unauthorized,
        notAllowed,
        Reply(status: 404, meaning: "There is no comparison.", content: .problem), unavailable,
      ]),
    Route(
      .events, "GET", "/v1/events", .token(.read),
      "Lists the events of the journal in order, and waits for new ones.",
      feed,
      [
        answer("A page of events; `next_page` is the cursor of the next.", "EventPage"), refused,
        unauthorized, notAllowed,
        Reply(
          status: 410,
          meaning: "The cursor is of another history of the journal, as after a restore.",
          content: .problem), unavailable,
      ]),
    Route(
      .sinks, "GET", "/v1/sinks", .token(.read),
      "Lists where changes are sent, and how far each receiver is.", [],
      [
        answer("The sinks, by name, each followed by its replays.", "SinkList"), unauthorized,
        notAllowed, unavailable,
      ]),
    Route(
      .metrics, "GET", "/metrics", .token(.read, .metrics),
      "Returns counters and gauges in Prometheus text format.",
      [],
      [
        Reply(
          status: 200, meaning: "The metrics.", content: .text("text/plain")),
        unauthorized, notAllowed,
      ]),
  ]

  /// What the owner says of his customers.
  private static let statements = [
    Route(
      .claim, "PUT", "/v1/accounts/{account}/transactions", .token(.submit, .claim),
      "Says that a user of yours has a purchase: with the signed transaction, or, by a token that "
        + "may claim, with its id alone.",
      [.account], bodies: [.signedTransaction, .claim],
      [
        answer("The claim is in the journal and synced to disk.", "Submitted"), refused,
        unauthorized, notAllowed, absent, genuine, unavailable,
      ]),
    Route(
      .release, "DELETE", "/v1/accounts/{account}/transactions/{otid}", .token(.submit, .claim),
      "Says that a user of yours has a purchase no longer.",
      [.account, .id, .environment, .ownBundleId],
      [
        answer("The release is in the journal and synced to disk.", "Submitted"), refused,
        unauthorized, notAllowed, absent, reusedKey, unavailable,
      ]),
    Route(
      .erase, "DELETE", "/v1/accounts/{account}", .token(.erase),
      "Forgets a user of yours: no file of the ledger names him any more.", [.account],
      [
        answer("It is forgotten.", "Erased"), unauthorized, notAllowed, absent, unavailable,
      ]),
    Route(
      .grants, "GET", "/v1/customers/{id}/grants", .token(.read, .grant),
      "Lists what you granted to a customer, oldest first, ended grants included.",
      [
        .customerId, .customerName, .environment, .onlyBundleId, .limit(500, default: 50), .after,
      ],
      [
        answer("A page of the grants.", "GrantList"), refused, unauthorized, notAllowed,
        unavailable,
      ]),
    Route(
      .grant, "POST", "/v1/customers/{id}/grants", .token(.grant),
      "Grants a customer an entitlement without a purchase.",
      [.customerId, .customerName, .environment, .ownBundleId], bodies: [.grant(nil)],
      [
        answer("The grant is in the journal and synced to disk.", "Granted"), refused,
        unauthorized, notAllowed, reusedKey, unavailable,
      ]),
    Route(
      .revoke, "DELETE", "/v1/customers/{id}/grants/{grant}", .token(.grant), "Ends a grant.",
      [.customerId, .grantId, .customerName, .environment, .ownBundleId, .reason],
      [
        answer("The end is in the journal and synced to disk.", "Granted"), refused, unauthorized,
        notAllowed, absent, reusedKey, unavailable,
      ]),
  ]

  private static let genuine = Reply(
    status: 422,
    meaning: "The transaction is genuine, but of another app or environment than expected, or the "
      + "Idempotency-Key came with another statement before; nothing is stored.",
    content: .problem)
  private static let reusedKey = Reply(
    status: 422, meaning: "The Idempotency-Key came with another statement before.",
    content: .problem)

  private static let state = [
    Route(
      .healthz, "GET", "/healthz", .anyone, "Returns whether the process is alive.", [],
      [answer("The process is alive.", "State")]),
    Route(
      .readyz, "GET", "/readyz", .anyone, "Returns whether notifications are accepted.", [],
      [answer("Notifications are accepted.", "Ready"), unavailable]),
    Route(
      .version, "GET", "/version", .anyone,
      "Returns the versions of the program, its fold and its libraries.", [],
      [answer("The versions.", "Version")]),
    Route(
      .openAPI, "GET", "/openapi.json", .anyone, "Returns the OpenAPI document of these routes.",
      [],
      [
        Reply(
          status: 200, meaning: "This document, in OpenAPI 3.1.",
          content: .json(.open([("openapi", .text(""))], required: ["openapi"], "")))
      ]),
  ]

  /// The parameters of the feed.
  private static let feed = [
    Parameter(
      "after", .place,
      "A cursor, 0 for the first event, or received: with a time. Without it, 0; with wait "
        + "or order=newest, the newest event."),
    Parameter(
      "order", .choice(Feed.Order.allCases.map(\.rawValue)),
      "Which events come first. With newest, a page continues before the cursor, and there is "
        + "no waiting; oldest if absent."),
    Parameter(
      "since", .time, "Only events received at this time or later; RFC 3339 or milliseconds."),
    Parameter(
      "until", .time, "Only events received before this time; RFC 3339 or milliseconds."),
    .limit(1000, default: 100),
    Parameter(
      "wait", .integer(0...30, default: 0), "Seconds to wait for an event if there is none."),
    .onlyEnvironment, .onlyBundleId,
    Parameter(
      "type", .texts,
      "Only this notification type, such as DID_RENEW, or these, separated by commas."),
    Parameter(
      "source", .words(EventSource.all.map(\.rawValue)),
      "Only events from this source, or these, separated by commas: v2 and v1 are "
        + "notifications, transaction, renewal and receipt evidence, account and grant yours."),
    Parameter(
      "arrival", .words(EventArrival.allCases.map(\.rawValue)),
      "Only events that came in this way, or these, separated by commas: posted by Apple, from "
        + "Apple's history, import, asked of Apple, submitted by your backend."),
    Parameter("subtype", .text, "Only this subtype."),
    Parameter(
      "original_transaction_id", .text, "Only events of this original transaction id."),
    Parameter(
      "include", .words(Feed.Inclusion.allCases.map(\.rawValue)),
      "What to add to each event, separated by commas: row, payload, body."),
  ]

  /// Work that commands hand to the daemon; not part of the contract.
  private static let control = [
    Route(
      .controlIngest, "POST", "/control/ingest", .local,
      "Journals the lines of an `ingest` command."),
    Route(
      .controlAdmit, "POST", "/control/quarantine/admit", .local,
      "Admits quarantined notifications."),
    Route(
      .controlDrop, "POST", "/control/quarantine/drop", .local,
      "Drops quarantined notifications."),
    Route(
      .controlStatement, "POST", "/control/statement", .local,
      "Journals a claim, a grant, or the end of one."),
    Route(.controlErase, "POST", "/control/erase", .local, "Forgets an account."),
    Route(.controlSink, "POST", "/control/sink", .local, "Does what a `sink` command asks."),
    Route(
      .controlEvents, "GET", "/control/events", .local,
      "Waits for events, for `events --follow`.", feed),
    Route(
      .controlRefusals, "GET", "/control/refusals", .local,
      "Counts refused notifications, for `doctor`."),
    Route(
      .controlRecovered, "POST", "/control/recovered", .local,
      "Notes what `recover` or `reconcile` found, for the overview."),
    Route(
      .controlProjection, "POST", "/control/projection", .local,
      "Switches, folds again or removes projections for a `rebuild` command."),
  ]
}
