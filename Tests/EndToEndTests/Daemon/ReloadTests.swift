import Foundation
import Ledger
import StrictJSON
import Support
import Testing

/// SIGHUP: which changes of the configuration a running daemon applies.
@Suite struct ReloadTests {
  private static let added = "e2e-token-added-later-4714"

  private func entry(_ daemon: RunningDaemon, _ event: String, _ count: Int = 1) throws
    -> JSONElement
  {
    func found() -> [JSONElement] {
      daemon.log.split(separator: "\n").compactMap {
        try? JSONDocument(parsing: Array($0.utf8)).root
      }.filter { $0["event"]?.string == event }
    }
    try daemon.command.wait(60, "\(count) of \(event)") { found().count >= count }
    return found()[count - 1]
  }

  private func token(_ text: String) -> JSONValue {
    .object([("name", .string("later")), ("sha256", .string(ReadAccess.digest(of: text)))])
  }

  @Test func `SIGHUP reloads tokens, apps and roots`() throws {
    let installation = try Installation()
    let stranger = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let other = Sample.notification(1, bundleId: "com.example.other")
    #expect(client.post(try installation.sign(other))?.status == 422)
    let theirs = try stranger.sign(Sample.notification(2, otid: "9001"))
    #expect(client.post(theirs)?.status == 401)
    #expect(client.get("/metrics", token: Self.added)?.status == 401)
    try installation.configure(
      apps: [Installation.app(), Installation.app("com.example.other")],
      with: [
        ("trustRoots", .array([.string(installation.root.path), .string(stranger.root.path)])),
        ("readTokens", .array([token(Self.added)])), ("listen", .string("127.0.0.1:1")),
        ("limits", .object([("idleSeconds", .integer(61))])),
      ])
    daemon.command.signal(SIGHUP)
    let reloaded = try entry(daemon, "reloaded")
    #expect(reloaded["user"]?.string == NSUserName())
    let changes = (reloaded["changes"]?.elements ?? []).compactMap(\.string)
    #expect(
      changes.prefix(5) == [
        "app com.example.other added", "token backend removed", "token later added",
        "token other removed", "token sandbox removed",
      ])
    #expect(changes.count == 6 && changes.last?.hasSuffix("added") == true, "\(changes)")
    #expect(reloaded["needs_restart"]?.elements.compactMap(\.string) == ["listen", "limits"])
    // The connection stayed open.
    let more = Sample.notification(3, bundleId: "com.example.other")
    #expect(client.post(try installation.sign(more))?.status == 200)
    #expect(client.post(theirs)?.status == 200)
    #expect(client.get("/metrics", token: Self.added)?.status == 200)
    #expect(client.get("/metrics")?.status == 401)
    let overview = client.get("/v1/overview", token: Self.added)?.json
    let apps = overview?["apps"]?.elements ?? []
    let known = apps.filter { $0["configured"]?.boolean == true }.map { $0["bundle_id"]?.string }
    #expect(known.contains("com.example.other"))
    // A removed root proves nothing any more, although its chain is in the cache.
    try installation.configure()
    daemon.command.signal(SIGHUP)
    _ = try entry(daemon, "reloaded", 2)
    let late = try stranger.sign(Sample.notification(4, otid: "9001"))
    #expect(client.post(late)?.status == 401)
    #expect(client.get("/metrics")?.status == 200)
    #expect(client.get("/metrics", token: Self.added)?.status == 401)
    #expect(try daemon.stop().code == 0)
  }

  @Test(arguments: ["{", #"{"lisen":"x"}"#, #"{"trustRoots":["missing.der"]}"#])
  func `a refused configuration changes nothing`(_ text: String) throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    try Data(text.utf8).write(to: installation.config)
    daemon.command.signal(SIGHUP)
    let refused = try entry(daemon, "reload_refused")
    #expect(refused["level"]?.string == "error" && refused["error"]?.string?.isEmpty == false)
    #expect(client.post(try installation.sign(Sample.notification(1)))?.status == 200)
    let metrics = MetricsText(try #require(client.get("/metrics")).text)
    #expect(metrics.value("subledger_reloads_total", ["outcome": "refused"]) == 1)
    try installation.configure()
    daemon.command.signal(SIGHUP)
    #expect(try entry(daemon, "reloaded")["count"]?.integer == 0)
    #expect(try daemon.stop().code == 0)
  }

  /// Reloads every ten milliseconds under load; every answer is 200.
  @Test func `no request is lost during reloads`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let bodies = try (0..<150).map { try installation.sign(Sample.notification($0)) }
    let (stop, refused) = (Flag(), Flag())
    let done = DispatchGroup()
    for part in 0..<2 {
      done.enter()
      let port = daemon.port
      Thread.detachNewThread {
        let client = Client(port: port)
        for body in bodies[(part * 75)..<(part * 75 + 75)] where client.post(body)?.status != 200 {
          refused.set()
        }
        stop.set()
        done.leave()
      }
    }
    var count = 0
    while !stop.isSet, count < 1000 {
      daemon.command.signal(SIGHUP)
      count += 1
      usleep(10_000)
    }
    done.wait()
    _ = try entry(daemon, "reloaded")
    #expect(!refused.isSet && count > 0)
    #expect(try daemon.stop().code == 0)
  }
}
