import Foundation
import Platform
import Store
import StrictJSON
import Support
import Testing

/// Files of notifications: `ingest` names a bad line, and journals what is before it.
@Suite struct IngestTests {
  /// A bad line, by its name, and the code it is refused with.
  enum Bad: String, CaseIterable, Sendable {
    case tampered, foreign, windows, long, binary, unsigned, stranger

    func line(_ installation: Installation) throws -> [UInt8] {
      let good = try installation.sign(Sample.notification(50))
      switch self {
      case .tampered: return good.dropLast(10) + Array("AAAAAAAA".utf8) + good.suffix(2)
      case .foreign:
        return try installation.sign(Sample.notification(51, bundleId: "com.example.foreign"))
      case .windows: return good + [0x0D]
      case .long:
        return Array("{\"x\":\"".utf8) + [UInt8](repeating: 0x61, count: 700_000)
          + Array("\",".utf8) + good.dropFirst()
      case .binary: return [0xFF, 0x00, 0xC0, 0x80, 0x1B]
      case .unsigned: return Sample.notification(52).bytes
      case .stranger: return try Installation().sign(Sample.notification(53))
      }
    }
  }

  private func good(_ numbers: ClosedRange<Int>, _ installation: Installation) throws -> [[UInt8]] {
    try numbers.map { try installation.sign(Sample.notification($0)) }
  }

