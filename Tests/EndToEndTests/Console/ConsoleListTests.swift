import Foundation
import StrictJSON
import Support
import Testing

/// The console's lists: what numbers lead to, filters, pages, scope. `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleListTests {
  /// Some subscriptions in both environments, and quarantined notifications.
  private func session(_ width: Int = 1280) throws -> ConsoleSession {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    // The first twenty run until 2030.
    let end = JSONValue.integer(Sample.start + 1461 * Sample.day)
    for number in 1...60 {
      var notification = Sample.notification(number, otid: "\(7_000 + number)")
      if number <= 20 {
        notification = notification.setting("data.transaction.expiresDate", end)
          .setting("data.renewalInfo.renewalDate", end)
      }
      #expect(client.post(try installation.sign(notification))?.status == 200)
    }
    for number in 61...63 {
      let sandbox = Sample.notification(
        number, otid: "\(7_000 + number)", type: "SUBSCRIBED", environment: "Sandbox")
      #expect(client.post(try installation.sign(sandbox))?.status == 200)
    }
    for number in 70..<72 {
      let foreign = Sample.notification(number, otid: "8000", bundleId: "com.example.foreign")
      #expect(client.post(try installation.sign(foreign))?.status == 422)
    }
    let other = Sample.notification(80).setting("data.appAppleId", .integer(4))
    #expect(client.post(try installation.sign(other))?.status == 422)
    return try ConsoleSession(installation, daemon, width: width)
  }

  private func tile(_ number: Int) -> String { ".tiles > :nth-child(\(number)) dd:first-of-type" }

  @Test func `numbers lead to what they count`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter()
    try browser.wait("document.querySelector('.tiles > :nth-child(3) a')")
    #expect(try session.number(tile(1)) == 60 && session.number(tile(4)) == 3)
    let access = try #require(try session.number(tile(3)))
    try browser.click("\(tile(1)) a")
    try browser.wait("document.querySelectorAll('.events > li').length === 50")
    try browser.click(".pager a")
    try browser.wait("document.querySelectorAll('.events > li').length === 10")
    #expect(try browser.text("main .chosen").hasPrefix("Received from 20"))
    try session.show("#/")
    try browser.wait("document.querySelector('.tiles > :nth-child(3) a')")
    try browser.click("\(tile(3)) a")
    try browser.wait("document.querySelector('main .stacked, main .empty')")
    #expect(try browser.text("main h2") == "\(access) subscriptions")
    try session.show("#/")
    try browser.wait("document.querySelector('.bars a')")
    let status = try #require(try session.number(".bars a"))
    try browser.click(".bars a")
    try browser.wait("document.querySelector('main .stacked')")
    #expect(try browser.text("main h2") == "\(status) subscriptions")
    try session.show("#/")
    try browser.wait("document.querySelector('.tiles')")
    try browser.click("\(tile(4)) a")
    try browser.wait("document.querySelectorAll('.events > li').length === 3")
    session.expectNoErrors()
  }

  @Test func `the environment is chosen, Production first`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter()
    #expect(try browser.holds("document.querySelector('#f-environment').value === 'Production'"))
    let choose =
      """
      (() => { const it = document.querySelector('#f-environment'); it.value = 'Sandbox';
        it.dispatchEvent(new Event('change')); })()
      """
    try browser.value(choose)
    try browser.wait("location.hash === '#/?environment=Sandbox'")
    try browser.wait("document.querySelector('.tiles dd')?.textContent === '3'")
    try browser.click("nav [data-page=events]")
    try browser.wait("document.querySelectorAll('.events > li').length === 3")
    #expect(try browser.text(".events").contains("SUBSCRIBED"))
    #expect(try browser.holds("document.querySelector('#f-environment').value === 'Sandbox'"))
    // Both, and one app.
    try session.show("#/events?environment=both&app=com.example.app&type=SUBSCRIBED")
    try browser.wait("document.querySelectorAll('.events > li').length === 3")
    try session.show("#/subscriptions?environment=Sandbox")
    try browser.wait("document.querySelectorAll('.stacked tbody tr').length === 3")
    session.expectNoErrors()
  }

  @Test func `a token of one environment sees its own, and is told what it may not see`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter(Installation.sandboxToken)
    #expect(try browser.holds("document.querySelector('#f-environment').value === 'Sandbox'"))
    #expect(try session.number(tile(1)) == 3 && session.number(tile(4)) == 0)
    for (page, text) in [
      ("subscriptions", "7061"), ("events", "7061"), ("quarantine", "Quarantine is empty"),
      ("sinks", "This token may not see sinks"), ("recovery", "no app has a key"),
      ("rebuild", "No comparison was made yet"), ("find/7001", "Nothing is known"),
    ] {
      try session.show("#/\(page)")
      #expect(try browser.text("main").contains(text), "\(page)")
      #expect(try browser.count("[role=alert]") == 0, "\(page)")
    }
    try session.show("#/find/7061", until: "document.querySelector('.sentence')")
    try browser.wait(for: "pro.monthly", in: "#who")
    session.expectNoErrors()
  }

  @Test func `subscriptions have filters and pages`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter()
    try session.show("#/subscriptions")
    let first = try browser.text(".stacked tbody .id")
    #expect(try browser.count(".stacked tbody tr") == 50 && first == "7001")
    try browser.click(".pager a")
    try browser.wait("document.querySelectorAll('.stacked tbody tr').length === 10")
    #expect(try browser.text(".stacked tbody .id") == "7051")
    #expect(try browser.text(".pager") == "← PreviousNo more")
    try browser.click(".pager a")
    try browser.wait("document.querySelectorAll('.stacked tbody tr').length === 50")
    // After a reload only the first page is known.
    try browser.click(".pager a")
    try browser.wait("document.querySelectorAll('.stacked tbody tr').length === 10")
    try browser.call("Page.reload")
    try browser.wait("document.querySelector('.pager')")
    #expect(try browser.text(".pager a") == "← First page")
    try session.show("#/subscriptions?product=none")
    #expect(try browser.text("main .empty").contains("Nothing matches these filters"))
    try session.show("#/subscriptions?status=revoked")
    #expect(try browser.text("main h2") == "0 subscriptions")
    session.expectNoErrors()
  }

  @Test func `an event of the list opens, is copied, and leads to its subscription`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter()
    try browser.call(
      "Emulation.setTimezoneOverride", [("timezoneId", .string("Asia/Tokyo"))])
    try session.show("#/events")
    try session.keepCopies()
    let newest = ".events > li:first-child"
    #expect(try browser.text("\(newest) .line > a") == "7060")
    try browser.click("\(newest) .line > button")
    try browser.wait("document.querySelector('\(newest) pre')")
    #expect(try browser.text("\(newest) pre").contains("\"originalTransactionId\": \"7060\""))
    let hover =
      try browser.value(
        "document.querySelector('\(newest) .open time').title") as? String ?? ""
    #expect(hover.hasPrefix("2026-01-01 01:00:00 UTC\nLocal: 1 Jan 2026, 10:00:00"), "\(hover)")
    let curl = "curl -s -H \"Authorization: Bearer $TOKEN\""
    for (button, part) in [(1, "\"notificationUUID\""), (2, curl)] {
      try browser.click("\(newest) .copies > :nth-child(\(button))")
      try browser.wait("window.copied?.includes('\(part)')")
      #expect(try !browser.holds("window.copied.includes('4711')"))
    }
    let command = try browser.value("window.copied") as? String ?? ""
    let path = command.split(separator: "'").last?.split(separator: "/", maxSplits: 2).last ?? ""
    let answer = session.daemon.client().get("/\(path)")
    #expect(answer?.json?["items"]?.elements.first?["original_transaction_id"]?.string == "7060")
    try browser.click("\(newest) .line > a")
    try browser.wait("document.querySelector('li[data-key=e60] .open')")
    try browser.wait(for: "pro.monthly", in: "#who")
    session.expectNoErrors()
  }

  @Test func `quarantine is filtered, and its commands do what they say`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter()
    try session.show("#/quarantine")
    #expect(try browser.count(".events > li") == 3)
    #expect(try browser.text("main").contains("for id in 3 2 1; do subledger quarantine admit"))
    try browser.click(".stacked tbody tr:first-child a")
    try browser.wait("document.querySelectorAll('.events > li').length === 2")
    let admit = try browser.text(".command pre")
    #expect(
      try browser.text("[aria-labelledby=h-for-the-2-notifications-of-this-page] pre")
        .hasPrefix("for id in 2 1; do"), "an environment is no option of the command: \(admit)")
    try session.show("#/quarantine?reason=other_app&bundle=com.example.foreign")
    try browser.wait("document.querySelectorAll('.events > li').length === 2")
    let commands = try browser.text("[aria-labelledby=h-for-all-2-notifications-that-match]")
    #expect(
      commands.contains(
        "subledger quarantine drop --app com.example.foreign --reason other_app"))
    try browser.click(".events .line > button")
    try browser.wait("document.querySelector('.events pre')")
    #expect(try browser.text(".events .open").contains("subledger quarantine admit 2"))
    #expect(try browser.text(".events pre").contains("com.example.foreign"))
    let dropped = try session.installation.run(
      "quarantine", "drop", "--app", "com.example.foreign", "--reason", "other_app")
    #expect(dropped.code == 0, "\(dropped)")
    try session.show("#/quarantine")
    try browser.wait("document.querySelectorAll('.events > li').length === 1")
    session.expectNoErrors()
  }

  // MARK: Customers and sinks

  @Test func `a customer is answered by entitlement, and equal renewals are one line`() throws {
    let session = try ConsoleSession(try Installation.withTwoPurchases())
    let browser = session.browser
    try session.enter()
    try session.show("#/find/7000", until: "document.querySelector('.timeline .fill')")
    let named = try browser.text("#entitlements")
    #expect(named.contains("proActive") && named.contains("basicNot active"), "\(named)")
    #expect(named.contains("paid, renews 2030-01-01"), "\(named)")
    #expect(named.contains("remove_adsActiveone-time purchase, without end"), "\(named)")
    #expect(try browser.text("main").contains("Other purchases of this customer"))
    // A purchase and four renewals are two lines; the second one opens to four.
    let lines = "document.querySelectorAll('.events > li > .line').length"
    #expect(try browser.value(lines) as? Int == 2)
    let group = ".events > li:first-child"
    #expect(try browser.text("\(group) b") == "renewed 4 times")
    #expect(try browser.text("\(group) .sum").contains("4 × 9.99 USD"))
    try browser.click("\(group) .line > button")
    try browser.wait("document.querySelectorAll('\(group) .nested > li').length === 4")
    // The account's token has two purchases: its page names both.
    try session.find("0a1b2c3d-0000-4000-8000-00000000abcd")
    try browser.wait("document.querySelector('main h1')?.textContent === 'Find'")
    try browser.click("main p a")
    try browser.wait("document.querySelector('main h1')?.textContent === 'Customer'")
    let page = try browser.text("main")
    #expect(page.contains("7000") && page.contains("7001") && page.contains("Purchases"))
    #expect(try browser.text("#entitlements").contains("by unlock.lifetime"))
    session.expectNoErrors()
  }

  @Test func `sinks are shown with what to do next`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    try world.post(daemon, 1...2, otid: "7001")
    try world.wait(2)
    try world.waitUntil("delivered") { world.sink(daemon)?["lag_events"]?.integer == 0 }
    let session = try ConsoleSession(world.installation, daemon)
    let browser = session.browser
    try session.enter()
    try browser.wait("document.querySelector('[aria-labelledby=h-sinks]')")
    #expect(try browser.text("[aria-labelledby=h-sinks]").contains("backendSendingup to date"))
    try session.show("#/sinks")
    let sink = "[aria-labelledby=h-backend]"
    #expect(try browser.text("\(sink) .pill") == "Sending")
    #expect(try browser.text(sink).contains("subledger sink pause backend"))
    #expect(try !browser.text(sink).contains(world.secret))
    #expect(try world.installation.run("sink", "pause", "backend").code == 0)
    try browser.click("nav [data-page=sinks]")
    try browser.wait("document.querySelector('\(sink) .pill')?.textContent === 'Paused'")
    #expect(try browser.text(sink).contains("subledger sink resume backend"))
    session.expectNoErrors()
  }
}
