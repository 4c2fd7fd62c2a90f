import Foundation
import StrictJSON
import Support
import Testing

/// `grant` and `erase`, beside a daemon and without one.
@Suite struct StatementCommandTests {
  private static let token = Sample.uuid(77)

  private func filled() throws -> Installation {
    let installation = try Installation()
    let products = JSONValue.array([.string("pro.*")])
    try installation.configure(with: [("entitlements", .object([("pro", products)]))])
    try installation.fill(1...2)
    return installation
  }

  private func pro(_ installation: Installation) throws -> JSONElement? {
    let shown = try installation.run("customer", Self.token, "--json")
    return try shown.lines().first?["entitlements"]?["pro"]
  }

  @Test(arguments: [true, false]) func `a grant is made and ended by commands`(
    besideDaemon: Bool
  ) throws {
    let installation = try filled()
    let daemon = besideDaemon ? try installation.start() : nil
    let user = "\"user\":\"\(NSUserName())\""
    let granted = try installation.run(
      "grant", Self.token, "--entitlement", "pro", "--until", "2999-01-01")
    #expect(granted.code == 0, "\(granted)")
    #expect(granted.firstLine.hasPrefix("pro is granted until 2999"), "\(granted)")
    #expect(try pro(installation)?["basis"]?.string == "granted")
    _ = try daemon?.logged("\"statement\"", "accepted", user)
    let events = try installation.run("events", "--json").lines()
    let event = try #require(events.last)
    #expect(event["source"]?.string == "grant")
    let unknown = try installation.run("grant", Self.token, "--revoke", "nothing")
    #expect(unknown.code == 1, "\(unknown)")
    let journal = try installation.run(
      "query", "--json", "SELECT count(*) AS n FROM journal_v1 WHERE source <> 'catalog'")
    #expect(try journal.lines().first?["n"]?.integer == 3)
    try daemon?.stop()
    #expect(try installation.verify().code == 0)
  }

  @Test(arguments: [true, false]) func `an account is forgotten by a command`(
    besideDaemon: Bool
  ) throws {
    let installation = try filled()
    let granting = try installation.run(
      "grant", "user-4711", "--by", "account", "--entitlement", "pro")
    #expect(granting.code == 0, "\(granting)")
    let daemon = besideDaemon ? try installation.start() : nil
    for answer in ["", "no", "yess"] {
      let left = try erase(installation, answer)
      #expect(left.code == 2 && left.errors.contains("--yes"), "\(left)")
    }
    #expect(try installation.run("customer", "user-4711", "--by", "account").code == 0)
    #expect(try erase(installation, "yes").code == 0)
    _ = try daemon?.logged("\"erased\"", "\"user\":\"\(NSUserName())\"")
    #expect(try installation.run("erase", "--account", "user-4711", "--yes").code == 1)
    #expect(try installation.run("customer", "user-4711", "--by", "account").code == 1)
    try daemon?.stop()
    #expect(try installation.verify().code == 0)
  }

  /// Runs `erase` with an answer to its question on standard input.
  private func erase(_ installation: Installation, _ answer: String) throws -> CommandResult {
    let command = "erase --account user-4711 --config '\(installation.config.path)'"
    return try RunningCommand(
      ["-c", "printf '%s\\n' '\(answer)' | '\(RunningCommand.program.path)' \(command)"],
      in: installation.folder, program: URL(filePath: "/bin/sh")
    ).finish()
  }

  @Test(arguments: [
    ["grant"], ["grant", "x"], ["grant", "x", "--by", "nobody"],
    ["grant", "u", "--by", "account"], ["grant", "u", "--by", "account", "--entitlement", "max"],
    ["grant", "u", "--by", "account", "--entitlement", "pro", "--until", "2000-01-01"],
    ["grant", "u", "--by", "account", "--entitlement", "pro", "--until", "soon"], ["erase"],
    ["erase", "--account", ""],
  ]) func `a grant or an erasure that makes no sense is a usage error`(words: [String]) throws {
    let installation = try filled()
    let result = try installation.launch(words + ["--config", installation.config.path]).finish()
    #expect(result.code == 2, "\(result)")
    #expect(try installation.run("events", "--json").lines().count == 2)
  }
}
