import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// The console in a real browser: `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleTests {
  // MARK: Signing in

  @Test func `a wrong token shows an error, and a right one is kept until sign-out`() throws {
    let session = try ConsoleSession(try Installation())
    let browser = session.browser
    for wrong in ["wrong", "pass wörd", Installation.token.uppercased()] {
      // The alert of the previous attempt would be mistaken for the answer to this one.
      try browser.value("document.querySelector('[role=alert]')?.remove()")
      try session.signIn(wrong)
      try browser.wait("document.querySelector('[role=alert]')")
      #expect(try browser.text("[role=alert]") == "This token is not valid.")
      #expect(try browser.count(".tiles") == 0)
      #expect(try browser.holds("document.querySelector('nav').hidden"))
      #expect(try browser.holds("sessionStorage.length === 0"))
    }
    try session.enter()
    // Only this tab's session storage has it.
    let elsewhere = "JSON.stringify([location.href, document.cookie, {...localStorage}])"
    let stored = try browser.value(elsewhere) as? String ?? Installation.token
    #expect(!stored.contains(Installation.token))
    #expect(try browser.holds("Object.values(sessionStorage).join() === '\(Installation.token)'"))
    #expect(try !browser.holds("document.documentElement.outerHTML.includes('4711')"))
    try browser.call("Page.reload")
    try browser.wait("document.querySelector('.tiles')")
    try browser.click("#sign-out")
    try browser.wait("document.activeElement?.id === 'token'")
    #expect(try browser.holds("sessionStorage.length === 0"))
    try browser.call("Page.reload")
    try browser.wait("document.activeElement?.id === 'token'")
    #expect(try browser.count(".tiles") == 0)
    // One that became invalid is forgotten too.
    try browser.value("sessionStorage.setItem('subledger-token', 'old')")
    try browser.call("Page.reload")
    try browser.wait("document.querySelector('[role=alert]')")
    #expect(try browser.holds("sessionStorage.length === 0"))
    session.expectNoErrors()
  }

  @Test func `every page says what is missing while the journal is empty`() throws {
    let session = try ConsoleSession(try Installation())
    try session.enter()
    let overview = try session.browser.text("main")
    #expect(overview.contains("None yet"))
    #expect(overview.contains("No notification in the last 24 hours"))
    #expect(overview.contains("com.example.app") && overview.contains("No notification yet"))
    for (page, text) in [
      ("subscriptions", "No subscription in Production yet"),
      ("events", "No event in Production yet"), ("quarantine", "Quarantine is empty"),
      ("sinks", "No sink is configured"), ("recovery", "no app has a key"),
      ("rebuild", "No comparison was made yet"), ("find/7000", "Nothing is known under “7000”"),
    ] {
      try session.show("#/\(page)")
      #expect(try session.browser.text("main").contains(text), "\(page)")
    }
    session.expectNoErrors()
  }

  // MARK: Recovery

  @Test func `the overview says that Apple is not asked, and what to do about it`() throws {
    let session = try ConsoleSession(try Installation())
    try session.enter()
    let card = try session.browser.text("section[aria-labelledby=h-recovery]")
    #expect(card.contains("Apple is not asked for what was missed: no app has a key"))
    #expect(card.contains("subledger help configuration"))
    #expect(try session.browser.count("section[aria-labelledby=h-recovery] p") == 1)
    session.expectNoErrors()
  }

  @Test(arguments: [false, true])
  func `the overview shows the last recovery, the last reconciliation and errors`(
    isRefused: Bool
  ) throws {
    let (store, _) = try DailyReconciliationTests.begun()
    if isRefused {
      try store.control(
        #"{"faults":[{"kind":"unauthenticated","path":"/inApps/v1/subscriptions"}]}"#)
    }
    let session = try ConsoleSession(store.installation, isDark: isRefused)
    try DailyReconciliationTests.wait(
      for: isRefused
        ? "subledger_reconciliation_failures_total"
        : "subledger_reconciliation_success_time_seconds", session.daemon)
    try session.enter()
    let rows = try session.browser.text("#recovery")
    #expect(rows.contains("com.example.app Production") && rows.contains("Recovery "))
    #expect(rows.contains(" due, ") != isRefused, "\(rows)")
    #expect(rows.contains("nobody was asked about") == isRefused, "\(rows)")
    #expect(try session.browser.count("#recovery .tag.red") == (isRefused ? 1 : 0), "\(rows)")
    #expect(rows.contains("Apple refused the token (401)") == isRefused, "\(rows)")
    let card = try session.browser.text("section[aria-labelledby=h-recovery]")
    #expect(card.contains("Next recovery in"), "\(card)")
    try session.show("#/?environment=Sandbox")
    try session.browser.wait("document.querySelector('#recovery')")
    let sandbox = try session.browser.text("#recovery")
    #expect(sandbox.contains("Sandbox") && sandbox.contains("nobody was due"), "\(sandbox)")
    try session.show("#/recovery")
    let page = try session.browser.text("main")
    #expect(page.contains("Listed by Apple") && page.contains("the daemon started"), "\(page)")
    #expect(page.contains("Customers asked about"), "\(page)")
    #expect(page.contains("Apple refused the token (401)") == isRefused, "\(page)")
    session.expectNoErrors()
  }

  @Test func `the overview says that the configured mapping is not in force`() throws {
    let installation = try Installation.withTwoPurchases()
    try installation.extendConfiguration([Installation.entitlements])
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let lines = try (100..<125).map { number in
      try installation.sign(
        Sample.notification(number, otid: "\(7_000 + number)")
          .setting("data.transaction.purchaseDate", .integer(now - Sample.day))
          .setting("data.transaction.expiresDate", .integer(now + 20 * Sample.day)))
    }
    #expect(try installation.run("ingest", try installation.file("many", lines)).code == 0)
    let session = try ConsoleSession(installation)
    try session.enter()
    #expect(try session.browser.count("#refused-mapping") == 0)
    try installation.extendConfiguration([
      ("entitlements", .object([("pro", .array([.string("pro.yearly")]))]))
    ])
    session.daemon.command.signal(SIGHUP)
    try session.daemon.logged("mapping_refused")
    try session.show("#/subscriptions")
    try session.show("#/")
    try session.browser.wait("document.querySelector('#refused-mapping')")
    let text = try session.browser.text("#refused-mapping")
    #expect(text.contains("pro would be lost by 2"), "\(text)")
    #expect(text.contains("com.example.app, Production; the limit is 5 %"), "\(text)")
    session.expectNoErrors()
  }

  // MARK: A customer

  @Test func `a customer is found by any of the three ids`() throws {
    let session = try ConsoleSession(try Installation.withCustomer())
    try session.enter()
    for id in ["7000", "0A1B2C3D-0000-4000-8000-00000000abcd", "704000000000000001"] {
      try session.show("#/events")
      try session.find(id)
      try session.browser.wait("document.querySelector('.timeline .fill')")
      try session.browser.wait(for: "pro.monthly", in: "#who")
      #expect(try session.browser.text(".ids .id") == "7000", "\(id)")
    }
    try session.find("no such/id?")
    try session.browser.wait("document.querySelector('main .plain')")
    #expect(try session.browser.text("main h2") == "Nothing is known under “no such/id?”")
    session.expectNoErrors()
    #expect(session.browser.failedRequests == [])
  }

  @Test func `a seat and its offer are shown in words`() throws {
    let installation = try Installation()
    let seat = Sample.notification(1, type: "SUBSCRIBED")
      .setting("data.transaction.inAppOwnershipType", .string("ASSIGNED"))
      .setting("data.transaction.offerType", .integer(5))
      .setting("data.transaction.offerIdentifier", .string("stay"))
    let withdrawn = seat.setting("notificationUUID", .string(Sample.uuid(2)))
      .setting("notificationType", .string("REVOKE"))
      .setting("signedDate", .integer(Sample.start + 120_000))
      .setting("data.transaction.signedDate", .integer(Sample.start + 120_000))
      .setting("data.transaction.revocationDate", .integer(Sample.start + 120_000))
      .setting("data.transaction.revocationType", .string("ASSIGNMENT_REVOKE"))
    let lines = try [seat, withdrawn].map(installation.sign)
    let ingested = try installation.run("ingest", try installation.file("lines", lines))
    #expect(ingested.code == 0, "\(ingested)")
    let session = try ConsoleSession(installation)
    try session.enter()
    try session.show("#/find/7000", until: "document.querySelector('.sentence')")
    let sentence = try session.browser.text(".sentence")
    #expect(sentence.contains("No access: the assigned seat was withdrawn on 1 January 2026"))
    #expect(try session.browser.text(".who .pill") == "Revoked")
    #expect(sentence.contains("A seat that was assigned to this customer."))
    #expect(sentence.contains("Bought with an offer (stay)."))
    #expect(try session.browser.text(".events").contains("assigned seat withdrawn"))
    session.expectNoErrors()
  }

  @Test func `a consumable gives no access, and its reversed refund gave nothing back`() throws {
    let installation = try Installation()
    let lines = try ["ONE_TIME_CHARGE", "REFUND", "REFUND_REVERSED"].enumerated().map {
      (number, type) in
      try installation.sign(
        Sample.notification(number + 1, type: type)
          .setting("data.renewalInfo", nil)
          .setting("data.transaction.transactionId", .string("7000"))
          .setting("data.transaction.type", .string("Consumable"))
          .setting("data.transaction.expiresDate", nil)
          // Apple signs a purchase some seconds after it.
          .setting("data.transaction.purchaseDate", .integer(Sample.start - 2_000))
          .setting("data.transaction.price", .integer(9_990))
          .setting("data.transaction.currency", .string("EUR"))
          .setting(
            "data.transaction.revocationDate",
            type == "REFUND" ? .integer(Sample.start + 60_000) : nil
          )
          .setting(
            "data.transaction.revocationPercentage", type == "REFUND" ? .integer(40_000) : nil))
    }
    let ingested = try installation.run("ingest", try installation.file("lines", lines))
    #expect(ingested.code == 0, "\(ingested)")
    let session = try ConsoleSession(installation)
    try session.enter()
    try session.find("7000")
    try session.browser.wait("document.querySelector('.timeline .bar')")
    #expect(try !session.browser.text(".timeline").contains("Access"))
    #expect(
      try session.browser.text(".sentence").hasPrefix(
        "Bought, and gives no access, as no consumable does. The price is 9.99 EUR."))
    let amounts = "[...document.querySelectorAll('.events .sum')].map((it) => it.textContent)"
    #expect(
      try session.browser.value(amounts) as? [String] == [
        "pro.monthly", "−3.996 EURpro.monthly", "9.99 EURpro.monthly",
      ])
    session.expectNoErrors()
    #expect(session.browser.failedRequests == [])
  }

  /// That the row is that of the slider's time: its date is there first, and what it says then.
  private static let showsItsMoment = """
    document.querySelector('.who .tag')?.textContent === \
    'as of ' + document.querySelector('#moment-text').textContent.slice(6, 22) && \
    document.querySelector('.who .pill').textContent === \
    document.querySelector('#moment-text').textContent.split(': ').pop()
    """

  @Test func `the slider shows the row as of its time`() throws {
    let session = try ConsoleSession(try Installation.withCustomer())
    let (browser, client) = (session.browser, session.daemon.client())
    try session.enter()
    try session.show(
      "#/find/7000", until: "document.querySelectorAll('.timeline .fill').length > 3")
    let now = try browser.text(".who .pill")
    #expect(now == "Expired" || now == "Refunded", "\(now)")
    #expect(try browser.text("#moment-text").hasPrefix("Now: "))
    // From event to event, with the mouse.
    try browser.click("#earlier")
    // The row of the moment is taller than that of now: what is below it moves when it comes.
    try browser.wait(Self.showsItsMoment)
    #expect(try browser.text("#moment-text") == "As of 2026-01-01 01:30:00 UTC: Refunded")
    try browser.click("#earlier")
    try browser.wait("document.querySelector('.who .pill').textContent === 'Active'")
    #expect(
      try browser.text(".sentence").hasPrefix(
        "Has access to pro.monthly. The period that began on 1 January"))
    #expect(try browser.count(".changed") > 0)
    // Events that were signed later are greyed out.
    #expect(try browser.count(".events .future") > 0)
    // With the keyboard: at any position, the row equals what the route answers.
    try browser.value("document.getElementById('moment').focus()")
    for _ in 0..<12 { try browser.press("ArrowRight", code: 39) }
    try browser.wait(Self.showsItsMoment)
    let shown = try browser.text("#moment-text")
    let time = shown.dropFirst(6).prefix(19).replacingOccurrences(of: " ", with: "T") + "Z"
    let row = try #require(client.get("/v1/entitlements/7000?as_of=\(time)")?.json)
    let names = [
      "active": "Active", "revoked": "Refunded", "expired": "Expired",
      "grace_period": "Grace period",
    ]
    let name = try #require(names[row["status"]?.string ?? ""])
    #expect(shown.hasSuffix(name), "\(shown)")
    #expect(try browser.text(".who .pill") == name)
    try browser.click("#now")
    try browser.wait("document.querySelector('.who .pill').textContent === '\(now)'")
    #expect(try browser.count(".who .tag") == 0)
    session.expectNoErrors()
  }

  @Test func `an event opens and closes with its details`() throws {
    let session = try ConsoleSession(try Installation.withCustomer())
    let browser = session.browser
    try session.enter()
    try session.show("#/find/7000", until: "document.querySelector('.events [data-key]')")
    // Sorted by the date that is shown, newest first.
    let keys = "[...document.querySelectorAll('[data-key]')].filter((it) => it.matches('li'))"
    let shown = try browser.value("\(keys).map((it) => it.dataset.key).join(' ')") as? String
    #expect(shown == "e3 e2 q1 e4 e1")
    let times = try browser.value("\(keys).map((it) => Number(it.dataset.time))") as? [Int] ?? []
    #expect(times.count == 5 && times == times.sorted(by: >))
    let quarantined = try browser.text("li[data-key=q1]")
    #expect(quarantined.contains("in quarantine: conflict") && quarantined.contains("id 1"))
    let late = "li[data-key=e4]"
    #expect(try browser.text("\(late) b") == "auto-renewal turned off")
    #expect(try browser.text("\(late) .tags").contains("late by"))
    #expect(try browser.text("\(late) .tags").contains("1 duplicate"))
    #expect(try browser.text("\(late) .sum") == "pro.monthly")
    #expect(try browser.count(".timeline .late") == 1)
    try browser.click("\(late) .line > button")
    try browser.wait("document.querySelector('\(late) .open')")
    let open = try browser.text("\(late) .open")
    #expect(open.contains("The row did not change.") && open.contains("2026-01-01 00:03:00 UTC"))
    #expect(open.contains("\"signedRenewalInfo\": {") && open.contains("\"autoRenewStatus\": 0"))
    #expect(try browser.holds("document.activeElement.getAttribute('aria-expanded') === 'true'"))
    // Closed with the keyboard, and another one opened by its mark in the chart.
    try browser.pressEnter()
    try browser.wait("!document.querySelector('\(late) .open')")
    try browser.click(".timeline .dot[data-key=e1]")
    try browser.wait("document.querySelector('li[data-key=e1] .open')")
    let last = try browser.text("li[data-key=e1] .open")
    #expect(last.contains("gives_access") && last.contains("INITIAL_BUY"))
    session.expectNoErrors()
  }

  /// Text that Apple would never send, but a sandbox account might.
  @Test func `hostile text is shown as text and never as markup`() throws {
    let installation = try Installation()
    let text = "<img src=x onerror=alert(1)><script>window.bad = 1</script>"
    let lines = try (1...2).map { number in
      try installation.sign(
        Sample.notification(number).setting("subtype", .string(text))
          .setting("data.transaction.productId", .string(text))
          .setting("data.transaction.appAccountToken", .string(text)))
    }
    #expect(try installation.run("ingest", try installation.file("odd", lines)).code == 0)
    let session = try ConsoleSession(installation)
    try session.enter()
    try session.show("#/find/7000", until: "document.querySelector('.timeline .bar')")
    try session.browser.click(".events .line > button")
    try session.browser.wait(for: text, in: "#who")
    #expect(try session.browser.text("#who") == text)
    #expect(try session.browser.count("main img, main script") == 0)
    #expect(try session.browser.value("window.bad") == nil)
    session.expectNoErrors()
  }

  // MARK: Rebuild

  @Test func `the last comparison is shown with links to its customers`() throws {
    let installation = try Installation.renewing(4)
    try installation.executeInProjection(
      "DELETE FROM entitlement WHERE original_transaction_id = '70002'")
    let at = Sample.start + 3 * Sample.day
    #expect(try installation.run("rebuild", "--diff", "--at", "\(at)").code == 1)
    let session = try ConsoleSession(installation)
    try session.enter()
    try session.show("#/rebuild", until: "document.querySelector('.rows a')")
    #expect(
      try session.browser.text("main .note")
        == "1 subscription would gain access, none would lose it.")
    try session.browser.click(".rows a")
    try session.browser.wait("location.hash !== '#/rebuild'")
    #expect(
      try session.browser.value("location.hash") as? String
        == "#/subscription/70002/Production/com.example.app")
    session.expectNoErrors()
  }
}
