import Foundation
import HTTPServer
import Store
import StrictJSON
import Support
import Testing

/// A command says the same beside a daemon, which does the work then, and without one.
@Suite struct BothWaysTests {
  /// In this order, because some change what the next ones show.
  private static let commands: [[String]] = [
    ["entitlement", "700"], ["entitlement", "1"], ["entitlement", "700", "--json"],
    ["customer", Sample.uuid(77)], ["customer", Sample.uuid(77), "--json"],
    ["history", "700"], ["history", "700", "--json", "--raw"], ["explain", "700"],
    ["events"], ["events", "--json"], ["quarantine", "list"], ["quarantine", "list", "--json"],
    ["quarantine", "admit", "1"], ["quarantine", "admit", "--reason", "other_app"],
    ["quarantine", "drop", "1"], ["quarantine", "drop", "1"],
    ["quarantine", "drop", "--app", "com.example.other", "--json"],
    ["grant", Sample.uuid(77), "--entitlement", "pro", "--until", "2999-01-01"],
    ["grant", Sample.uuid(77), "--entitlement", "pro", "--json"],
    ["grant", Sample.uuid(77), "--revoke", "nothing"],
    ["grant", "user-1", "--by", "account", "--entitlement", "pro"],
    ["customer", "user-1", "--by", "account"], ["erase", "--account", "user-1", "--yes", "--json"],
    ["erase", "--account", "user-1"], ["erase", "--account", "user-1", "--yes"],
    ["ingest", "more"], ["ingest", "more", "--json"],
    ["ingest", "bad"], ["ingest", "bad", "--skip-bad", "--json"],
    ["query", "SELECT count(*) FROM journal_v1"], ["rebuild"], ["rebuild", "--diff"],
    ["rebuild", "--apply"], ["rebuild", "--only", "700"], ["rebuild", "--only", "1"],
    ["export", "-"],
  ]

  private static let entitlements = JSONValue.object([("pro", .array([.string("pro.*")]))])

  private func filled() throws -> Installation {
    let installation = try Installation()
    try installation.configure(with: [("entitlements", Self.entitlements)])
    try installation.fill(1...4)
    let foreign = try (5...6).map { number in
      try installation.sign(
        Sample.notification(number, otid: "600", bundleId: "com.example.other"))
    }
    let refused = try installation.run(
      "ingest", "--skip-bad", try installation.file("foreign", foreign))
    #expect(refused.code == 1, "\(refused)")
    // A daemon journals the mapping of products.
    try installation.start().stop()
    return installation
  }

  /// Output without what no two runs have in common: ids that are made, and times of our clock.
  private static func normalized(_ result: CommandResult) -> String {
    "\(result.code)\n\(result.output)\n\(result.errors)"
      .replacing(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, with: "UUID")
      .replacing(/20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?/, with: "TIME")
      .replacing(/"(received_at|received_at_ms|as_of)":\d+/, with: "RECEIVED")
      .replacing(/"hash":"[0-9a-f]{64}"/, with: "HASH")
      .replacing(/\/[^ ]*sl-[0-9A-F-]{36}/, with: "FOLDER")
      .replacing(/\ in \d[^\n]*/, with: "SPEED")
      .replacing(/(rows|entitlements)-\d+[-0-9a-z]*/, with: "NAME")
  }

  @Test func `every command prints the same and exits alike`() throws {
    let alone = try filled()
    let served = try alone.copy()
    try served.configure(with: [("entitlements", Self.entitlements)])
    let more = try (7...9).map { try alone.sign(Sample.notification($0, otid: "701")) }
    let bad = [more[0], Array("{}".utf8), try alone.sign(Sample.notification(10, otid: "702"))]
    for installation in [alone, served] {
      _ = try installation.file("more", more)
      _ = try installation.file("bad", bad)
    }
    let daemon = try served.start()
    for words in Self.commands {
      let results = try [alone, served].map { installation in
        try installation.run(
          words.map { word in
            ["more", "bad"].contains(word) ? installation.folder.path + "/" + word : word
          })
      }
      let (alone, served) = (Self.normalized(results[0]), Self.normalized(results[1]))
      #expect(alone == served, "\(words)")
    }
    try daemon.stop()
    for installation in [alone, served] { #expect(try installation.verify().code == 0) }
  }

  @Test func `a daemon that does not know a command's route is named as of another version`() throws
  {
    let installation = try filled()
    let server = try HTTPServer.start(
      ServerConfiguration(listen: "127.0.0.1:0", socketPath: installation.dataFolder.controlSocket)
    ) { OtherVersion() }
    defer { server.drain(within: 0) }
    let result = try installation.run("erase", "--account", "user-1", "--yes")
    #expect(result.code == 3, "\(result)")
    #expect(result.errors.contains("is of another version than this program"), "\(result)")
  }

  /// A daemon that knows no route.
  private final class OtherVersion: RequestHandler {
    struct Context {}

    func admit(_ head: RequestHead) -> Admission<Context> { .refuse(refuse(status: 404)) }
    func isQueued(_ context: Context) -> Bool { false }
    func respond(
      to request: HTTPRequest, _ context: Context, through sender: ResponseSender
    ) -> HTTPResponse? { nil }
    func refuse(status: Int) -> HTTPResponse {
      HTTPResponse(status: status, body: Array(#"{"code":"no_such_route"}"#.utf8), closes: true)
    }
    func recordRefusal(status: Int) {}
    func recordConnection(_ change: ConnectionChange) {}
  }
}
