import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// SIGTERM ends the daemon within ten seconds, whatever it computes or waits for.
@Suite struct StopTests {
  private static let day: Int64 = 86_400_000

  /// Sends SIGTERM; the daemon must end by itself in time, and the journal be whole.
  private func stop(
    _ daemon: RunningDaemon, _ installation: Installation, events: Int,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let began = Clock.monotonicNanoseconds()
    daemon.command.signal(SIGTERM)
    let code = try daemon.command.finish(within: 120).code
    let seconds = Double(Clock.monotonicNanoseconds() - began) / 1e9
    #expect(code == 0, sourceLocation: location)
    #expect(seconds < 10 * RunningCommand.waitFactor, sourceLocation: location)
    #expect(!daemon.log.contains("stopped_late"), "\(seconds) s", sourceLocation: location)
    #expect(try installation.events().count == events, sourceLocation: location)
    #expect(try installation.verify().code == 0, sourceLocation: location)
  }

  /// Journals notifications of so many customers whose periods include now.
  private func fill(_ installation: Installation, _ customers: Int, each count: Int = 1) throws {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let bodies = try (0..<customers * count).map { number in
      try installation.sign(
        Sample.notification(number, otid: "\(7000 + number % customers)")
          .setting("data.transaction.purchaseDate", .integer(now - Self.day))
          .setting("data.transaction.expiresDate", .integer(now + 20 * Self.day)))
    }
    let ingested = try installation.run("ingest", try installation.file("bodies", bodies))
    #expect(ingested.code == 0, "\(ingested)")
  }

  @Test(arguments: ["/v1/entitlements?limit=500", "/v1/entitlements/7000/history?limit=500"])
  func `while long reads wait whose clients read nothing`(path: String) throws {
    let installation = try Installation()
    try fill(
      installation, path.contains("history") ? 1 : 500, each: path.contains("history") ? 500 : 1)
    let daemon = try installation.start()
    let request =
      "GET \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(Installation.token)\r\n\r\n"
    let clients = (0..<250).map { _ in daemon.client() }
    for client in clients { #expect(client.write(Array(request.utf8))) }
    // The first pages are there, and the others wait.
    #expect(daemon.client().get("/healthz", token: nil)?.status == 200)
    try stop(daemon, installation, events: 500)
    withExtendedLifetime(clients) {}
  }

  /// Thousands of entitlements, which one product gives.
  private func mapping(_ product: String) -> [(String, JSONValue)] {
    let names = (0..<5_000).map { number in
      ("name-\(number)", JSONValue.array([.string(product)]))
    }
    return [("entitlements", .object(names)), ("entitlementLossLimit", .integer(1))]
  }

  @Test func `while customers are looked through, and a mapping is compared`() throws {
    let installation = try Installation()
    try fill(installation, 40)
    try installation.configure(with: mapping("pro.monthly"))
    let daemon = try installation.start()
    try daemon.logged("mapping_in_force")
    try stop(daemon, installation, events: 42)
    try installation.configure(with: mapping("pro.yearly"))
    try stop(try installation.start(), installation, events: 42)
  }

  @Test func `while a mirror's server accepts connections and does not answer`() throws {
    let installation = try Installation()
    let server = try Loopback.listen()
    defer { close(server.descriptor) }
    let mirror = JSONValue.object([
      ("name", .string("warehouse")), ("kind", .string("mirror")),
      ("connection", .string("host=127.0.0.1 port=\(server.port) dbname=warehouse user=mirror")),
    ])
    try installation.configure(with: [("sinks", .array([mirror]))])
    let daemon = try installation.start()
    let accepted = accept(server.descriptor, nil, nil)
    #expect(accepted >= 0)
    defer { close(accepted) }
    try stop(daemon, installation, events: 0)
    #expect(!daemon.log.contains("sink_down"))
  }
}
