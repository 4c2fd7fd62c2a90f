import Foundation
import Simulator
import StrictJSON
import Support
import Testing

/// The console in a real browser: `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleTests {
  private struct Stage {
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

    func show(_ place: String, until expression: String) throws {
      try browser.value("location.hash = '\(place)'")
      try browser.wait(expression)
    }

    /// Neither an exception, nor anything the policy had to forbid.
    func expectQuiet() { #expect(browser.troubles == []) }
  }

  /// A purchase, a renewal, a refund, and a cancellation that came late and again.
  private func life() throws -> Installation {
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
    // The same again, and another one under its uuid: that is kept in quarantine.
    bodies += [bodies[3], try installation.sign(all[3].setting("subtype", nil))]
    let lines = bodies.enumerated().map { number, body in
      let time = Sample.start + Int64(91 + number) * 60_000
      return Array("{\"received_at_ms\":\(time),\"body\":".utf8) + body + Array("}".utf8)
    }
    let finished = try installation.run("ingest", try installation.file("life", lines))
    #expect(finished.code == 0, "\(finished)")
    return installation
  }

  // MARK: The door

  @Test func aWrongTokenStaysOutside() throws {
    let stage = try Stage(try Installation())
    for wrong in ["wrong", "pass wörd", Installation.token.uppercased()] {
      // That of the one before would be taken for the answer to this one.
      try stage.browser.value("document.querySelector('[role=alert]')?.remove()")
      try stage.signIn(wrong)
      try stage.browser.wait("document.querySelector('[role=alert]')")
      #expect(try stage.browser.text("[role=alert]") == "This token is not known here.")
      #expect(try stage.browser.count(".tiles") == 0)
      #expect(try stage.browser.holds("document.querySelector('nav').hidden"))
    }
    try stage.enter()
    // The token is in memory alone: a reload forgets it.
    let places =
      "JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage}])"
    let kept = try stage.browser.value(places) as? String ?? Installation.token
    #expect(!kept.contains(Installation.token))
    #expect(try !stage.browser.holds("document.documentElement.outerHTML.includes('4711')"))
    try stage.browser.call("Page.reload")
    try stage.browser.wait("document.activeElement?.id === 'token'")
    try stage.enter()
    try stage.browser.click("#leave")
    try stage.browser.wait("document.activeElement?.id === 'token'")
    stage.expectQuiet()
  }

  @Test func anEmptyJournal() throws {
    let stage = try Stage(try Installation())
    try stage.enter()
    let overview = try stage.browser.text("main")
    #expect(overview.contains("none yet") && overview.contains("Nothing came in the last 24 hours"))
    #expect(overview.contains("com.example.app") && overview.contains("Nothing journaled yet"))
    try stage.show("#/customer", until: "document.querySelector('main .note')")
    #expect(try stage.browser.text("main .note").contains("There is no customer yet"))
    try stage.show("#/rebuild", until: "document.querySelector('main h2')")
    #expect(try stage.browser.text("main h2") == "No comparison was made yet")
    stage.expectQuiet()
  }

  // MARK: A customer

  @Test func searchByAnyId() throws {
    let stage = try Stage(try life())
    try stage.enter()
    for id in ["7000", "0A1B2C3D-0000-4000-8000-00000000abcd", "704000000000000001"] {
      try stage.show("#/customer", until: "document.activeElement?.id === 'q'")
      try stage.browser.type(id)
      try stage.browser.pressEnter()
      try stage.browser.wait("document.querySelector('.life .fill')")
      #expect(try stage.browser.text("#who") == "pro.monthly", "\(id)")
      #expect(try stage.browser.text(".id") == "7000", "\(id)")
    }
    try stage.show("#/customer", until: "document.activeElement?.id === 'q'")
    try stage.browser.type("no such/id?")
    try stage.browser.pressEnter()
    try stage.browser.wait("document.querySelector('.note')")
    #expect(try stage.browser.text(".note").contains("Nothing is known under this id"))
    stage.expectQuiet()
  }

  @Test func theSliderMovesTheRow() throws {
    let stage = try Stage(try life())
    let (browser, client) = (stage.browser, stage.daemon.client())
    try stage.enter()
    try stage.show("#/customer/7000", until: "document.querySelectorAll('.life .fill').length > 3")
    let now = try browser.text(".who .pill")
    #expect(now == "Expired" || now == "Revoked", "\(now)")
    #expect(try browser.text("#moment-text").hasPrefix("Now: "))
    // From event to event, with the mouse.
    try browser.click("#earlier")
    try browser.wait("document.querySelector('#moment-text').textContent.startsWith('As of')")
    #expect(try browser.text("#moment-text") == "As of 2026-01-01 01:30:00 UTC: Revoked")
    try browser.click("#earlier")
    try browser.wait("document.querySelector('.who .pill').textContent === 'Active'")
    #expect(try browser.text(".say").hasPrefix("Has access. The period that began on 1 January"))
    #expect(try browser.count(".changed") > 0)
    // What is signed later is not known then.
    #expect(try browser.count(".events .future") > 0)
    // With the keyboard: wherever it stands, the row is what the route says.
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
    stage.expectQuiet()
  }

  @Test func anEventOpens() throws {
    let stage = try Stage(try life())
    let browser = stage.browser
    try stage.enter()
    try stage.show("#/customer/7000", until: "document.querySelector('.events li')")
    #expect(try browser.count(".events > li") == 5)
    let kept = try browser.text(".events > li:nth-child(1)")
    #expect(kept.contains("in quarantine: conflict") && kept.contains("id 1"))
    let first = ".events > li:nth-child(2)"
    #expect(try browser.text("\(first) b") == "auto-renewal turned off")
    #expect(try browser.text("\(first) .tags").contains("late by"))
    #expect(try browser.text("\(first) .tags").contains("came again 1×"))
    #expect(try browser.count(".life .late") == 1)
    try browser.click("\(first) > button")
    try browser.wait("document.querySelector('\(first) .open')")
    let open = try browser.text("\(first) .open")
    #expect(open.contains("Nothing in the row.") && open.contains("2026-01-01 00:03:00 UTC"))
    #expect(open.contains("\"signedRenewalInfo\": {") && open.contains("\"autoRenewStatus\": 0"))
    #expect(try browser.holds("document.activeElement.getAttribute('aria-expanded') === 'true'"))
    // Closed again with the keyboard; and opened by its mark in the picture.
    try browser.pressEnter()
    try browser.wait("!document.querySelector('\(first) .open')")
    try browser.click(".life .dot[data-key=e1]")
    try browser.wait("document.querySelector('.events > li:last-child .open')")
    let last = try browser.text(".events > li:last-child .open")
    #expect(last.contains("gives_access") && last.contains("INITIAL_BUY"))
    stage.expectQuiet()
  }

  /// Text that Apple would never send, and somebody might: it is shown, and nothing else.
  @Test func hostileTextIsOnlyText() throws {
    let installation = try Installation()
    let text = "<img src=x onerror=alert(1)><script>window.bad = 1</script>"
    let lines = try (1...2).map { number in
      try installation.sign(
        Sample.notification(number).setting("subtype", .string(text))
          .setting("data.transaction.productId", .string(text))
          .setting("data.transaction.appAccountToken", .string(text)))
    }
    #expect(try installation.run("ingest", try installation.file("odd", lines)).code == 0)
    let stage = try Stage(installation)
    try stage.enter()
    try stage.show("#/customer/7000", until: "document.querySelector('.life .bar')")
    try stage.browser.click(".events > li > button")
    #expect(try stage.browser.text("#who") == text)
    #expect(try stage.browser.count("main img, main script") == 0)
    #expect(try stage.browser.value("window.bad") == nil)
    stage.expectQuiet()
  }

  // MARK: Rebuild

  @Test func theLastComparison() throws {
    let installation = try Installation.renewing(4)
    try installation.executeInRows(
      "DELETE FROM entitlement WHERE original_transaction_id = '70002'")
    let at = Sample.start + 3 * Sample.day
    #expect(try installation.run("rebuild", "--diff", "--at", "\(at)").code == 1)
    let stage = try Stage(installation)
    try stage.enter()
    try stage.show("#/rebuild", until: "document.querySelector('.rows a')")
    #expect(
      try stage.browser.text("main .note") == "1 customer would gain access, nobody would lose it.")
    try stage.browser.click(".rows a")
    try stage.browser.wait("document.querySelector('#q')")
    #expect(
      try stage.browser.value("location.hash") as? String
        == "#/customer/70002/Production/com.example.app")
    stage.expectQuiet()
  }

  // MARK: Everybody's console

  /// At phone width nothing sticks out; landmarks are there, and every control has a name.
  @Test(arguments: [390, 1280]) func everyPageFits(width: Int) throws {
    let installation = try Installation()
    let sent = try installation.live(
      customers: 20, days: 200, with: ["grace-recovered", "upgrade"])
    let id = try #require(sent.last?.originalTransactionId)
    let stage = try Stage(installation, width: width, isDark: width < 500)
    try stage.enter()
    for (place, sign) in [
      ("#/", ".chart svg, .bars"), ("#/customer", ".rows a, .note"),
      ("#/customer/\(id)", ".life .fill"), ("#/rebuild", "main h2"),
    ] {
      try stage.show(place, until: "document.querySelector('\(sign)')")
      usleep(200_000)
      #expect(
        try stage.browser.holds("document.documentElement.scrollWidth <= innerWidth"), "\(place)")
      let landmarks = try stage.browser.count("body > header, nav[aria-label], main, footer")
      #expect(landmarks == 4, "\(place)")
      let titles = try stage.browser.count("h1")
      #expect(titles == 1 || place == "#/customer", "\(place)")
      let nameless = try stage.browser.value(
        """
        [...document.querySelectorAll('button, input, a[href], svg, section, select')]
          .filter((it) => !(it.textContent.trim() || it.getAttribute('aria-label') ||
            it.labels?.length || it.getAttribute('aria-labelledby')))
          .map((it) => it.outerHTML.slice(0, 90)).join()
        """)
      #expect(nameless as? String == "", "\(place)")
    }
    stage.expectQuiet()
  }

  /// All there is can be reached and worked without a mouse.
  @Test func theKeyboardIsEnough() throws {
    let stage = try Stage(try life())
    let browser = stage.browser
    try stage.enter()
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
    // What was opened stays open when the page is drawn anew.
    try browser.value("document.querySelector('#hours-open').focus()")
    try browser.pressEnter()
    try browser.wait("document.querySelector('#hours').open")
    try browser.value("document.querySelector('[id=\"c-type\"]').click()")
    try browser.wait("document.querySelector('[id=\"c-type\"]').ariaPressed === 'true'")
    #expect(try browser.holds("document.querySelector('#hours').open"))
    stage.expectQuiet()
  }

  @Test func aDaemonThatIsGone() throws {
    let stage = try Stage(try life())
    try stage.enter()
    try stage.daemon.stop()
    try stage.show("#/customer/7000", until: "document.querySelector('[role=alert]')")
    #expect(try stage.browser.text("[role=alert]") == "The daemon does not answer.")
    try stage.browser.wait("document.querySelector('#health').textContent === 'No answer'")
    stage.expectQuiet()
  }
}
