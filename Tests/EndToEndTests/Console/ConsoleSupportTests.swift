import Foundation
import StrictJSON
import Support
import Testing

/// What support does in the console, in a real browser: `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleSupportTests {
  private static let account = "0a1b2c3d-0000-4000-8000-00000000abcd"
  private static let page = "#/customer/app_account_token/\(account)"
  private static let reader = "token-that-may-only-read"

  /// Two purchases of one customer, and the rights of the token that signs in.
  private static func session(_ rights: [String], width: Int = 1280) throws -> ConsoleSession {
    let installation = try Installation.withTwoPurchases()
    let may = ("may", JSONValue.array(rights.map(JSONValue.string)))
    try installation.extendConfiguration([
      (
        "readTokens",
        .array([
          Installation.token("support", Installation.token, [may]),
          Installation.token("reader", reader, []),
        ])
      )
    ])
    return try ConsoleSession(installation, width: width)
  }

  private static func grants(_ session: ConsoleSession) throws -> [JSONElement] {
    try #require(session.daemon.client().get("/v1/customers/\(account)/grants")?.json?["items"])
      .elements
  }

  /// Waits until the page has a text.
  private static func wait(_ text: String, _ browser: Browser) throws {
    try browser.wait("document.querySelector('main')?.textContent.includes('\(text)')")
  }

  private static func choose(_ label: String, _ value: String, _ browser: Browser) throws {
    try browser.value(
      """
      (() => {
        const it = document.getElementById('\(label)');
        it.value = '\(value)';
        it.dispatchEvent(new Event('change'));
      })()
      """)
  }

  private static func giveReason(_ reason: String, _ browser: Browser) throws {
    try browser.value("document.getElementById('reason').focus()")
    try browser.type(reason)
    try browser.pressEnter()
    try browser.wait("document.activeElement?.id === 'confirm'")
  }

  @Test(arguments: [1280, 390])
  func `a month is given to a customer and taken back, each confirmed and with a reason`(
    width: Int
  ) throws {
    let session = try Self.session(["read", "grant"], width: width)
    let browser = session.browser
    try session.enter()
    try session.show(Self.page)
    #expect(try browser.text("#entitlements").contains("basicNot active"))
    try browser.click("#grant")
    try browser.wait("document.getElementById('f-entitlement')")
    try Self.choose("f-entitlement", "basic", browser)
    // Without a reason there is nothing to confirm.
    try browser.click(".said button.main")
    #expect(try browser.count("#confirm") == 0)
    try Self.giveReason("the outage of May", browser)
    let asked = try browser.text(".said")
    #expect(asked.contains("basic until ") && asked.contains("Because: the outage of May"))
    #expect(try Self.grants(session).isEmpty, "nothing is said before it is confirmed")
    try browser.click("#confirm")
    try browser.wait("document.querySelector('#entitlements').textContent.includes('basicActive')")
    let given = try #require(try Self.grants(session).first)
    #expect(given["reason"]?.string == "the outage of May")
    #expect(given["granted_by"]?.string == "support")
    let length = (given["until"]?.integer ?? 0) - (given["granted_at"]?.integer ?? 0)
    #expect((30 * Sample.day...30 * Sample.day + 60_000).contains(length))
    #expect(try browser.text("main").contains("In force"))
    try browser.click("td button")
    try browser.wait("document.getElementById('reason')")
    try Self.giveReason("given to the wrong customer", browser)
    try browser.click("#confirm")
    try Self.wait("by support: given to the wrong customer", browser)
    let ended = try #require(try Self.grants(session).first)
    #expect(ended["revoked_by"]?.string == "support")
    #expect(ended["revocation_reason"]?.string == "given to the wrong customer")
    #expect(try browser.text("#entitlements").contains("basicNot active"))
    session.expectNoErrors()
  }

  @Test func `a customer's page has names at a moment, money, and all purchases on one timeline`()
    throws
  {
    let session = try Self.session(["read"])
    let browser = session.browser
    try session.enter()
    try session.show(Self.page, until: "document.querySelectorAll('.lane').length > 4")
    let lanes = try browser.value(
      "[...document.querySelectorAll('.timeline .lane')].map((it) => it.textContent).join()")
    #expect(lanes as? String == "pro,remove_ads,pro.monthly,unlock.lifetime,Notifications")
    let money = try browser.text("section[aria-labelledby=h-money]")
    #expect(money.contains("USD") && money.contains("49.95 USD"), "\(money)")
    #expect(try browser.text("#moment-text").hasPrefix("Now: pro, remove_ads"))
    // The purchase for ever is the newest event: before it, only the subscription gave a name.
    try browser.click("#earlier")
    try browser.click("#earlier")
    try browser.wait(
      "document.getElementById('moment-text').textContent.endsWith(': pro')")
    try Self.wait("Entitlements as of 2026-01-01", browser)
    try browser.click("#now")
    // Each event leads to its purchase, and each purchase to the customer.
    try browser.click(".events .line > a")
    try browser.wait("document.querySelector('.ids a')")
    #expect(try browser.text(".ids a") == "Customer")
    try browser.click(".ids a")
    try browser.wait("document.querySelector('main h1')?.textContent === 'Customer'")
    session.expectNoErrors()
  }

  @Test func `who may not grant sees what was granted, and no button`() throws {
    let session = try Self.session(["read", "grant"])
    let browser = session.browser
    let body = Array(#"{"entitlement":"basic","reason":"a gift"}"#.utf8)
    let answer = session.daemon.client().send(
      "POST /v1/customers/\(Self.account)/grants HTTP/1.1\r\nHost: x\r\n"
        + "Content-Type: application/json\r\nAuthorization: Bearer \(Installation.token)\r\n"
        + "Content-Length: \(body.count)\r\n\r\n", body)
    #expect(answer?.status == 200)
    try session.enter(Self.reader)
    try session.show(Self.page)
    #expect(try browser.text("main").contains("a gift"))
    #expect(try browser.count("#grant") == 0 && browser.count("td button") == 0)
    session.expectNoErrors()
  }

  /// The token is in the tab's storage and in no cookie, so another site cannot use it; and it
  /// cannot show the console in a frame, to have a person click there.
  @Test func `another site can neither grant nor frame the console`() throws {
    let session = try Self.session(["read", "grant"])
    let browser = session.browser
    try session.enter()
    let address = "http://127.0.0.1:\(session.daemon.port)"
    let page = session.installation.folder.appending(path: "other.html")
    try Data("<!doctype html><iframe src='\(address)/console'></iframe>".utf8).write(to: page)
    try browser.open(page.absoluteString)
    let path = "\(address)/v1/customers/\(Self.account)/grants"
    for type in ["application/json", "text/plain"] {
      let outcome = try browser.value(
        """
        fetch('\(path)', { method: 'POST', credentials: 'include',
          headers: { 'Content-Type': '\(type)' }, body: '{"entitlement":"basic"}' })
          .then((it) => it.status, () => 'refused')
        """)
      #expect(outcome as? String == "refused")
    }
    #expect(try Self.grants(session).isEmpty)
    try browser.wait("performance.getEntriesByType('resource').length > 0")
    let refusals = browser.pageErrors + browser.failedRequests
    #expect(refusals.contains { $0.contains("frame") }, "\(refusals)")
  }

  @Test func `an order id in Find asks Apple, where the token may`() throws {
    let connected = try ConnectedInstallation([
      "--customers", "10", "--days", "60", "--behind", "60",
    ])
    let report = try connected.store.control(#"{"advance":\#(60 * Sample.day)}"#)
    #expect(report["production"]?["failures"]?.integer == 0)
    let may = ("may", JSONValue.array([.string("read"), .string("lookup")]))
    try connected.installation.extendConfiguration([
      (
        "readTokens",
        .array([
          Installation.token("support", Installation.token, [may]),
          Installation.token("reader", Self.reader, []),
        ])
      )
    ])
    try connected.daemon.reload()
    let path = "/v1/entitlements?environment=Production&limit=1"
    let row = try #require(connected.daemon.client().get(path)?.json?["items"]?.elements.first)
    let order = "M" + (row["transaction_id"]?.string ?? "")
    let original = try #require(row["original_transaction_id"]?.string)
    for (id, status) in [(order, 200), ("MUNKNOWN", 200), ("123", 400)] {
      let answer = try #require(connected.daemon.client().get("/v1/orders/\(id)"))
      #expect(answer.status == status, "\(answer)")
      let found = answer.json?["items"]?.elements ?? []
      #expect(found.count == (id == order ? 1 : 0))
      #expect(found.allSatisfy { $0["journaled"]?.boolean == true })
    }
    #expect(connected.daemon.client().get("/v1/orders/M1", token: Self.reader)?.status == 403)
    let session = try ConsoleSession(connected.installation, connected.daemon)
    try session.enter()
    try session.find(order.lowercased())
    try Self.wait("Apple knows this order", session.browser)
    try session.browser.click("main ul.rows a")
    try session.browser.wait("document.querySelector('.ids')")
    #expect(try session.browser.text(".ids").contains(original))
    try session.find("MUNKNOWN")
    try Self.wait("Apple does not know this order id", session.browser)
    session.expectNoErrors()
  }
}
