import Foundation
import StrictJSON
import Support
import Testing

/// A daemon with a token for an app's backend, which hands over what the app has.
struct SubmittingDaemon {
  static let submitter = "e2e-token-that-submits-4711"
  /// May read too: it is shown the rows of what it submitted.
  private static let reader = "e2e-token-that-submits-and-reads-4716"
  private static let otherSubmitter = "e2e-token-of-another-app-4712"

  let installation: Installation
  let daemon: RunningDaemon
  private let path: String

  /// - Parameter path: the route that the tests are about.
  init(_ path: String) throws {
    self.path = path
    installation = try Installation()
    let submit = ("may", JSONValue.array([.string("submit")]))
    try installation.configure(with: [
      (
        "readTokens",
        .array([
          Installation.token("backend", Installation.token, []),
          Installation.token("app", Self.submitter, [submit]),
          Installation.token(
            "reader", Self.reader, [("may", .array([.string("submit"), .string("read")]))]),
          Installation.token(
            "other", Self.otherSubmitter,
            [submit, ("bundleIds", .array([.string("com.example.other")]))]),
        ])
      )
    ])
    daemon = try installation.start()
  }

  func head(_ body: [UInt8], to path: String? = nil, token: String? = reader) -> String {
    let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    return "POST \(path ?? self.path) HTTP/1.1\r\nHost: localhost\r\n"
      + "Content-Type: application/json\r\n\(authorization)Content-Length: \(body.count)\r\n\r\n"
  }

  func submit(
    _ body: [UInt8], token: String? = reader, to path: String? = nil
  ) throws -> Client.Answer {
    try #require(daemon.client().send(head(body, to: path, token: token), body))
  }

  func refuses(
    _ body: [UInt8], _ status: Int, _ code: String, token: String? = submitter,
    to path: String? = nil, at location: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try submit(body, token: token, to: path)
    #expect(answer.status == status, "\(answer.text)", sourceLocation: location)
    #expect(answer.json?["code"]?.string == code, sourceLocation: location)
  }

  /// Expects what no route of submissions takes.
  func refusesAccess(to good: [UInt8]) throws {
    try refuses(good, 401, "token", token: nil)
    try refuses(good, 401, "token", token: "unknown")
    try refuses(good, 403, "not_allowed", token: Installation.token)
    try refuses(good, 403, "not_allowed", token: Self.otherSubmitter)
    try refuses(good, 400, "query", to: "\(path)?x=1")
    for text in ["{}", "[1]"] { try refuses(Array(text.utf8), 400, "envelope") }
    try refuses(Array("{".utf8), 400, "json")
  }

  /// Nothing was kept, in the journal or in quarantine.
  func isEmpty() throws {
    #expect(try installation.events().isEmpty)
    let quarantine = try #require(daemon.client().get("/v1/quarantine")?.json)
    #expect(quarantine["items"]?.elements.isEmpty == true)
  }

  /// What `ingest` counts of these lines, beside the daemon or after it has stopped.
  func ingest(_ lines: [[UInt8]], besideDaemon: Bool) throws -> JSONElement {
    if !besideDaemon { #expect(try daemon.stop().code == 0) }
    let result = try installation.run("ingest", try installation.file("lines", lines), "--json")
    return try #require(try result.lines().last, "\(result)")
  }
}
