import Foundation
import Glibc
import Store
import StrictJSON
import Support
import Testing

/// Paths at which there is something else than the expected file. No command waits for a pipe,
/// follows a link, or uses a backup as a data folder.
@Suite struct OddFileTests {
  private func filled() throws -> Installation {
    let installation = try Installation()
    let lines = try (1...3).map { try installation.sign(Sample.notification($0)) }
    let ingested = try installation.run("ingest", try installation.file("all", lines))
    #expect(ingested.code == 0, "\(ingested)")
    return installation
  }

  /// Replaces the file by a pipe that has no writer.
  private func pipe(_ url: URL) throws {
    try? FileManager.default.removeItem(at: url)
    guard mkfifo(url.path, 0o600) == 0 else { throw TestFailure("no pipe at \(url.path)") }
  }

  private func expectRefusal(
    _ installation: Installation, _ arguments: [String], _ message: String,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let finished = try installation.launch(arguments + ["--config", installation.config.path])
      .finish(within: 20)
    #expect(
      ![0, 137].contains(finished.code), "\(arguments): \(finished)", sourceLocation: location)
    #expect(
      finished.errors.contains(message), "\(arguments): \(finished)", sourceLocation: location)
  }

  private static let commands = [
    ["serve"], ["ingest", "/dev/null"], ["verify"], ["events"], ["entitlement", "7000"],
    ["history", "7000"], ["quarantine", "list"], ["rebuild"], ["anchor"],
  ]

  // MARK: Pipes

  @Test func `a pipe as configuration is refused`() throws {
    let installation = try filled()
    try pipe(installation.config)
    for arguments in Self.commands {
      try expectRefusal(installation, arguments, "not a plain file")
    }
  }

  @Test func `pipes named by the configuration are refused`() throws {
    let installation = try Installation()
    let odd = installation.folder.appending(path: "pipe")
    try pipe(odd)
    try installation.configure(with: [("trustRoots", .array([.string(odd.path)]))])
    try expectRefusal(installation, ["serve"], "not a plain file")
    try installation.configure(
      apps: [Installation.app().setting("v1SharedSecretFile", .string(odd.path))])
    try expectRefusal(installation, ["serve"], "not a plain file")
  }

  @Test func `a pipe as journal is refused`() throws {
    let installation = try filled()
    try pipe(installation.journal)
    for arguments in Self.commands { try expectRefusal(installation, arguments, "journal.sqlite") }
  }

  @Test func `a pipe as anchors file is refused and does not stop the daemon`() throws {
    let installation = try filled()
    let odd = installation.folder.appending(path: "pipe")
    try pipe(odd)
    let anchored = try installation.run("anchor")
    #expect(anchored.code == 0, "\(anchored)")
    try expectRefusal(installation, ["verify", "--anchors", odd.path], "not a plain file")
    try expectRefusal(installation, ["anchor", "--append", odd.path], "which is not a plain file")
    try installation.configure(
      with: [("anchors", .object([("file", .string(odd.path))]))])
    try expectRefusal(installation, ["verify"], "not a plain file")
    // The daemon continues; its log has the failure.
    let daemon = try installation.start()
    #expect(daemon.client().post(try installation.sign(Sample.notification(9)))?.status == 200)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `pipes in a backup are refused`() throws {
    let installation = try filled()
    _ = try installation.run("anchor")
    for name in ["backup.json", "journal.sqlite", "anchor.key"] {
      let backup = installation.folder.appending(path: "of-\(name)")
      #expect(try installation.run("backup", backup.path).code == 0)
      try pipe(backup.appending(path: name))
      for arguments in [["backup", "--check", backup.path], ["restore", backup.path]] {
        let other = try Installation(authority: installation.authority)
        let finished = try other.launch(arguments + ["--config", other.config.path]).finish(
          within: 20)
        #expect(finished.code == 1 && "\(finished)".contains(name), "\(arguments): \(finished)")
      }
    }
  }

  @Test func `a pipe as lock file blocks no command`() throws {
    let installation = try filled()
    let lock = installation.data.appending(path: "lock")
    try pipe(lock)
    for arguments in [["verify"], ["events"]] {
      _ = try installation.launch(arguments + ["--config", installation.config.path])
        .finish(within: 20)
    }
  }

  // MARK: Links

  @Test func `a link as lock file is refused and not followed`() throws {
    let installation = try filled()
    let backup = installation.folder.appending(path: "backup")
    #expect(try installation.run("backup", backup.path).code == 0)
    let elsewhere = installation.folder.appending(path: "elsewhere")
    let other = try Installation(authority: installation.authority)
    try FileManager.default.createDirectory(at: other.data, withIntermediateDirectories: true)
    let lock = other.data.appending(path: "lock")
    try FileManager.default.createSymbolicLink(at: lock, withDestinationURL: elsewhere)
    try expectRefusal(other, ["restore", backup.path], "lock")
    try expectRefusal(other, ["serve"], "lock")
    #expect(!FileManager.default.fileExists(atPath: elsewhere.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.data.path) == ["lock"])
  }

  @Test func `a link as control socket is refused and told as such`() throws {
    let (installation, other) = (try filled(), try filled())
    let daemon = try other.start()
    let socket = DataFolder(path: installation.data.path).controlSocket
    try FileManager.default.createSymbolicLink(
      atPath: socket, withDestinationPath: DataFolder(path: other.data.path).controlSocket)
    try expectRefusal(installation, ["serve"], "\(socket): it is a symbolic link")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: socket) != "")
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a folder or a file in the place of the control socket is told as such`() throws {
    let installation = try filled()
    let socket = DataFolder(path: installation.data.path).controlSocket
    try FileManager.default.createDirectory(atPath: socket, withIntermediateDirectories: false)
    try expectRefusal(installation, ["serve"], "\(socket): it is a folder or a file")
    try FileManager.default.removeItem(atPath: socket)
    try Data("x".utf8).write(to: URL(filePath: socket))
    try expectRefusal(installation, ["serve"], "\(socket): it is a folder or a file")
  }

  // MARK: Backups

  /// Events that a daemon would journal in a backup would themselves be in no backup.
  @Test func `commands that write refuse a backup as data folder`() throws {
    let installation = try filled()
    let backup = installation.folder.appending(path: "backup")
    #expect(try installation.run("backup", backup.path).code == 0)
    try installation.configure(with: [("data", .string(backup.path))])
    let before = try files(backup)
    for arguments in [
      ["serve"], ["ingest", "/dev/null"], ["rebuild"], ["quarantine", "drop", "1"],
      ["quarantine", "admit", "1"], ["anchor"],
    ] {
      try expectRefusal(installation, arguments, "subledger restore")
    }
    #expect(try files(backup) == before)
    #expect(try installation.run("verify").code == 0)
    #expect(try files(backup) == before)
  }

  private func files(_ folder: URL) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      files[name] = try Data(contentsOf: folder.appending(path: name))
    }
    return files
  }

  @Test func `impossible values in a backup manifest are refused`() throws {
    let installation = try filled()
    let backup = installation.folder.appending(path: "backup")
    #expect(try installation.run("backup", backup.path).code == 0)
    let file = backup.appending(path: "backup.json")
    let good = try JSONDocument(parsing: Array(try Data(contentsOf: file))).root.value
    let odd: [(String, JSONValue?)] = [
      ("version", .integer(0)), ("version", .integer(-1)), ("version", .integer(.min)),
      ("version", .string("1")), ("version", .number("1.0")), ("version", nil),
      ("taken_at", .integer(-1)), ("taken_at", .integer(.min)), ("taken_at", .integer(.max)),
      ("taken_at", .integer(253_402_300_800_000)), ("taken_at", .string("now")),
      ("taken_at", .number("1e12")), ("taken_at", nil), ("schema", .integer(-1)),
      ("quarantined", .integer(-1)), ("seq", .integer(-3)), ("seq", .integer(.max)),
      ("hash", .string("00")), ("journal_id", .string("zz")), ("program", .integer(1)),
      ("files", .object([])), ("files", .array([])),
    ]
    for (name, value) in odd {
      try Data(good.setting(name, value).bytes).write(to: file)
      for arguments in [["backup", "--check", backup.path], ["restore", backup.path]] {
        let other = try Installation(authority: installation.authority)
        let finished = try other.launch(arguments + ["--config", other.config.path]).finish(
          within: 20)
        #expect(finished.code == 1, "\(name) \(value?.text ?? "none"): \(finished)")
        #expect(!FileManager.default.fileExists(atPath: other.data.path), "\(name)")
      }
    }
    try Data(good.bytes).write(to: file)
    #expect(try installation.run("backup", "--check", backup.path).code == 0)
  }
}
