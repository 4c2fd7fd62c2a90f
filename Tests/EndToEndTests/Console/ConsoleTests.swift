import Foundation
import Simulator
import StrictJSON
import Support
import Testing

/// The console in a real browser: `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleTests {
  /// A daemon with a journal, and a browser at the console's sign-in page.
  private struct Session {
    let installation: Installation
    let daemon: RunningDaemon
    let browser: Browser

    init(_ installation: Installation, width: Int = 1280, isDark: Bool = false) throws {
      self.installation = installation
      daemon = try installation.start()
      browser = try Browser(width: width, isDark: isDark)
      try browser.open("http://127.0.0.1:\(daemon.port)/console")
      try browser.wait("document.activeElement?.id === 'token'")
    }

    func signIn(_ token: String = Installation.token) throws {
      try browser.type(token)
      try browser.pressEnter()
    }

    func enter() throws {
      try signIn()
      try browser.wait("document.querySelector('.tiles')")
    }

    func show(_ route: String, until expression: String) throws {
      try browser.value("location.hash = '\(route)'")
      try browser.wait(expression)
    }

    /// Expects no exception and no violation of the content security policy.
    func expectNoErrors() { #expect(browser.pageErrors == []) }
  }

  /// A customer with a purchase, a renewal, a refund, and a cancellation that was delivered late
  /// and twice.
  private func customer() throws -> Installation {
    let installation = try Installation()
    let token = JSONValue.string("0a1b2c3d-0000-4000-8000-00000000abcd")
    let all = [
      Sample.notification(1, type: "SUBSCRIBED").setting("subtype", .string("INITIAL_BUY")),
      Sample.notification(5),
      Sample.notification(90, type: "REFUND")
        .setting("data.transaction.transactionId", .string("70005"))
        .setting("data.transaction.purchaseDate", .integer(Sample.start + 5 * 60_000))
        .setting("data.transaction.revocationDate", .integer(Sample.start + 80 * 60_000)),
      Sample.notification(3, type: "DID_CHANGE_RENEWAL_STATUS")
        .setting("subtype", .string("AUTO_RENEW_DISABLED"))
        .setting("data.renewalInfo.autoRenewStatus", .integer(0)),
    ].map {
      $0.setting("data.transaction.appAccountToken", token)
        .setting("data.transaction.appTransactionId", .string("704000000000000001"))
    }
    var bodies = try all.map(installation.sign)
    // The same again, and other content under its UUID, which goes to quarantine.
    bodies += [bodies[3], try installation.sign(all[3].setting("subtype", nil))]
    let lines = bodies.enumerated().map { number, body in
      let time = Sample.start + Int64(91 + number) * 60_000
      return Array("{\"received_at_ms\":\(time),\"body\":".utf8) + body + Array("}".utf8)
    }
    let finished = try installation.run("ingest", try installation.file("customer", lines))
    #expect(finished.code == 0, "\(finished)")
    return installation
  }

  // MARK: Signing in

  @Test func `a wrong token shows an error, and a right one is held in memory only`() throws {
    let session = try Session(try Installation())
    for wrong in ["wrong", "pass wörd", Installation.token.uppercased()] {
      // The alert of the previous attempt would be mistaken for the answer to this one.
      try session.browser.value("document.querySelector('[role=alert]')?.remove()")
      try session.signIn(wrong)
      try session.browser.wait("document.querySelector('[role=alert]')")
      #expect(try session.browser.text("[role=alert]") == "This token is not valid.")
      #expect(try session.browser.count(".tiles") == 0)
      #expect(try session.browser.holds("document.querySelector('nav').hidden"))
    }
    try session.enter()
    // The token is only in memory: a reload forgets it.
    let storage =
      "JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage}])"
    let stored = try session.browser.value(storage) as? String ?? Installation.token
    #expect(!stored.contains(Installation.token))
    #expect(try !session.browser.holds("document.documentElement.outerHTML.includes('4711')"))
    try session.browser.call("Page.reload")
    try session.browser.wait("document.activeElement?.id === 'token'")
    try session.enter()
    try session.browser.click("#sign-out")
    try session.browser.wait("document.activeElement?.id === 'token'")
    session.expectNoErrors()
  }

  @Test func `every page says what is missing while the journal is empty`() throws {
    let session = try Session(try Installation())
    try session.enter()
    let overview = try session.browser.text("main")
    #expect(
      overview.contains("none yet") && overview.contains("No notifications in the last 24 hours"))
    #expect(overview.contains("com.example.app") && overview.contains("Nothing journaled yet"))
    try session.show("#/customer", until: "document.querySelector('main .note')")
    #expect(try session.browser.text("main .note").contains("There is no customer yet"))
    try session.show("#/rebuild", until: "document.querySelector('main h2')")
    #expect(try session.browser.text("main h2") == "No comparison was made yet")
    session.expectNoErrors()
  }

  // MARK: Recovery

  @Test func `the overview says that Apple is not asked, and what to do about it`() throws {
    let session = try Session(try Installation())
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
    let session = try Session(store.installation, isDark: isRefused)
    try DailyReconciliationTests.wait(
      for: isRefused
        ? "subledger_reconciliation_failures_total"
        : "subledger_reconciliation_success_time_seconds", session.daemon)
    try session.enter()
    let rows = try session.browser.text("#recovery")
    #expect(rows.contains("com.example.app Production") && rows.contains("Recovery "))
    #expect(rows.contains("nobody was due"), "\(rows)")
    #expect(rows.contains(" due, ") != isRefused, "\(rows)")
    #expect(rows.contains("nobody was asked about") == isRefused, "\(rows)")
    #expect(try session.browser.count("#recovery .tag.red") == (isRefused ? 1 : 0), "\(rows)")
    #expect(rows.contains("Apple refused the token (401)") == isRefused, "\(rows)")
    let next = try session.browser.text("section[aria-labelledby=h-recovery] .head .soft")
    #expect(next.contains("next recovery in") && next.contains("next reconciliation"))
    session.expectNoErrors()
  }

  // MARK: A customer

  @Test func `a customer is found by any of the three ids`() throws {
    let session = try Session(try customer())
    try session.enter()
    for id in ["7000", "0A1B2C3D-0000-4000-8000-00000000abcd", "704000000000000001"] {
      try session.show("#/customer", until: "document.activeElement?.id === 'q'")
      try session.browser.type(id)
      try session.browser.pressEnter()
      try session.browser.wait("document.querySelector('.timeline .fill')")
      #expect(try session.browser.text("#who") == "pro.monthly", "\(id)")
      #expect(try session.browser.text(".id") == "7000", "\(id)")
    }
    try session.show("#/customer", until: "document.activeElement?.id === 'q'")
    try session.browser.type("no such/id?")
    try session.browser.pressEnter()
    try session.browser.wait("document.querySelector('.note')")
    #expect(try session.browser.text(".note").contains("No customer found with this id"))
    session.expectNoErrors()
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
    let session = try Session(installation)
    try session.enter()
    try session.show("#/customer/7000", until: "document.querySelector('.sentence')")
    let sentence = try session.browser.text(".sentence")
    #expect(sentence.contains("or because family sharing or an assigned seat ended."))
    #expect(sentence.contains("A seat that was assigned to this customer."))
    #expect(sentence.contains("Bought with a retention offer (stay)."))
    #expect(try session.browser.text(".events").contains("assigned seat withdrawn"))
    session.expectNoErrors()
  }

  @Test func `the slider shows the row as of its time`() throws {
    let session = try Session(try customer())
    let (browser, client) = (session.browser, session.daemon.client())
    try session.enter()
    try session.show(
      "#/customer/7000", until: "document.querySelectorAll('.timeline .fill').length > 3")
    let now = try browser.text(".who .pill")
    #expect(now == "Expired" || now == "Revoked", "\(now)")
    #expect(try browser.text("#moment-text").hasPrefix("Now: "))
    // From event to event, with the mouse.
    try browser.click("#earlier")
    try browser.wait("document.querySelector('#moment-text').textContent.startsWith('As of')")
    #expect(try browser.text("#moment-text") == "As of 2026-01-01 01:30:00 UTC: Revoked")
    try browser.click("#earlier")
    try browser.wait("document.querySelector('.who .pill').textContent === 'Active'")
    #expect(
      try browser.text(".sentence").hasPrefix("Has access. The period that began on 1 January"))
    #expect(try browser.count(".changed") > 0)
    // Events that were signed later are greyed out.
    #expect(try browser.count(".events .future") > 0)
    // With the keyboard: at any position, the row equals what the route answers.
    try browser.value("document.getElementById('moment').focus()")
    for _ in 0..<12 { try browser.press("ArrowRight", code: 39) }
    usleep(400_000)
    let shown = try browser.text("#moment-text")
    let time = shown.dropFirst(6).prefix(19).replacingOccurrences(of: " ", with: "T") + "Z"
    let row = try #require(client.get("/v1/entitlements/7000?as_of=\(time)")?.json)
    let names = [
      "active": "Active", "revoked": "Revoked", "expired": "Expired",
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
    let session = try Session(try customer())
    let browser = session.browser
    try session.enter()
    try session.show("#/customer/7000", until: "document.querySelector('.events li')")
    #expect(try browser.count(".events > li") == 5)
    let quarantined = try browser.text(".events > li:nth-child(1)")
    #expect(quarantined.contains("in quarantine: conflict") && quarantined.contains("id 1"))
    let first = ".events > li:nth-child(2)"
    #expect(try browser.text("\(first) b") == "auto-renewal turned off")
    #expect(try browser.text("\(first) .tags").contains("late by"))
    #expect(try browser.text("\(first) .tags").contains("redelivered 1×"))
    #expect(try browser.count(".timeline .late") == 1)
    try browser.click("\(first) > button")
    try browser.wait("document.querySelector('\(first) .open')")
    let open = try browser.text("\(first) .open")
    #expect(open.contains("The row did not change.") && open.contains("2026-01-01 00:03:00 UTC"))
    #expect(open.contains("\"signedRenewalInfo\": {") && open.contains("\"autoRenewStatus\": 0"))
    #expect(try browser.holds("document.activeElement.getAttribute('aria-expanded') === 'true'"))
    // Closed with the keyboard, and another one opened by its mark in the chart.
    try browser.pressEnter()
    try browser.wait("!document.querySelector('\(first) .open')")
    try browser.click(".timeline .dot[data-key=e1]")
    try browser.wait("document.querySelector('.events > li:last-child .open')")
    let last = try browser.text(".events > li:last-child .open")
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
    let session = try Session(installation)
    try session.enter()
    try session.show("#/customer/7000", until: "document.querySelector('.timeline .bar')")
    try session.browser.click(".events > li > button")
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
    let session = try Session(installation)
    try session.enter()
    try session.show("#/rebuild", until: "document.querySelector('.rows a')")
    #expect(
      try session.browser.text("main .note") == "1 customer would gain access, none would lose it.")
    try session.browser.click(".rows a")
    try session.browser.wait("document.querySelector('#q')")
    #expect(
      try session.browser.value("location.hash") as? String
        == "#/customer/70002/Production/com.example.app")
    session.expectNoErrors()
  }

  // MARK: Accessibility

  /// At phone and at desktop width; also checks landmarks and headings.
  @Test(arguments: [390, 1280]) func `every page fits the width and every control has a name`(
    width: Int
  ) throws {
    let installation = try Installation()
    let sent = try installation.live(
      customers: 20, days: 200, with: ["grace-recovered", "upgrade"])
    let id = try #require(sent.last?.originalTransactionId)
    let session = try Session(installation, width: width, isDark: width < 500)
    try session.enter()
    for (route, selector) in [
      ("#/", ".chart svg, .bars"), ("#/customer", ".rows a, .note"),
      ("#/customer/\(id)", ".timeline .fill"), ("#/rebuild", "main h2"),
    ] {
      try session.show(route, until: "document.querySelector('\(selector)')")
      usleep(200_000)
      #expect(
        try session.browser.holds("document.documentElement.scrollWidth <= innerWidth"), "\(route)")
      let landmarks = try session.browser.count("body > header, nav[aria-label], main, footer")
      #expect(landmarks == 4, "\(route)")
      let titles = try session.browser.count("h1")
      #expect(titles == 1 || route == "#/customer", "\(route)")
      let nameless = try session.browser.value(
        """
        [...document.querySelectorAll('button, input, a[href], svg, section, select')]
          .filter((it) => !(it.textContent.trim() || it.getAttribute('aria-label') ||
            it.labels?.length || it.getAttribute('aria-labelledby')))
          .map((it) => it.outerHTML.slice(0, 90)).join()
        """)
      #expect(nameless as? String == "", "\(route)")
    }
    session.expectNoErrors()
  }

  @Test func `everything can be reached and used with the keyboard`() throws {
    let session = try Session(try customer())
    let browser = session.browser
    try session.enter()
    var seen: [String] = []
    for _ in 0..<24 {
      try browser.press("Tab", code: 9)
      let name = try browser.value(
        "document.activeElement.textContent.trim() || document.activeElement.id")
      seen.append(name as? String ?? "")
    }
    #expect(seen.contains("Customer") && seen.contains("By outcome") && seen.contains("7 days"))
    let visible =
      "getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement === document.body"
    #expect(try browser.holds(visible))
    try browser.value("document.querySelector('[id=\"c-outcome\"]').focus()")
    try browser.pressEnter()
    try browser.wait("document.querySelector('[id=\"c-outcome\"]').ariaPressed === 'true'")
    #expect(try browser.holds("document.activeElement.id === 'c-outcome'"))
    // What was opened stays open when the page is redrawn.
    try browser.value("document.querySelector('#hours-open').focus()")
    try browser.pressEnter()
    try browser.wait("document.querySelector('#hours').open")
    try browser.value("document.querySelector('[id=\"c-type\"]').click()")
    try browser.wait("document.querySelector('[id=\"c-type\"]').ariaPressed === 'true'")
    #expect(try browser.holds("document.querySelector('#hours').open"))
    session.expectNoErrors()
  }

  @Test func `a stopped daemon is reported`() throws {
    let session = try Session(try customer())
    try session.enter()
    try session.daemon.stop()
    try session.show("#/customer/7000", until: "document.querySelector('[role=alert]')")
    #expect(try session.browser.text("[role=alert]") == "The daemon does not answer.")
    try session.browser.wait("document.querySelector('#health').textContent === 'No answer'")
    session.expectNoErrors()
  }
}
