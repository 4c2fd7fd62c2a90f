import Foundation
import StrictJSON
import Support
import Testing

/// The console's page of reports. `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleReportsTests {
  /// 9.99 in January and twice in February, in euros; 1.99 in February in dollars.
  private func session() throws -> ConsoleSession {
    let installation = try Installation()
    let daemon = try installation.start()
    let sold: [(day: String, price: Int64, currency: String)] = [
      ("2026-01-10", 9_990, "EUR"), ("2026-02-10", 9_990, "EUR"), ("2026-02-11", 9_990, "EUR"),
      ("2026-02-12", 1_990, "USD"),
    ]
    for (number, one) in sold.enumerated() {
      let body = Sample.notification(number + 1, otid: "\(7_000 + number)")
        .setting("data.transaction.purchaseDate", .integer(try Finance.time(one.day)))
        .setting("data.transaction.price", .integer(one.price))
        .setting("data.transaction.currency", .string(one.currency))
        .setting(
          "data.transaction.appAccountToken", .string("29d2418e-ea95-4508-906f-8ee14f585de7"))
      #expect(daemon.client().post(try installation.sign(body))?.status == 200)
    }
    return try ConsoleSession(installation, daemon)
  }

  @Test func `a report is chosen, drawn, listed and asked for a month`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter()
    try session.show("#/reports")
    try browser.wait("document.querySelectorAll('.chart rect').length === 2")
    #expect(try browser.text("main h2") == "charged by month")
    #expect(try browser.holds("document.querySelectorAll('tbody tr').length === 3"))
    #expect(try browser.text("tbody tr:last-child").contains("1.99"))
    #expect(try browser.text(".command pre") == "subledger report charges")
    func change(_ field: String, _ value: String) throws {
      try browser.value(
        """
        (() => { const it = document.querySelector('\(field)'); it.value = '\(value)';
          it.dispatchEvent(new Event('change')); })()
        """)
    }
    try change("#f-month", "2026-01")
    try browser.wait("document.querySelectorAll('tbody tr').length === 1")
    #expect(try browser.text(".command pre") == "subledger report charges --month 2026-01")
    // One period has nothing to be drawn beside.
    #expect(try browser.holds("!document.querySelector('.chart')"))
    try change("#f-report", "customer")
    try browser.wait("document.querySelector('main .empty')")
    try change("#f-customer", "29d2418e-ea95-4508-906f-8ee14f585de7")
    try browser.wait("document.querySelectorAll('tbody tr').length === 2")
    try change("#f-report", "subscriptions")
    try browser.wait("document.querySelector('#f-day')?.value.length === 10")
    session.expectNoErrors()
  }

  @Test func `every report can be shown`() throws {
    let session = try session()
    let browser = session.browser
    try session.enter()
    for name in Finance.reports {
      try session.show("#/reports/\(name)")
      try browser.wait("document.querySelector('#f-report')?.value === '\(name)'")
      #expect(try browser.holds("!document.querySelector('main .note.red')"), "\(name)")
    }
    session.expectNoErrors()
  }
}
