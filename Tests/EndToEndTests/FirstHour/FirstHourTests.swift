import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// What `make first-hour` sets.
enum FirstHour {
  private static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name]
  }
  /// The package to try, and a later version of it.
  static let package = variable("SUBLEDGER_PACKAGE")
  static let nextPackage = variable("SUBLEDGER_NEXT_PACKAGE")
  /// Where screenshots are left; nowhere if it is not set.
  static let pictures = variable("SUBLEDGER_FIRST_HOUR").map { URL(filePath: $0) }

  static var isPossible: Bool { package != nil && Browser.program != nil && geteuid() == 0 }
}

/// What somebody does in the first hour, in a fresh Debian 12: `make first-hour`.
@Suite(
  .enabled(if: FirstHour.isPossible, "needs root, SUBLEDGER_PACKAGE and SUBLEDGER_BROWSER"))
struct FirstHourTests {
  private static let customers = 1_000
  private static let days: Int64 = 400
  private static let seed: UInt64 = 11

  private let root: DebianRoot
  private let port: UInt16
  private let began = Date()

  init() throws {
    root = try DebianRoot()
    let (listener, port) = try Loopback.listen()
    close(listener)
    self.port = port
  }

  private func told(_ step: String) {
    print("  first hour, \(Int(Date().timeIntervalSince(began))) s: \(step)")
  }

  @Test func `package, init, import, webhook, console, backup, restore and upgrade work`() throws {
    try root.run("apt-get", "update", "-qq")
    try root.install(try #require(FirstHour.package))
    told("installed \(try root.run("subledger", "version").prefix { $0 != "\n" })")

    let made = try root.run(
      "subledger", "init", "--bundle-id", SimulatedApp().bundleId, "--app-apple-id",
      "\(SimulatedApp().appAppleId)", "--listen", "127.0.0.1:\(port)", "--json")
    let token = try #require(
      try JSONDocument(parsing: Array(made.utf8)).root["read_token"]?.string)
    told("initialised")

    let receiver = try ScriptedServer { _ in [.response(204, "")] }
    let store = try startAppStore()
    try configure(store, receiver)
    let report = try importCustomers()
    told("imported: \(report)")

    var daemon = try start()
    try receiveWebhook(receiver, store)
    told("received a webhook")
    let id = try ask(token)
    told("asked about \(id)")
    try lookAtConsole(token, id)
    told("opened the console")

    daemon = try restore(from: daemon, id)
    told("backed up and restored")
    let before = try rows()
    try upgrade()
    #expect(try stop(daemon) == 0)
    daemon = try start()
    #expect(try rows() == before)
    told("upgraded to \(try root.run("dpkg-query", "-W", "-f", "${Version}", "subledger"))")
    #expect(try stop(daemon) == 0)
    store.command.signal(SIGINT)
    #expect(try store.command.finish().code == 0)
  }

  // MARK: Apple's side

  private struct AppStore {
    let command: RunningCommand
    let description: JSONElement
    let control: UInt16
  }

  /// The stand-in of the installed program, three days behind, so that something is left to send.
  private func startAppStore() throws -> AppStore {
    try root.run("install", "-d", "-o", "subledger", "-g", "subledger", "/srv/appstore")
    let command = try root.launch(
      as: "subledger",
      [
        "subledger", "simulate", "serve", "--authority", "/srv/appstore/authority", "--customers",
        "\(Self.customers)", "--days", "\(Self.days)", "--seed", "\(Self.seed)", "--behind", "3",
        "--notify", "http://127.0.0.1:\(port)/v1/notifications",
      ])
    try command.wait(120, "the App Store") {
      !command.isRunning || command.outputSoFar().hasSuffix("\n")
    }
    let description = try JSONDocument(parsing: Array(command.outputSoFar().utf8)).root
    let address = try #require(description["production"]?.string)
    let control = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
    return AppStore(command: command, description: description, control: control)
  }

