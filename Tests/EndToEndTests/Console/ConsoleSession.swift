import Foundation
import StrictJSON
import Support
import Testing

/// A daemon whose rows have all that was posted, and a browser at the console's sign-in page.
struct ConsoleSession {
  let installation: Installation
  let daemon: RunningDaemon
  let browser: Browser

  init(
    _ installation: Installation, _ daemon: RunningDaemon? = nil, width: Int = 1280,
    isDark: Bool = false
  ) throws {
    self.installation = installation
    self.daemon = try daemon ?? installation.start()
    try self.daemon.waitForRows()
    browser = try Browser(width: width, isDark: isDark)
    try browser.open("http://127.0.0.1:\(self.daemon.port)/")
    try browser.wait("document.activeElement?.id === 'token'")
  }

  func signIn(_ token: String = Installation.token) throws {
    try browser.type(token)
    try browser.pressEnter()
  }

  func enter(_ token: String = Installation.token) throws {
    try signIn(token)
    try browser.wait("document.querySelector('.tiles')")
  }

  func show(_ route: String, until expression: String) throws {
    try browser.value("location.hash = '\(route)'")
    try browser.wait(expression)
  }

  /// Shows a page and waits until it is drawn.
  func show(_ route: String) throws {
    let isOther = "decodeURIComponent(location.hash) !== decodeURIComponent('\(route)')"
    if try browser.holds(isOther) {
      try browser.value("document.querySelector('main').replaceChildren()")
    }
    try show(route, until: "document.querySelector('main h1, main .note')")
  }

  /// Types an id into the search field of the header.
  func find(_ id: String) throws {
    try browser.value("document.getElementById('q').focus(); document.getElementById('q').select()")
    try browser.type(id)
    try browser.pressEnter()
  }

  /// The number that a text of the page begins with, or has after a word.
  func number(_ selector: String) throws -> Int? {
    let digits = try browser.text(selector).drop { !$0.isNumber }.prefix {
      $0.isNumber || $0 == ","
    }
    return Int(digits.replacingOccurrences(of: ",", with: ""))
  }

  /// Has the page keep what it copies in `window.copied`, in place of the clipboard.
  func keepCopies() throws {
    try browser.value("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
  }

  /// Expects no exception and no violation of the content security policy.
  func expectNoErrors() { #expect(browser.pageErrors == []) }
}

extension Installation {
  /// Adds members to the configuration.
  func extendConfiguration(_ more: [(String, JSONValue)]) throws {
    let bytes = Array(try Data(contentsOf: config))
    guard case .object(let members) = try JSONDocument(parsing: bytes).root.value else { return }
    let replaced = Set(more.map(\.0))
    let all = members.filter { !replaced.contains($0.0) } + more
    try Data(JSONValue.object(all).bytes).write(to: config)
    chmod(config.path, 0o600)
  }

  /// Entitlements by name, as most installations have them.
  static let entitlements: (String, JSONValue) = (
    "entitlements",
    .object([
      ("pro", .array([.string("pro.*"), .string("student.*")])),
      ("basic", .array([.string("basic.*")])), ("remove_ads", .array([.string("unlock.lifetime")])),
    ])
  )

  /// A customer with a purchase, a renewal, a refund, and a cancellation that was delivered late
  /// and twice.
  static func withCustomer() throws -> Installation {
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
    // A conflict is a finding.
    #expect(finished.code <= 1, "\(finished)")
    return installation
  }

  /// Two purchases of one user: a subscription that runs until 2030, and one for ever.
  static func withTwoPurchases() throws -> Installation {
    let installation = try Installation()
    try installation.extendConfiguration([entitlements])
    let token = JSONValue.string("0a1b2c3d-0000-4000-8000-00000000abcd")
    let end = JSONValue.integer(Sample.start + 1461 * Sample.day)
    let monthly = (1...5).map { number in
      Sample.notification(number, type: number == 1 ? "SUBSCRIBED" : "DID_RENEW")
        .setting("data.transaction.expiresDate", end).setting("data.renewalInfo.renewalDate", end)
        .setting("data.transaction.price", .integer(9990))
        .setting("data.transaction.currency", .string("USD"))
    }
    let once = Sample.notification(9, otid: "7001", type: "ONE_TIME_CHARGE")
      .setting("data.transaction.type", .string("Non-Consumable"))
      .setting("data.transaction.productId", .string("unlock.lifetime"))
      .setting("data.transaction.expiresDate", nil).setting("data.renewalInfo", nil)
    let bodies = try (monthly + [once]).map {
      try installation.sign($0.setting("data.transaction.appAccountToken", token))
    }
    let finished = try installation.run("ingest", try installation.file("purchases", bodies))
    #expect(finished.code == 0, "\(finished)")
    return installation
  }
}
