import Foundation
import StrictJSON
import Testing

/// The README's pictures: `make screenshots`.
@Suite(.serialized, .enabled(if: ScreenshotTests.folder != nil)) struct ScreenshotTests {
  static let folder = ProcessInfo.processInfo.environment["SUBLEDGER_SCREENSHOTS"]

  @Test func takeAll() throws {
    let folder = URL(filePath: try #require(Self.folder))
    let installation = try Installation()
    let sent = try installation.live(
      customers: 4_000, days: 60, seed: 11,
      with: ["grace-recovered", "refund-reversed", "price-increase", "upgrade"])
    // Four weeks that were not paid, then the upgrade: the life with the most to see.
    let customer = try #require(
      sent.filter { $0.type == "PRICE_INCREASE" }.last?.originalTransactionId)
    _ = try installation.run("rebuild", "--diff")
    let daemon = try installation.start()
    for width in [1280, 390] {
      for isDark in [false, true] {
        let browser = try Browser(width: width, height: width > 500 ? 800 : 844, isDark: isDark)
        try browser.open("http://127.0.0.1:\(daemon.port)/console")
        try browser.wait("document.activeElement?.id === 'token'")
        try browser.type(Installation.token)
        try browser.pressEnter()
        try browser.wait("document.querySelector('.chart svg') && document.querySelector('.bars')")
        let suffix = "\(width)-\(isDark ? "dark" : "light").png"
        usleep(600_000)
        try browser.picture(height: 1130).write(to: folder.appending(path: "overview-\(suffix)"))
        try browser.value("location.hash = '#/customer/\(customer)'")
        try browser.wait("document.querySelectorAll('.life .fill').length > 3")
        usleep(600_000)
        try browser.value("document.activeElement.blur()")
        try browser.picture(height: 1250).write(to: folder.appending(path: "customer-\(suffix)"))
      }
    }
  }
}