  /// Adds to what `init` wrote: whom to ask, whom to trust, what products give, whom to tell.
  private func configure(_ store: AppStore, _ receiver: ScriptedServer) throws {
    let file = root.path("/etc/subledger/config.json")
    var value = try JSONDocument(parsing: Array(try Data(contentsOf: file))).root.value
    let names = ["issuerId", "keyId", "keyFile", "production", "sandbox"]
    let access = JSONValue.object(
      names.map { ($0, .optional(store.description[$0]?.string)) } + [("limitShare", .integer(1))])
    let sink = JSONValue.object([
      ("name", .string("backend")), ("kind", .string("webhook")),
      ("url", .string(receiver.address + "/hook")), ("secretFile", .string("backend.whsec")),
      ("privateNetwork", .boolean(true)),
    ])
    for (name, member) in [
      ("appStore", access), ("trustRoots", .array([.optional(store.description["root"]?.string)])),
      ("entitlements", .object([("pro", .array([.string("pro.*")]))])), ("sinks", .array([sink])),
    ] { value = value.setting(name, member) }
    try Data(value.prettyText.utf8).write(to: file)
    let secret = try root.run("subledger", "sink", "secret")
    try Data(secret.utf8).write(to: root.path("/etc/subledger/backend.whsec"))
    try root.run("chmod", "600", "/etc/subledger/backend.whsec")
    try root.run(
      "chown", "subledger:", "/etc/subledger/backend.whsec", "/etc/subledger/config.json")
  }

  private func importCustomers() throws -> String {
    let end = Int64(Date().timeIntervalSince1970 * 1000)
    let fleet = Fleet(
      app: SimulatedApp(), customers: Self.customers, days: Self.days, end: end, seed: Self.seed)
    // The App Store, which is behind, does not know the newest yet.
    let known = fleet.notifications().filter { $0.signedDate < end - 4 * 86_400_000 }
    let ids = Set(known.compactMap(\.originalTransactionId)).sorted()
    try Data((["id"] + ids).joined(separator: "\n").utf8).write(to: root.path("/tmp/ids.csv"))
    // Root is told that the daemon could not write what it makes, and by whom this is to be run.
    let refused = try root.launch(["subledger", "import", "/tmp/ids.csv", "--column", "id"])
      .finish()
    #expect(refused.code == 3 && refused.errors.contains("sudo -u subledger"), "\(refused)")
    let told = try root.run(
      as: "subledger", "subledger", "import", "/tmp/ids.csv", "--column", "id", "--json",
      within: 900)
    let report = try JSONDocument(parsing: Array(told.utf8)).root
    #expect(report["found"]?["Production"]?.integer == Int64(ids.count), "\(told)")
    return told.trimmingCharacters(in: .newlines)
  }

  // MARK: The daemon

  /// Starts it with the command of its unit.
  private func start() throws -> RunningCommand {
    let unit = try root.run(
      "sed", "-n", "s/^ExecStart=//p", "/lib/systemd/system/subledger.service")
    let daemon = try root.launch(
      as: "subledger", unit.split(whereSeparator: \.isWhitespace).map(String.init))
    try daemon.wait(60, "the daemon to listen") {
      guard daemon.isRunning else { throw TestFailure("it ended: \(daemon.errorsSoFar())") }
      return RunningDaemon.port(in: daemon.errorsSoFar()) != nil
    }
    return daemon
  }

  private func stop(_ daemon: RunningCommand) throws -> Int32 {
    daemon.signal(SIGTERM)
    return try daemon.finish().code
  }

