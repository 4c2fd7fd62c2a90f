import Foundation
import StrictJSON
import Support
import Testing

/// The console's page of requests for refunds. `make test-console`.
@Suite(.serialized, .enabled(if: Browser.program != nil)) struct ConsoleRefundsTests {
  @Test func `support sees what is open, who answered what, and how that ended`() throws {
    let played = try RefundSendingTests.Played()
    let ids = try played.waiting()
    for id in ids.dropFirst(2) { try played.consent(to: id) }
    for id in ids.dropFirst(2) {
      try played.wait(id, "an answer of Apple's") { $0["state"]?.string == "answered" }
    }
    let session = try ConsoleSession(played.store.installation, played.daemon)
    let browser = session.browser
    try session.enter()
    try browser.value("document.querySelector('nav [data-page=refunds]').click()")
    try browser.wait("document.querySelectorAll('.refund').length >= 2")
    // The nearest deadline is first, and nobody has said anything.
    let open = try browser.text(".refund")
    #expect(open.contains("nobody said whether the customer consents"), "\(open)")
    #expect(open.contains("waits for your word until"), "\(open)")
    let order = try browser.value(
      "[...document.querySelectorAll('.refund h3 time')].map((it) => it.dateTime).join()")
    let deadlines = (order as? String ?? "").split(separator: ",")
    #expect(deadlines.count >= 2 && deadlines == deadlines.sorted())
    #expect(try browser.text(".refund .command pre").hasPrefix("subledger refunds answer "))

    try played.store.advance(PlayedStore.hour * 15, notify: "true")
    for id in ids.dropFirst(2) {
      try played.wait(id, "Apple's decision") { $0["outcome"]?.string == "declined" }
    }
    let number = ids.count - 2
    try browser.wait(
      """
      (() => { if (!window.asked || Date.now() - window.asked > 3000) { window.asked = Date.now();
          document.querySelector('nav [data-page=refunds]').click(); }
        return [...document.querySelectorAll('td')].some((it) => it.textContent === '– by keep' &&
          it.parentNode.cells[2].textContent === '\(number)'); })()
      """)
    let ended = try browser.text("main .card:last-of-type tbody tr")
    #expect(ended.contains("by the policy keep"), "\(ended)")
    #expect(ended.contains("do not refund") && ended.contains("Declined"), "\(ended)")
    try browser.value(
      """
      (() => { const it = document.querySelector('#f-state'); it.value = 'missed';
        it.dispatchEvent(new Event('change')); })()
      """)
    try browser.wait("document.querySelector('#f-state')?.value === 'missed'")
    try browser.value("history.back()")
    try browser.wait("document.querySelectorAll('main .card:last-of-type tbody tr').length > 1")
    try browser.value("document.querySelector('main .card:last-of-type tbody a.id').click()")
    try browser.wait("document.querySelector('.timeline, .events')")
    session.expectNoErrors()
  }

  @Test func `a ledger without requests says so`() throws {
    let session = try ConsoleSession(try Installation())
    try session.enter()
    try session.show("#/refunds")
    #expect(try session.browser.text("main .empty h3") == "Nothing is open")
    #expect(try session.browser.count("main .empty") == 2)
    session.expectNoErrors()
  }
}
