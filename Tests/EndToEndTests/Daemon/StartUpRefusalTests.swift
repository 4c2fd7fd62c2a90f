import Foundation
import Store
import StrictJSON
import Support
import Testing

/// Files and settings with which the daemon must not start; it does not change them (promise 10).
@Suite struct StartUpRefusalTests {
  private func filled(_ events: Int = 3) throws -> Installation {
    let installation = try Installation()
    let lines = try (1...events).map { try installation.sign(Sample.notification($0)) }
    let ingested = try installation.run("ingest", try installation.file("all", lines))
    #expect(ingested.code == 0, "\(ingested)")
    return installation
  }

  /// The files after a crash, with events in the -wal.
  private func crashed(_ events: ClosedRange<Int> = 1...3) throws -> Installation {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for number in events {
      let body = try installation.sign(Sample.notification(number))
      #expect(client.post(body)?.status == 200)
    }
    try daemon.crash()
    let files = try installation.files()
    #expect(files["journal.sqlite-wal"]?.isEmpty == false)
    return installation
  }

  private func expectRefusal(
    _ installation: Installation, code: Int32, _ message: String,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try installation.files()
    for command in [["serve"], ["ingest", "/dev/null"]] {
      let finished = try installation.launch(
        command + ["--config", installation.config.path]
      ).finish(within: 60)
      #expect(finished.code == code, "\(finished)", sourceLocation: location)
      #expect(finished.errors.contains(message), "\(finished)", sourceLocation: location)
      #expect(try installation.files() == before, sourceLocation: location)
    }
  }

  private func change(_ file: URL, at offset: Int, to bytes: [UInt8]) throws {
    var content = try Data(contentsOf: file)
    content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    try content.write(to: file)
  }

  // MARK: Permissions

  @Test func `files that others can use are a warning each, and private ones none`() throws {
    let installation = try filled()
    #expect(try installation.run("anchor").code == 0)
    let key = installation.data.appending(path: "anchor.key").path
    func warnings() throws -> [String] {
      let daemon = try installation.start()
      try daemon.stop()
      return daemon.log.split(separator: "\n").filter { $0.contains("open_to_others") }
        .map(String.init)
    }
    #expect(try warnings() == [])
    for (path, mode) in [
      (installation.data.path, 0o750), (key, 0o640), (installation.config.path, 0o644),
    ] { #expect(chmod(path, mode_t(mode)) == 0) }
    let found = try warnings()
    #expect(found.count == 3, "\(found)")
    for (line, next) in zip(found, ["0750", "0640", "0644"]) {
      #expect(line.contains("\"mode\":\"\(next)\"") && line.contains("warning"), "\(line)")
    }
  }

  // MARK: Data

  @Test func `a newer schema exits with 4`() throws {
    let installation = try filled()
    try change(installation.journal, at: 60, to: [0, 0, 0, 99])
    try expectRefusal(installation, code: 4, "run the newer program")
    for command in ["verify", "rebuild", "events"] {
      #expect(try installation.run(command).code == 4, "\(command)")
    }
  }

  @Test func `a database of another program is refused`() throws {
    let installation = try filled()
    try change(installation.journal, at: 68, to: [1, 2, 3, 4])
    try expectRefusal(installation, code: 1, "another program's file")
  }

  @Test(arguments: ["", "notes of a person\n", "SQLite format 3\u{0}"])
  func `a file that is not a journal is refused`(text: String) throws {
    let installation = try Installation()
    try FileManager.default.createDirectory(
      at: installation.data, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: installation.journal)
    try expectRefusal(installation, code: 1, "journal.sqlite is")
  }

  @Test func `a copy without its write-ahead log is refused`() throws {
    let installation = try crashed()
    for name in ["journal.sqlite-wal", "journal.sqlite-shm"] {
      try FileManager.default.removeItem(at: installation.data.appending(path: name))
    }
    try expectRefusal(installation, code: 1, "-wal is missing")
  }

  @Test func `the write-ahead log of another journal is refused`() throws {
    let installation = try crashed()
    let other = try crashed(11...18)
    let wal = "journal.sqlite-wal"
    let foreign = try #require(try other.files()[wal])
    try foreign.write(to: installation.data.appending(path: wal))
    try expectRefusal(installation, code: 1, "-wal")
  }

  @Test func `a write-ahead log without a journal is refused`() throws {
    let installation = try crashed()
    try FileManager.default.removeItem(at: installation.journal)
    try expectRefusal(installation, code: 1, "journal.sqlite is missing")
  }

  @Test func `a chain that breaks near its end is refused`() throws {
    let installation = try filled(5)
    let connection = try SQLiteConnection.open(installation.journal.path, .write)
    try connection.execute(
      "DROP TRIGGER event_update; UPDATE event SET hash = zeroblob(32) WHERE seq = 4")
    try connection.checkpointTruncate()
    connection.close()
    try expectRefusal(installation, code: 1, "breaks at seq 4; run `subledger verify`")
  }

  @Test func `commands without data fail and make no folder`() throws {
    let installation = try Installation()
    for arguments in [
      ["verify"], ["rebuild"], ["events"], ["entitlement", "1"], ["history", "1"],
      ["quarantine", "list"],
    ] {
      let finished = try installation.launch(
        arguments + ["--config", installation.config.path]
      ).finish(within: 60)
      #expect(finished.code != 0 && !finished.errors.isEmpty, "\(arguments): \(finished)")
    }
    #expect(!FileManager.default.fileExists(atPath: installation.data.path))
  }

  // MARK: Configuration

  private func expectComplaint(
    _ installation: Installation, _ parts: String...,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let finished = try installation.launch(["serve", "--config", installation.config.path])
      .finish(within: 60)
    #expect(finished.code == 2, "\(finished)", sourceLocation: location)
    for part in parts {
      #expect(finished.errors.contains(part), "\(finished)", sourceLocation: location)
    }
    #expect(
      !FileManager.default.fileExists(atPath: installation.data.path), sourceLocation: location)
  }

