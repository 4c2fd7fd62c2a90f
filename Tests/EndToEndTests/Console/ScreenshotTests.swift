import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// Takes a picture of every page of the console: `make screenshots`.
@Suite(.serialized, .enabled(if: Browser.screenshots != nil)) struct ScreenshotTests {
  /// A page, what is waited for, and what is done before the picture is taken.
  private struct Picture {
    let name: String
    let route: String
    var wait = "document.querySelector('main h1')"
    var action = "0"
    /// Pixels from the top; nil: the whole page.
    var height: Int?
  }

  /// How many different notifications a customer has.
  private static func variety(_ notifications: [SimulatedNotification]) -> Int {
    Set(notifications.map { "\($0.type) \($0.subtype ?? "")" }).count
  }

  /// The customer with the greatest variety of notifications, and few enough for one picture.
  private static func customer(_ sent: [SimulatedNotification]) throws -> String {
    let customers = Dictionary(grouping: sent) { $0.originalTransactionId ?? "" }
    let found = customers.filter { $0.value.count < 16 }.max { one, two in
      let (left, right) = (variety(one.value), variety(two.value))
      return (left, two.key) < (right, one.key)
    }?.key
    return try #require(found)
  }

  /// A ledger that a shop could have: an App Store that is asked, entitlements, sinks, a comparison
  /// with differences, quarantine, and one user with two purchases.
  private final class Shop {
    let store: PlayedStore
    let receiver: ScriptedServer
    let daemon: RunningDaemon
    let customer: String
    static let account = "0a1b2c3d-0000-4000-8000-00000000abcd"

    init() throws {
      store = try PlayedStore(
        ["--customers", "30", "--days", "60", "--seed", "3"], recover: "automatic")
      let installation = store.installation
      receiver = try ScriptedServer { _ in [.response(204, "")] }
      let sent = try installation.live(customers: 1_500, days: 25, old: 200, seed: 11)
      customer = try ScreenshotTests.customer(sent)
      let path = installation.folder.appending(path: "a.whsec").path
      let secret = try installation.run("sink", "secret").output
      try Data(secret.utf8).write(to: URL(filePath: path))
      chmod(path, 0o600)
      func sink(_ name: String, _ url: String) -> JSONValue {
        .object([
          ("name", .string(name)), ("kind", .string("webhook")), ("url", .string(url)),
          ("secretFile", .string("a.whsec")), ("privateNetwork", .boolean(true)),
        ])
      }
      try installation.extendConfiguration([
        Installation.entitlements,
        (
          "sinks",
          .array([
            sink("backend", receiver.address + "/hook"),
            sink("analytics", "http://127.0.0.1:9/hook"),
          ])
        ),
      ])
      // A comparison that finds some rows missing.
      try installation.executeInProjection(
        "DELETE FROM entitlement WHERE id IN (SELECT id FROM entitlement ORDER BY id LIMIT 7)")
      _ = try installation.run("rebuild", "--diff")
      _ = try installation.run("rebuild", "--apply")
      daemon = try installation.start()
      try DailyReconciliationTests.wait(
        for: "subledger_recovery_success_time_seconds", daemon)
      try post()
    }

    private func post() throws {
      let installation = store.installation
      let end = JSONValue.integer(Sample.start + 1461 * Sample.day)
      let token = JSONValue.string(Self.account)
      var all = [
        Sample.notification(1, otid: "7000", type: "SUBSCRIBED")
          .setting("data.transaction.expiresDate", end),
        Sample.notification(9, otid: "7001", type: "ONE_TIME_CHARGE")
          .setting("data.transaction.type", .string("Non-Consumable"))
          .setting("data.transaction.productId", .string("unlock.lifetime"))
          .setting("data.transaction.expiresDate", nil).setting("data.renewalInfo", nil),
      ].map { $0.setting("data.transaction.appAccountToken", token) }
      all += [("com.example.app", "Sandbox"), ("com.example.games", "Production")].enumerated()
        .flatMap { number, app in
          (0...number).map {
            Sample.notification(
              20 + 2 * number + $0, otid: "90\(number)\($0)", bundleId: app.0, environment: app.1)
          }
        }
      all += RefundListTests.events
      for notification in all { _ = daemon.client().post(try installation.sign(notification)) }
    }
  }

  private static func pictures(_ shop: Shop) -> [Picture] {
    let open = "document.querySelector('.events .line > button').click()"
    let chart = "document.querySelector('.chart svg') && document.querySelector('.bars')"
    let subscription = "#/subscription/\(shop.customer)/Production/com.example.app"
    return [
      Picture(name: "sign-in", route: ""),
      Picture(name: "overview", route: "#/", wait: chart),
      Picture(name: "subscriptions", route: "#/subscriptions"),
      Picture(
        name: "subscription", route: subscription,
        wait: "document.querySelectorAll('.timeline .fill').length > 3"),
      Picture(
        name: "event", route: subscription,
        wait: "document.querySelectorAll('.timeline .fill').length > 3", action: open),
      Picture(
        name: "as-of", route: subscription,
        wait: "document.querySelectorAll('.timeline .fill').length > 3",
        action: "for (let i = 0; i < 3; i += 1) document.getElementById('earlier').click()"),
      Picture(name: "events", route: "#/events"),
      Picture(name: "refunds", route: "#/refunds"),
      Picture(name: "quarantine", route: "#/quarantine"),
      Picture(name: "sinks", route: "#/sinks"), Picture(name: "recovery", route: "#/recovery"),
      Picture(name: "rebuild", route: "#/rebuild"),
      Picture(name: "find", route: "#/find/\(Shop.account)"),
      Picture(name: "nothing-found", route: "#/find/nothing"),
      Picture(name: "customer", route: "#/customer/app_account_token/\(Shop.account)"),
    ]
  }

  private static let emptyPictures = [
    "overview", "subscriptions", "events", "refunds", "reports", "quarantine", "sinks", "recovery",
    "rebuild",
  ].map { Picture(name: "empty-\($0)", route: $0 == "overview" ? "#/" : "#/\($0)") }

  private func take(_ pictures: [Picture], _ daemon: RunningDaemon, to folder: URL) throws {
    for width in [1280, 390] {
      for isDark in [false, true] {
        let browser = try Browser(width: width, height: width > 500 ? 800 : 844, isDark: isDark)
        try browser.open("http://127.0.0.1:\(daemon.port)/")
        try browser.wait("document.activeElement?.id === 'token'")
        for picture in pictures {
          if !picture.route.isEmpty {
            if try browser.count("#token") == 1 {
              try browser.type(Installation.token)
              try browser.pressEnter()
              try browser.wait("document.querySelector('.tiles')")
            }
            try browser.value(
              "document.querySelector('main').replaceChildren(); location.hash = '#/x'")
            try browser.value("location.hash = '\(picture.route)'")
          }
          try browser.wait(picture.wait)
          usleep(500_000)
          try browser.value(picture.action)
          usleep(500_000)
          try browser.value("document.activeElement.blur()")
          let name = "\(picture.name)-\(width)-\(isDark ? "dark" : "light").png"
          try browser.screenshot(height: picture.height ?? 2400)
            .write(to: folder.appending(path: name))
        }
        #expect(browser.pageErrors == [])
      }
    }
  }

  @Test func `every page has its picture taken in every size and colour scheme`() throws {
    let folder = URL(filePath: try #require(Browser.screenshots))
    let shop = try Shop()
    try take(Self.pictures(shop), shop.daemon, to: folder)
    let installation = try Installation()
    try take(Self.emptyPictures, try installation.start(), to: folder)
  }
}
