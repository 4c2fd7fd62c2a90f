import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// Whether everybody can use the console: `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleAccessibilityTests {
  /// A ledger with something on every page, and the pages.
  private struct Pages {
    let session: ConsoleSession
    let routes: [String]

    init(width: Int, isDark: Bool) throws {
      let installation = try Installation()
      try installation.extendConfiguration([Installation.entitlements])
      let sent = try installation.live(
        customers: 20, days: 200, with: ["grace-recovered", "upgrade"])
      let id = try #require(sent.last?.originalTransactionId)
      let asked = try installation.file(
        "asked", try RefundListTests.events.map(installation.sign))
      #expect(try installation.run("ingest", asked).code == 0)
      _ = try installation.run("rebuild", "--diff")
      let daemon = try installation.start()
      for number in 0..<3 {
        let foreign = Sample.notification(
          number, otid: "90\(number)", bundleId: "com.example.foreign")
        _ = daemon.client().post(try installation.sign(foreign))
      }
      session = try ConsoleSession(installation, daemon, width: width, isDark: isDark)
      let app = "Production/com.example.app"
      routes = [
        "#/", "#/subscriptions", "#/subscription/\(id)/\(app)", "#/events", "#/refunds",
        "#/reports", "#/quarantine", "#/sinks", "#/recovery", "#/rebuild", "#/find/nothing",
        "#/customer/original_transaction_id/\(id)",
      ]
    }

    /// Shows each page with its first lines and details open.
    func forEach(_ body: (Browser, String) throws -> Void) throws {
      try body(session.browser, "sign-in")
      try session.enter()
      for route in routes {
        try session.show(route)
        usleep(200_000)
        try session.browser.value(
          """
          [...document.querySelectorAll('.events .line > button')].slice(0, 2)
            .forEach((it) => it.click());
          document.querySelectorAll('main details').forEach((it) => { it.open = true; });
          """)
        try body(session.browser, route)
      }
      session.expectNoErrors()
    }
  }

  /// At phone and at desktop width; also checks landmarks and headings.
  @Test(arguments: [390, 1280]) func `every page fits the width and every control has a name`(
    width: Int
  ) throws {
    try Pages(width: width, isDark: width < 500).forEach { browser, route in
      #expect(try browser.holds("document.documentElement.scrollWidth <= innerWidth"), "\(route)")
      let landmarks = try browser.count("body > header, header nav[aria-label], main, footer")
      #expect(landmarks == 4, "\(route)")
      #expect(try browser.count("h1") == 1, "\(route)")
      let nameless = try browser.value(
        """
        [...document.querySelectorAll('button, input, a[href], svg, section, select')]
          .filter((it) => !(it.textContent.trim() || it.getAttribute('aria-label') ||
            it.labels?.length || it.getAttribute('aria-labelledby')))
          .map((it) => it.outerHTML.slice(0, 90)).join()
        """)
      #expect(nameless as? String == "", "\(route)")
    }
  }

  /// The rules of axe-core, which the test adds to the page; the product does not have it.
  @Test(.enabled(if: Browser.axe != nil), arguments: [390, 1280], [false, true])
  func `axe-core finds nothing serious on any page`(width: Int, isDark: Bool) throws {
    let axe = try String(contentsOfFile: try #require(Browser.axe), encoding: .utf8)
    let found =
      """
      axe.run(document).then((it) => JSON.stringify([it.passes.length,
        it.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
          .map((one) => [one.id, one.nodes.slice(0, 4).map((node) => node.html.slice(0, 120) +
            ': ' + (node.any[0]?.message ?? node.all[0]?.message))])]))
      """
    try Pages(width: width, isDark: isDark).forEach { browser, route in
      try browser.value("\(axe);0")
      let report = try #require(try browser.value(found) as? String)
      let parsed = try JSONDocument(parsing: Array(report.utf8)).root.elements
      #expect(parsed.first?.integer ?? 0 > 10, "\(route): axe-core did not run")
      #expect(parsed.last?.elements.isEmpty == true, "\(route): \(report)")
    }
  }

  @Test func `everything can be reached and used with the keyboard`() throws {
    let session = try ConsoleSession(try Installation.withCustomer())
    let new = try session.installation.sign(Sample.notification(50, otid: "7050"))
    #expect(session.daemon.client().post(new)?.status == 200)
    let browser = session.browser
    try session.enter()
    var seen: [String] = []
    for _ in 0..<32 {
      try browser.press("Tab", code: 9)
      let name = try browser.value(
        "document.activeElement.textContent.trim() || document.activeElement.id")
      seen.append(name as? String ?? "")
    }
    #expect(seen.contains("Subscriptions") && seen.contains("By outcome"), "\(seen)")
    #expect(seen.contains("7 days") && seen.contains("q"), "\(seen)")
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
    let session = try ConsoleSession(try Installation.withCustomer())
    try session.enter()
    try session.daemon.stop()
    try session.show("#/find/7000", until: "document.querySelector('[role=alert]')")
    #expect(try session.browser.text("[role=alert]") == "The daemon does not answer.")
    try session.browser.wait("document.querySelector('#health').textContent === 'No answer'")
    session.expectNoErrors()
  }
}