  @Test func `an unknown configuration key is named`() throws {
    let installation = try Installation()
    try installation.configure(with: [("trustRoot", .string("x"))])
    try expectComplaint(installation, "unknown key \"trustRoot\"")
    try installation.configure(apps: [Installation.app().setting("bundleID", .string("x"))])
    try expectComplaint(installation, "apps[0]", "unknown key \"bundleID\"")
    try installation.configure(with: [("limits", .object([("bodybytes", .integer(1))]))])
    try expectComplaint(installation, "unknown key \"limits.bodybytes\"")
  }

  @Test func `an unusable trust root is refused and two good ones work`() throws {
    let installation = try Installation()
    let garbage = try installation.file("garbage.der", [Array("no certificate".utf8)])
    for roots in [["absent.der"], [garbage], [], [installation.root.path, garbage]] {
      try installation.configure(
        with: [("trustRoots", .array(roots.map(JSONValue.string)))])
      try expectComplaint(installation, roots == ["absent.der"] ? "absent.der" : "trustRoots")
    }
    let two = try Installation()
    try installation.configure(
      with: [("trustRoots", .array([.string("root.der"), .string(two.root.path)]))])
    let daemon = try installation.start()
    let theirs = try two.sign(Sample.notification(1))
    #expect(daemon.client().post(theirs)?.status == 200)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a configuration that is not one JSON object is refused`() throws {
    let installation = try Installation()
    for text in ["", "[]", "{\"apps\": [", "{} {}", "{\"data\": \"a\", \"data\": \"b\"}"] {
      try Data(text.utf8).write(to: installation.config)
      try expectComplaint(installation, "config.json")
    }
    try FileManager.default.removeItem(at: installation.config)
    try expectComplaint(installation, "config.json")
  }

  @Test func `impossible settings are refused and named`() throws {
    let installation = try Installation()
    try installation.configure(apps: [Installation.app().setting("appAppleId", nil)])
    try expectComplaint(installation, "apps[0]", "appAppleId")
    try installation.configure(apps: [Installation.app(), Installation.app()])
    try expectComplaint(installation, "apps[1]", "bundleId")
    try installation.configure(
      apps: [Installation.app().setting("environments", .array([.string("production")]))])
    try expectComplaint(installation, "apps[0]", "environment")
    try installation.configure(with: [
      ("readTokens", .array([.object([("name", .string("a")), ("sha256", .string("12"))])]))
    ])
    try expectComplaint(installation, "readTokens[0]", "sha256")
    try installation.configure(with: [("limits", .object([("bodyBytes", .integer(0))]))])
    try expectComplaint(installation, "limits.bodyBytes")
  }
}
