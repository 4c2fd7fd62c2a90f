import Foundation
import Simulator
import StrictJSON
import Support
import Testing

/// Takes the README's screenshots: `make screenshots`.
@Suite(.serialized, .enabled(if: Browser.screenshots != nil)) struct ScreenshotTests {
  /// How many different notifications a customer has.
  private static func variety(_ notifications: [SimulatedNotification]) -> Int {
    Set(notifications.map { "\($0.type) \($0.subtype ?? "")" }).count
  }

  @Test func `screenshots of overview and customer are taken in every size and colour scheme`()
    throws
  {
    let folder = URL(filePath: try #require(Browser.screenshots))
    let installation = try Installation()
    let sent = try installation.live(customers: 1_500, days: 25, old: 200, seed: 11)
    // The customer with the greatest variety of notifications.
    let customers = Dictionary(grouping: sent) { $0.originalTransactionId ?? "" }
    let customer = customers.filter { $0.value.count < 16 }.max { one, two in
      let (left, right) = (Self.variety(one.value), Self.variety(two.value))
      return (left, two.key) < (right, one.key)
    }?.key
    let id = try #require(customer)
    _ = try installation.run("rebuild", "--diff")
    let daemon = try installation.start()
    let client = daemon.client()
    for (number, app) in ["com.example.app", "com.example.notes", "com.example.notes"].enumerated()
    {
      let isOurs = app == "com.example.app"
      let notification = Sample.notification(
        number, otid: "90\(number)", bundleId: app, environment: isOurs ? "Sandbox" : "Production")
      _ = client.post(try installation.sign(notification))
    }
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
        try browser.screenshot(height: 1130).write(to: folder.appending(path: "overview-\(suffix)"))
        try browser.value("location.hash = '#/customer/\(id)'")
        try browser.wait("document.querySelectorAll('.timeline .fill').length > 3")
        usleep(600_000)
        try browser.value("document.activeElement.blur()")
        try browser.screenshot(height: 1250).write(to: folder.appending(path: "customer-\(suffix)"))
      }
    }
  }
}
