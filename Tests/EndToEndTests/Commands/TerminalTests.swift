import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// What notifications and arguments say cannot control the terminal of who reads it.
@Suite struct TerminalTests {
  /// Clears the screen in two encodings, turns the direction of text, and begins a new line.
  private static let hostile = "x\u{1B}[2J\u{9B}2J\u{202E}\u{2066}\r\ny"

  private static let commands = [
    ["entitlement", "7000"], ["history", "7000"], ["history", "7000", "--raw"],
    ["explain", "7000"], ["events"], ["quarantine", "list"], ["verify"], ["doctor"],
    ["query", "SELECT product_id, '\(hostile)' FROM entitlement_v1"],
    ["query", "SELECT notification_type, subtype FROM journal_v1"],
  ]

  private func filled() throws -> Installation {
    let installation = try Installation()
    let hostile = JSONValue.string(Self.hostile)
    var first = Sample.notification(1).setting("subtype", hostile)
    if let data = first["data"], let transaction = data["transaction"] {
      first = first.setting(
        "data", data.setting("transaction", transaction.setting("productId", hostile)))
    }
    let foreign = Sample.notification(2, type: Self.hostile, bundleId: Self.hostile)
    let lines = [try installation.sign(first), try installation.sign(foreign)]
    let ingested = try installation.run(
      "ingest", "--skip-bad", try installation.file("lines", lines), "--json")
    let counts = try #require(try ingested.lines().last)
    #expect(counts["accepted"]?.integer == 1 && counts["refused"]?.integer == 1, "\(ingested)")
    return installation
  }

  private func isVisible(_ text: String) -> Bool { VisibleText.ofLines(text) == text }

  @Test func `text shows controls of stored values by number`() throws {
    let installation = try filled()
    for arguments in Self.commands {
      let finished = try installation.launch(
        arguments + ["--config", installation.config.path]
      ).finish()
      #expect(isVisible(finished.output) && isVisible(finished.errors), "\(arguments)")
      #expect(!finished.output.contains("\ny"), "\(arguments): a value began a line")
    }
    #expect(try installation.run("events").output.contains("<U+1B>[2J<U+9B>2J<U+202E><U+2066>"))
  }

  @Test func `errors show controls of arguments by number`() throws {
    let installation = try Installation()
    for arguments in [
      [Self.hostile], ["--" + Self.hostile], ["help", Self.hostile], ["events", Self.hostile],
      ["events", "--data", Self.hostile], ["ingest", Self.hostile], ["simulate", Self.hostile],
      ["simulate", "ca", "none/" + Self.hostile], ["serve", "--listen", Self.hostile],
      ["export", "--output", "none/" + Self.hostile], ["verify", "--config", Self.hostile],
    ] {
      let finished = try installation.launch(arguments).finish()
      #expect(finished.code != 0 && isVisible(finished.errors), "\(arguments): \(finished)")
      #expect(finished.errors.contains("<U+9B>"), "\(arguments): \(finished)")
    }
  }

  @Test func `data is unchanged for a program and visible on a terminal`() throws {
    let installation = try filled()
    let sql = "SELECT subtype FROM journal_v1"
    let csv = try installation.run("query", "--csv", sql).output
    #expect(csv == "subtype\n\"\(Self.hostile)\"\n")
    let event = try #require(try installation.events().first)
    #expect(event["subtype"]?.string == Self.hostile)
    for arguments in [["events", "--json"], ["query", "--json", sql], ["query", "--csv", sql]] {
      let shown = try onTerminal(installation, arguments + ["--config", installation.config.path])
      #expect(shown.contains("<U+202E>") && shown.contains("<U+9B>"), "\(shown)")
      #expect(isVisible(shown.replacing("\r\n", with: "\n")), "\(shown)")
    }
  }

  /// What the program writes to a terminal.
  private func onTerminal(_ installation: Installation, _ arguments: [String]) throws -> String {
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    defer { close(terminal) }
    // Unlocks the other end and gets its number (ioctl_tty(2)).
    var (unlocked, number): (Int32, Int32) = (0, 0)
    guard ioctl(terminal, 0x4004_5431, &unlocked) == 0, ioctl(terminal, 0x8004_5430, &number) == 0
    else { throw TestFailure("no terminal") }
    let process = try SpawnedProcess(
      RunningCommand.program.path, arguments, in: installation.folder.path,
      environment: RunningCommand.inheritedEnvironment, output: "/dev/pts/\(number)",
      errors: "/dev/null")
    while process.isRunning { usleep(5_000) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = read(terminal, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