  /// Lets the simulated App Store send what is due in a day; each change is told to the sink.
  private func receiveWebhook(_ receiver: ScriptedServer, _ store: AppStore) throws {
    let body = Array(#"{"advance":86400000}"#.utf8)
    let head = "POST /control HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n"
    let report = try #require(Client(port: store.control).send(head, body)?.json)
    #expect(report["production"]?["failures"]?.integer == 0)
    let end = Date(timeIntervalSinceNow: 60)
    func arrived() -> Bool {
      receiver.requests.contains {
        $0.field("webhook-signature") != nil
          && String(decoding: $0.body, as: UTF8.self).contains("DID_RENEW")
      }
    }
    while !arrived(), Date() < end { usleep(50_000) }
    #expect(arrived(), "\(receiver.requests.count) messages")
  }

  // MARK: Asking

  /// Asks about a customer with access, on the command line and over HTTP.
  private func ask(_ token: String) throws -> String {
    let sql =
      "SELECT original_transaction_id FROM entitlement_v1 WHERE gives_access = 1 "
      + "AND environment = 'Production' AND product_id LIKE 'pro.%' "
      + "ORDER BY event_count DESC LIMIT 1"
    let found = try root.run("subledger", "query", "--csv", sql)
    let id = try #require(found.split(whereSeparator: \.isNewline).last.map(String.init))
    let told = try root.run("subledger", "customer", id, "--by", "original_transaction_id")
    #expect(told.hasPrefix("pro ") && told.contains("yes (paid) until "), "\(told)")
    let answer = try #require(
      Client(port: port).get("/v1/customers/\(id)?by=original_transaction_id", token: token))
    #expect(answer.status == 200, "\(answer.text)")
    #expect(answer.json?["entitlements"]?["pro"]?["active"]?.boolean == true, "\(answer.text)")
    #expect(answer.body.last == 0x0A)
    return id
  }

  private func rows() throws -> String {
    try root.run(
      "subledger", "query", "--csv",
      "SELECT original_transaction_id, status, expires_at_ms FROM entitlement_v1 ORDER BY 1, 2, 3")
  }

  private func lookAtConsole(_ token: String, _ id: String) throws {
    let browser = try Browser(width: 1280, height: 800)
    try browser.open("http://127.0.0.1:\(port)/console")
    try browser.wait("document.activeElement?.id === 'token'")
    try picture(browser, "1-sign-in")
    try browser.type(token)
    try browser.pressEnter()
    try browser.wait("document.querySelector('.chart svg')")
    try picture(browser, "2-overview")
    try browser.value(
      "location.hash = '#/subscription/\(id)/Production/\(SimulatedApp().bundleId)'")
    try browser.wait("document.querySelectorAll('.timeline .fill').length > 3")
    try picture(browser, "3-subscription")
    try browser.value("location.hash = '#/customer/original_transaction_id/\(id)'")
    try browser.wait("document.querySelector('main').textContent.includes('pro.')")
    try picture(browser, "4-customer")
    #expect(browser.pageErrors.isEmpty, "\(browser.pageErrors)")
  }

  private func picture(_ browser: Browser, _ name: String) throws {
    guard let folder = FirstHour.pictures else { return }
    usleep(600_000)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try browser.screenshot(height: 1100).write(to: folder.appending(path: "\(name).png"))
  }

  // MARK: Backup, restore, upgrade

  /// Backs up beside the daemon, loses the data folder, and restores it.
  ///
  /// - Returns: the daemon on the restored folder.
  private func restore(from daemon: RunningCommand, _ id: String) throws -> RunningCommand {
    let before = try rows()
    try root.run("subledger", "backup", "/var/backups/subledger")
    #expect(try stop(daemon) == 0)
    try root.run("sh", "-c", "rm -rf /var/lib/subledger/*")
    try root.run("subledger", "restore", "/var/backups/subledger")
    try root.run("chown", "-R", "subledger:", "/var/lib/subledger")
    let again = try start()
    let end = Date(timeIntervalSinceNow: 60)
    while try root.launch(["subledger", "entitlement", id]).finish().code != 0, Date() < end {
      usleep(200_000)
    }
    #expect(try rows() == before)
    try root.run("subledger", "verify", within: 600)
    return again
  }

  private func upgrade() throws {
    try root.install(try #require(FirstHour.nextPackage))
  }
}
