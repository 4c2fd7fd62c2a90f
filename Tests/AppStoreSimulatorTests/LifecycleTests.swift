import Platform
import StrictJSON
import Testing

@testable import AppStoreSimulator

/// The lifecycles and the fleet give notifications as Apple sends them.
@Suite struct LifecycleTests {
  /// 2026-01-01T00:00:00Z.
  static let end: Int64 = 1_767_225_600_000

  static func played(_ lifecycle: Lifecycle, seed: UInt64 = 3) -> [SimulatedNotification] {
    lifecycle.notifications(app: SimulatedApp(), seed: seed, endingAt: end)
  }

  static func name(_ notification: SimulatedNotification) -> String {
    notification.type + (notification.subtype.map { "/" + $0 } ?? "")
  }

  @Test(
    arguments: [
      "cancel": [
        "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
      ],
      "retry-recovered": [
        "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED",
        "DID_RENEW/BILLING_RECOVERY", "DID_RENEW",
      ],
      "family-revoke": [
        "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_RENEW", "REVOKE",
        "DID_RENEW",
      ],
      "seat": [
        "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_RENEW", "REVOKE",
        "DID_RENEW",
      ],
      "team": [
        "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/INITIAL_BUY",
        "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY", "REFUND", "DID_RENEW", "DID_RENEW",
        "DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY", "DID_RENEW", "DID_RENEW",
      ],
      "team-claims": [
        "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY", "REFUND/SEATS",
        "UNCLAIM_SEATS", "DID_RENEW",
      ],
      "retention": ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "OFFER_REDEEMED", "DID_RENEW"],
      "advanced-commerce": [
        "SUBSCRIBED/INITIAL_BUY", "MIGRATION", "METADATA_UPDATE", "PRICE_CHANGE", "DID_RENEW",
      ],
      "consent": ["ONE_TIME_CHARGE", "RESCIND_CONSENT"],
      "external-purchase": [
        "EXTERNAL_PURCHASE_TOKEN/CREATED", "EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER",
        "EXTERNAL_PURCHASE_TOKEN/CREATED", "EXTERNAL_PURCHASE_TOKEN/UNREPORTED",
      ],
      "price-increase": [
        "SUBSCRIBED/INITIAL_BUY", "PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED", "DID_RENEW",
        "PRICE_INCREASE/PENDING", "EXPIRED/PRICE_INCREASE",
      ],
      "crossgrade": [
        "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE",
        "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_RENEW",
      ],
      "extension": [
        "SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION/SUMMARY", "DID_RENEW",
      ],
    ])
  func `a script gives Apple's sequence of types`(_ name: String, _ wanted: [String]) throws {
    #expect(try Self.played(#require(Lifecycle.named(name))).map(Self.name) == wanted)
  }

  /// The status and the renewal information that a notification type must have.
  struct Expected {
    var status: ClosedRange<Int64> = 1...1
    var autoRenew: Int64? = 1
    var intent: Int64?
    var isRetrying: Bool?
  }

  static let table: [String: Expected] = [
    "SUBSCRIBED/INITIAL_BUY": Expected(),
    "SUBSCRIBED/RESUBSCRIBE": Expected(),
    "DID_RENEW": Expected(),
    "DID_RENEW/BILLING_RECOVERY": Expected(),
    "DID_CHANGE_RENEWAL_PREF": Expected(),
    "DID_CHANGE_RENEWAL_PREF/UPGRADE": Expected(),
    "DID_CHANGE_RENEWAL_PREF/DOWNGRADE": Expected(),
    "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY": Expected(),
    "DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY": Expected(),
    "REFUND/SEATS": Expected(),
    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED": Expected(autoRenew: 0),
    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED": Expected(),
    "OFFER_REDEEMED": Expected(),
    "DID_FAIL_TO_RENEW/GRACE_PERIOD": Expected(status: 4...4, intent: 2, isRetrying: true),
    "DID_FAIL_TO_RENEW": Expected(status: 3...3, intent: 2, isRetrying: true),
    "GRACE_PERIOD_EXPIRED": Expected(status: 3...3, intent: 2, isRetrying: true),
    "EXPIRED/VOLUNTARY": Expected(status: 2...2, autoRenew: 0, intent: 1, isRetrying: false),
    "EXPIRED/BILLING_RETRY": Expected(status: 2...2, autoRenew: 0, intent: 2, isRetrying: false),
    "EXPIRED/PRICE_INCREASE": Expected(status: 2...2, autoRenew: 0, intent: 3, isRetrying: false),
    "PRICE_INCREASE/PENDING": Expected(),
    "PRICE_INCREASE/ACCEPTED": Expected(),
    "REFUND": Expected(status: 5...5, autoRenew: 0),
    "REFUND_REVERSED": Expected(status: 1...2, autoRenew: 0),
    "REFUND_DECLINED": Expected(autoRenew: nil),
    "CONSUMPTION_REQUEST": Expected(autoRenew: nil),
    "REVOKE": Expected(status: 5...5, autoRenew: 0),
    "RENEWAL_EXTENDED": Expected(),
    "METADATA_UPDATE": Expected(),
    "PRICE_CHANGE": Expected(),
    "MIGRATION": Expected(),
  ]

  static func check(_ notification: SimulatedNotification) throws {
    let root = try JSONDocument(parsing: notification.payload.bytes).root
    let name = name(notification)
    #expect(root["signedDate"]?.integer == notification.signedDate)
    #expect(root["notificationUUID"]?.string == notification.uuid)
    guard let transaction = root["data"]?["transaction"] else {
      let alone = ["TEST", "RENEWAL_EXTENSION/SUMMARY", "RESCIND_CONSENT", "UNCLAIM_SEATS"]
      #expect(alone.contains(name) || notification.type == "EXTERNAL_PURCHASE_TOKEN")
      return
    }
    let signed = try #require(transaction["signedDate"]?.integer)
    #expect(signed < notification.signedDate && signed > notification.signedDate - 100)
    guard transaction["type"]?.string == "Auto-Renewable Subscription" else {
      #expect(root["data"]?["status"] == nil && root["data"]?["renewalInfo"] == nil)
      #expect(transaction["expiresDate"] == nil)
      return
    }
    // The other seats of the period are still paid for.
    let isPart = name == "REFUND" && transaction["additionalTransactionReason"] != nil
    let known = isPart ? Expected() : table[name]
    let expected = try #require(known, "\(name) is not in the table")
    let renewal = try #require(root["data"]?["renewalInfo"])
    let status = try #require(root["data"]?["status"]?.integer)
    #expect(expected.status.contains(status), "\(name) \(status)")
    if let autoRenew = expected.autoRenew {
      #expect(renewal["autoRenewStatus"]?.integer == autoRenew, "\(name)")
    }
    #expect(renewal["expirationIntent"]?.integer == expected.intent, "\(name)")
    #expect(renewal["isInBillingRetryPeriod"]?.boolean == expected.isRetrying, "\(name)")
    #expect((renewal["gracePeriodExpiresDate"] != nil) || status != 4)
    #expect((transaction["revocationDate"] != nil) == (status == 5 || isPart), "\(name)")
    #expect(renewal["renewalDate"]?.integer == transaction["expiresDate"]?.integer)
    #expect(
      renewal["originalTransactionId"]?.string == transaction["originalTransactionId"]?.string)
  }

  @Test(arguments: Lifecycle.all.map(\.name))
  func `every notification of a lifecycle agrees with the table`(_ name: String) throws {
    let lifecycle = try #require(Lifecycle.named(name))
    for seed in UInt64(1)...5 {
      let notifications = Self.played(lifecycle, seed: seed)
      let last = try #require(notifications.last)
      #expect(last.signedDate <= Self.end && last.signedDate > Self.end - 8 * CivilTime.day)
      #expect(Set(notifications.map(\.uuid)).count == notifications.count)
      for notification in notifications { try Self.check(notification) }
    }
  }

  private static func root(_ notification: SimulatedNotification) throws -> JSONElement {
    try JSONDocument(parsing: notification.payload.bytes).root
  }

  /// The transactions of a lifecycle that have a member, each with that member's text.
  private static func members(_ lifecycle: String, _ name: String) throws -> [String?] {
    try played(#require(Lifecycle.named(lifecycle))).map {
      try root($0)["data"]?["transaction"]?[name]?.value.text
    }
  }

  @Test(arguments: [
    "seat": ["ASSIGNED", "ASSIGNMENT_REVOKE"], "family-revoke": ["FAMILY_SHARED", "FAMILY_REVOKE"],
  ]) func `a member loses the subscription by the type of the membership`(
    _ lifecycle: String, _ names: [String]
  ) throws {
    let owners = try Self.members(lifecycle, "inAppOwnershipType")
    let types = try Self.played(#require(Lifecycle.named(lifecycle))).map(Self.name)
    let own = zip(types, owners).filter { $0.1 == "\"\(names[0])\"" }.map(\.0)
    #expect(own == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "REVOKE"])
    #expect(owners.count { $0 == "\"PURCHASED\"" } == 3)
    let revoked = try Self.members(lifecycle, "revocationType")
    #expect(revoked.compactMap(\.self) == ["\"\(names[1])\""])
    #expect(
      try Self.members(lifecycle, "revocationDate").map { $0 == nil } == revoked.map { $0 == nil })
  }

  @Test func `a retention offer is announced, and applies to the next period`() throws {
    #expect(try Self.members("retention", "offerType") == [nil, nil, nil, "5"])
    let redeemed = try Self.root(Self.played(#require(Lifecycle.named("retention")))[2])
    #expect(redeemed["data"]?["renewalInfo"]?["offerType"]?.integer == 5)
  }

  @Test func `tokens for outside purchases have a type, and a prefix in the sandbox`() throws {
    for (environment, prefix) in [("Production", ""), ("Sandbox", "SANDBOX")] {
      let played = try #require(Lifecycle.named("external-purchase")).notifications(
        app: SimulatedApp(environment: environment), seed: 1, endingAt: Self.end)
      let tokens = try played.map { try #require(Self.root($0)["externalPurchaseToken"]) }
      #expect(
        tokens.map { $0["tokenType"]?.string } == [
          "ACQUISITION", "ACQUISITION", "SERVICES", "SERVICES",
        ])
      let ids = tokens.compactMap { $0["externalPurchaseId"]?.string }
      #expect(ids.count == 4 && ids[0] == ids[1] && ids[2] == ids[3] && Set(ids).count == 2)
      #expect(ids.allSatisfy { $0.hasPrefix("SANDBOX") == !prefix.isEmpty })
    }
  }

  @Test func `a migrated subscription names the one it was before`() throws {
    let before = try Self.members("advanced-commerce", "previousOriginalTransactionId")
    let ids = try Self.members("advanced-commerce", "originalTransactionId")
    #expect(before == [nil, ids[0], ids[0], ids[0], nil] && Set(ids).count == 2)
  }

  @Test func `every notification of a fleet agrees with the table`() throws {
    let fleet = Fleet(app: SimulatedApp(), customers: 300, days: 400, end: Self.end, seed: 11)
    let notifications = fleet.notifications()
    for notification in notifications {
      try Self.check(notification)
      #expect(notification.signedDate <= Self.end)
    }
    let types = Set(notifications.map(\.type))
    for type in ["REFUND", "ONE_TIME_CHARGE", "DID_FAIL_TO_RENEW", "EXPIRED", "REVOKE"] {
      #expect(types.contains(type))
    }
  }

  @Test func `the same seed gives the same payloads`() {
    let payloads = [7, 7, 8].map { seed in
      Fleet(app: SimulatedApp(), customers: 40, days: 200, end: Self.end, seed: seed)
        .notifications().map(\.payload.text)
    }
    #expect(payloads[0] == payloads[1])
    #expect(payloads[0] != payloads[2])
  }

  @Test func `payloads of the sandbox have no appAppleId`() throws {
    let app = SimulatedApp(environment: "Sandbox")
    let test = try #require(
      Lifecycle.named("test")?.notifications(app: app, seed: 1, endingAt: Self.end).first)
    let data = try #require(JSONDocument(parsing: test.payload.bytes).root["data"])
    #expect(data["appAppleId"] == nil)
    #expect(data["environment"]?.string == "Sandbox")
  }

  @Test func `a month after the 31st ends on the last day of a shorter month`() {
    for (text, months, later) in [
      ("2024-01-31T10:00:00Z", 1, "2024-02-29T10:00:00Z"),
      ("2024-01-31T10:00:00Z", 2, "2024-03-31T10:00:00Z"),
      ("2024-02-29T00:00:00Z", 12, "2025-02-28T00:00:00Z"),
      ("2025-11-30T23:59:59Z", 3, "2026-02-28T23:59:59Z"),
    ] as [(String, Int64, String)] {
      let start = Timestamp.parse(text)
      let end = start.map { CivilTime(milliseconds: $0).adding(months: months).milliseconds }
      #expect(end != nil && end == Timestamp.parse(later))
    }
    #expect(Timestamp.parse("2026-01-01T00:00:00Z") == Self.end)
    #expect(Timestamp.parse("2026-02-29T00:00:00Z") == nil)
    #expect(Timestamp.parse("yesterday") == nil)
  }
}