  private func expect(
    _ finished: CommandResult, lines: Int64, accepted: Int64, duplicates: Int64 = 0, refused: Int64,
    conflicts: Int64 = 0, location: SourceLocation = #_sourceLocation
  ) throws {
    let counts = try #require(try finished.lines().last, "\(finished)", sourceLocation: location)
    #expect(
      counts.value.text == "{\"lines\":\(lines),\"accepted\":\(accepted),"
        + "\"duplicates\":\(duplicates),\"refused\":\(refused),\"conflicts\":\(conflicts),"
        + "\"without_purchases\":0}",
      sourceLocation: location)
    #expect(finished.code == (refused == 0 ? 0 : 1), sourceLocation: location)
  }

  @Test(arguments: [false, true])
  func `ingest reports a conflict, which is kept once and leaves quarantine when it is dropped`(
    besideDaemon: Bool
  ) throws {
    let installation = try Installation()
    let daemon = besideDaemon ? try installation.start() : nil
    let other = Sample.notification(1).setting("subtype", .string("RESUBSCRIBE"))
    let file = try installation.file(
      "lines", try good(1...2, installation) + [installation.sign(other)])
    try expect(
      try installation.run("ingest", file, "--json"), lines: 3, accepted: 2, refused: 0,
      conflicts: 1)
    let again = try installation.run("ingest", file, "--json")
    try expect(again, lines: 3, accepted: 0, duplicates: 2, refused: 0, conflicts: 1)
    let text = try installation.run("ingest", file)
    #expect(text.output.contains("quarantine list --reason conflict"), "\(text)")
    let items = try installation.run("quarantine", "list", "--reason", "conflict", "--json").lines()
    let id = try #require(items.first?["id"]?.integer)
    #expect(items.count == 1)
    let refused = try installation.run("quarantine", "admit", "\(id)")
    #expect(refused.code == 1 && refused.errors.contains("quarantine drop \(id)"), "\(refused)")
    #expect(try installation.run("quarantine", "drop", "\(id)").code == 0)
    #expect(try installation.run("quarantine", "list", "--json").lines().isEmpty)
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.verify().code == 0)
  }

  @Test(arguments: Bad.allCases, [false, true])
  func `ingest stops at a bad line, or skips it if asked`(bad: Bad, besideDaemon: Bool) throws {
    let installation = try Installation()
    let daemon = besideDaemon ? try installation.start() : nil
    let lines =
      try good(1...3, installation) + [bad.line(installation)]
      + good(4...6, installation)
    let file = try installation.file("lines", lines)
    let stopped = try installation.run("ingest", file, "--json")
    try expect(stopped, lines: 4, accepted: 3, refused: 1)
    #expect(stopped.errors.contains("line 4 "), "\(stopped)")
    #expect(try installation.events().count == 3)
    let skipped = try installation.run("ingest", file, "--json", "--skip-bad")
    try expect(skipped, lines: 7, accepted: 3, duplicates: 3, refused: 1)
    #expect(skipped.errors.contains("line 4 "))
    #expect(try installation.events().count == 6)
    let listed = try installation.run("quarantine", "list", "--json")
    #expect(try listed.lines().count == (bad == .foreign ? 1 : 0), "\(listed)")
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.verify().code == 0)
  }

  @Test(arguments: [false, true])
  func `blank lines are skipped, and lines keep their number in the file`(
    besideDaemon: Bool
  ) throws {
    let installation = try Installation()
    let daemon = besideDaemon ? try installation.start() : nil
    let blank = [[], Array("  \t".utf8), [0x0D]]
    let whole = try installation.file("whole", blank + good(1...2, installation) + blank)
    try expect(try installation.run("ingest", whole, "--json"), lines: 2, accepted: 2, refused: 0)
    let lines = try blank + good(3...3, installation) + blank + [Array("{}".utf8)]
    let broken = try installation.run("ingest", try installation.file("lines", lines), "--json")
    try expect(broken, lines: 2, accepted: 1, refused: 1)
    #expect(broken.errors.contains("line 8 was refused"), "\(broken)")
    let empty = try installation.run("ingest", try installation.file("blank", blank), "--json")
    try expect(empty, lines: 0, accepted: 0, refused: 0)
    if let daemon { #expect(try daemon.stop().code == 0) }
  }

  @Test(arguments: [false, true])
  func `a given receive time is preserved unless it is before the head`(besideDaemon: Bool) throws {
    let installation = try Installation()
    let daemon = besideDaemon ? try installation.start() : nil
    func line(_ number: Int, _ time: String) throws -> [UInt8] {
      Array("{\"received_at_ms\":\(time),\"body\":".utf8)
        + (try installation.sign(Sample.notification(number))) + [UInt8(ascii: "}")]
    }
    let time = Sample.start
    let file = try installation.file(
      "timed", [line(1, "\(time)"), line(2, "\(time)"), line(3, "\(time + 5)")])
    try expect(try installation.run("ingest", file, "--json"), lines: 3, accepted: 3, refused: 0)
    #expect(
      try installation.events().map { $0["received_at"]?.integer } == [time, time, time + 5])
    // A receive time before the head, in the middle of the file.
    let behind = try installation.file(
      "behind", [line(4, "\(time + 6)"), line(5, "\(time + 1)"), line(6, "\(time + 7)")])
    let stopped = try installation.run("ingest", behind, "--json")
    #expect(stopped.errors.contains("line 2 "), "\(stopped)")
    try expect(stopped, lines: 2, accepted: 1, refused: 1)
    let times = try installation.events().map { $0["received_at"]?.integer }
    #expect(times == [time, time, time + 5, time + 6])
    let before = times.count
    for wrong in ["-1", "1.5", "\"1\"", "99999999999999999999"] {
      let file = try installation.file("wrong", [line(7, wrong)])
      #expect(try installation.run("ingest", file).code == 1, "\(wrong)")
    }
    #expect(try installation.events().count == before)
    // A line without a receive time is received after them.
    let plain = try installation.file("plain", good(8...8, installation))
    #expect(try installation.run("ingest", plain).code == 0)
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.verify().code == 0)
  }

  @Test func `an interrupted ingest continues at the next run`() throws {
    let signer = try Installation()
    // More than two batches.
    let lines = try good(1...2_200, signer)
    // A run that ends before the interruption proves nothing: try again.
    for _ in 0..<10 where try interrupted(Installation(authority: signer.authority), lines) {
      return
    }
    Issue.record("no ingest was interrupted in the middle")
  }

  /// - Returns: whether it was cut off in the middle.
  private func interrupted(_ installation: Installation, _ lines: [[UInt8]]) throws -> Bool {
    let file = try installation.file("long", lines)
    let running = try installation.launch([
      "ingest", file, "--json", "--config", installation.config.path,
    ])
    let journal = installation.journal.path + "-wal"
    try running.wait(60, "the first batch") {
      let size = try? FileManager.default.attributesOfItem(atPath: journal)[.size] as? Int
      return (size ?? 0) > 200_000 || !running.isRunning
    }
    running.signal(SIGINT)
    let finished = try running.finish(within: 20)
    guard finished.code != 0 else { return false }
    #expect(finished.code == 130, "\(finished)")
    #expect(finished.errors.contains("stopped"))
    let accepted = try #require(try finished.lines().last?["accepted"]?.integer)
    #expect(try installation.events().count == Int(accepted))
    guard accepted > 0, accepted < lines.count else { return false }
    let again = try installation.run("ingest", file, "--json")
    let count = Int64(lines.count)
    try expect(
      again, lines: count, accepted: count - accepted, duplicates: accepted, refused: 0)
    return true
  }

  @Test func `^C ends ingest while its input is silent, and no line that is cut is taken`() throws {
    let installation = try Installation()
    let path = installation.folder.appending(path: "pipe").path
    try #require(mkfifo(path, 0o600) == 0)
    let pipe = open(path, O_RDWR)
    defer { close(pipe) }
    let text = try good(1...1, installation)[0] + [0x0A] + Array(#"{"signedPayload":"#.utf8)
    try #require(write(pipe, text, text.count) == text.count)
    let running = try installation.launch([
      "ingest", path, "--json", "--config", installation.config.path,
    ])
    try running.wait(60, "everything is read") {
      var left: Int32 = 0
      return ioctl(pipe, UInt(FIONREAD), &left) == 0 && left == 0
    }
    running.signal(SIGINT)
    let finished = try running.finish(within: 20)
    #expect(finished.code == 130, "\(finished)")
    #expect(try finished.lines().last?["accepted"]?.integer == 1)
  }

  @Test func `a missing file is an error and an empty one is not`() throws {
    let installation = try Installation()
    let absent = try installation.run("ingest", "/no/such/file")
    #expect(absent.code != 0 && absent.errors.contains("/no/such/file"), "\(absent)")
    let folder = try installation.run("ingest", installation.folder.path)
    #expect(folder.code == 3, "\(folder)")
    #expect(!FileManager.default.fileExists(atPath: installation.journal.path))
    let nothing = try installation.run("ingest", "/dev/null", "--json")
    try expect(nothing, lines: 0, accepted: 0, refused: 0)
  }

  /// The next command finds rows, also if another process was building them. ^C leaves the
  /// building to the next start, and no event is lost.
  @Test(arguments: [true, false]) func `ingest waits for the projection unless interrupted`(
    isInterrupted: Bool
  ) throws {
    let installation = try Installation()
    let file = try installation.file("all", good(1...3, installation))
    try FileManager.default.createDirectory(
      at: installation.data, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    // As a rebuild in another process does.
    var lock: FolderLock? = try installation.dataFolder.lockRebuild()
    let ingest = try installation.launch(["ingest", "--config", installation.config.path, file])
    try ingest.wait(60, "it to wait") {
      ingest.errorsSoFar().contains("^C leaves that to the next start")
    }
    #expect(ingest.isRunning)
    if isInterrupted { ingest.signal(SIGINT) } else { lock = nil }
    let finished = try ingest.finish()
    #expect(finished.code == 0 && finished.output.contains("3 accepted"), "\(finished)")
    #expect(try installation.roles().contains("live") == !isInterrupted)
    // Without rows the journal answers.
    let row = try installation.run("entitlement", "7000", "--json")
    #expect(try row.code == 0 && row.lines().first?["event_count"]?.integer == 3, "\(row)")
    _ = consume lock
  }
}
