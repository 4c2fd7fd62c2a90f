import Foundation
import StrictJSON
import Support
import Testing

/// From `make install` to a daemon that takes notifications, with what `init` wrote.
@Suite struct InitTests {
  /// A place of its own, gone with the value.
  final class Place {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sl-init-\(UUID())")
    var config: String { folder.path + "/etc/config.json" }
    var data: String { folder.path + "/data" }

    init() throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func run(
      _ words: [String], program: URL = RunningCommand.program, input: String? = nil
    ) throws -> Finished {
      guard let input else {
        return try RunningCommand(words, in: folder, program: program).finish()
      }
      let file = folder.appending(path: "input")
      try Data(input.utf8).write(to: file)
      let line = ([program.path] + words).map { "'\($0)'" }.joined(separator: " ")
      return try RunningCommand(
        ["-c", "\(line) <'\(file.path)'"], in: folder, program: URL(filePath: "/bin/sh")
      ).finish()
    }

    func initialise(_ more: String..., input: String? = nil) throws -> Finished {
      try run(["init", "--config", config, "--data", data] + more, input: input)
    }

    func text(_ name: String) throws -> String {
      try String(contentsOfFile: "\(folder.path)/etc/\(name)", encoding: .utf8)
    }
  }

  private static let app = ["--bundle-id", "com.example.app", "--app-apple-id", "123456789"]

  @Test func fromInstallToANotification() throws {
    let place = try Place()
    let make = try RunningCommand(
      [
        "-s", "-C", Self.root, "-o", "build", "install", "BINARY=\(RunningCommand.program.path)",
        "PREFIX=/usr", "DESTDIR=\(place.folder.path)",
      ], in: place.folder, program: URL(filePath: "/usr/bin/make")
    ).finish(within: 120)
    #expect(make.code == 0, "\(make)")
    let program = place.folder.appending(path: "usr/bin/subledger")
    for name in [
      "man/man1/subledger.1", "bash-completion/completions/subledger",
      "zsh/site-functions/_subledger", "fish/vendor_completions.d/subledger.fish",
    ] {
      let file = place.folder.appending(path: "usr/share/\(name)")
      #expect(try Data(contentsOf: file).count > 1000, "\(name)")
    }
    let made = try place.run(
      ["init", "--config", place.config, "--data", place.data, "--json", "--listen", "127.0.0.1:0"]
        + Self.app, program: program)
    #expect(made.code == 0, "\(made)")
    let token = try #require(try made.lines().first?["read_token"]?.string)
    #expect(try place.text("subledger.service").contains("ExecStart=\(program.path) serve"))
    // What init wrote is what runs, with the trial's root beside it.
    let installation = try Installation()
    try trust(installation.root.path, place.config)
    let daemon = try RunningDaemon(program: program, config: place.config, in: place.folder)
    let client = daemon.client()
    #expect(client.post(try installation.sign(Sample.notification(1, otid: "7001")))?.status == 200)
    let end = Date(timeIntervalSinceNow: 20)
    while client.get("/v1/entitlements/7001", token: token)?.status != 200, Date() < end {
      usleep(10_000)
    }
    #expect(client.get("/v1/entitlements/7001", token: token)?.status == 200)
    #expect(client.get("/v1/entitlements/7001", token: token + "x")?.status == 401)
    #expect(try daemon.stop().code == 0)
  }

  private func trust(_ root: String, _ config: String) throws {
    let bytes = Array(try Data(contentsOf: URL(filePath: config)))
    guard case .object(let members) = try JSONDocument(parsing: bytes).root.value else {
      throw Trouble("no object")
    }
    let more = members + [("trustRoots", JSONValue.array([.string(root)]))]
    try Data(JSONValue.object(more).bytes).write(to: URL(filePath: config))
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  @Test func writesPrivatelyAndOnce() throws {
    let place = try Place()
    let made = try place.initialise("--host", "sub.example.com", "--user", "ledger")
    #expect(made.code == 0, "\(made)")
    #expect(made.output.contains("https://sub.example.com/v1/notifications"))
    #expect(made.output.contains("chown -R ledger:"))
    let token = try #require(made.output.firstMatch(of: /sl_[0-9a-f]{64}/).map { String($0.0) })
    var files: [String: Data] = [:]
    for name in ["config.json", "subledger.service", "nginx.conf", "Caddyfile"] {
      let path = "\(place.folder.path)/etc/\(name)"
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      #expect((mode as? NSNumber)?.intValue == 0o600, "\(name)")
      files[name] = try Data(contentsOf: URL(filePath: path))
      #expect(!(try place.text(name).contains(token)), "\(name)")
    }
    let folder = try FileManager.default.attributesOfItem(atPath: place.data)[.posixPermissions]
    #expect((folder as? NSNumber)?.intValue == 0o700)
    #expect(try place.text("config.json").contains("\"//apps\""))
    // A daemon takes it as it is, and doctor asks for the app.
    let doctor = try place.run(["doctor", "--config", place.config])
    #expect(doctor.code == 1 && doctor.output.contains("no app is configured"), "\(doctor)")
    #expect(doctor.output.contains("1 finding\n"), "\(doctor)")
    // Whatever of it is there, the rest is not written.
    for name in files.keys {
      let again = try place.initialise()
      #expect(again.code == 2 && again.errors.contains("nothing was written"), "\(again)")
      try FileManager.default.moveItem(
        atPath: "\(place.folder.path)/etc/\(name)", toPath: "\(place.folder.path)/\(name)")
    }
    for name in files.keys {
      #expect(try Data(contentsOf: place.folder.appending(path: name)) == files[name])
    }
    let fresh = try place.initialise()
    #expect(fresh.code == 0 && !fresh.output.contains(token))
  }

  @Test(arguments: ["-", "file"])
  func takesASecretButNeverAsAnArgument(_ way: String) throws {
    let place = try Place()
    let file = place.folder.appending(path: "shared").path
    try Data("s3cret-of-the-app\n".utf8).write(to: URL(filePath: file))
    let words = way == "-" ? ["--v1-secret-file", "-"] : ["--v1-secret-file", file]
    let made = try place.run(
      ["init", "--config", place.config, "--data", place.data] + Self.app + words,
      input: way == "-" ? "s3cret-of-the-app\n" : nil)
    #expect(made.code == 0, "\(made)")
    #expect(!made.output.contains("s3cret"))
    #expect(try place.text("v1.secret") == "s3cret-of-the-app\n")
    #expect(!(try place.text("config.json").contains("s3cret")))
    #expect(
      try place.text("subledger.service").contains(
        "LoadCredential=v1.secret:\(place.folder.path)/etc/v1.secret"))
    // What a service manager hands over comes before what lies beside the configuration.
    try FileManager.default.removeItem(atPath: "\(place.folder.path)/etc/v1.secret")
    let without = try place.run(["doctor", "--config", place.config])
    #expect(without.output.contains("v1.secret"), "\(without)")
    try FileManager.default.createDirectory(
      at: place.folder.appending(path: "credentials"), withIntermediateDirectories: true)
    let credential = place.folder.appending(path: "credentials/v1.secret")
    try Data("s3cret-of-the-app\n".utf8).write(to: credential)
    chmod(credential.path, 0o400)
    let with = try RunningCommand(
      ["doctor", "--config", place.config], in: place.folder,
      environment: ["CREDENTIALS_DIRECTORY": place.folder.path + "/credentials"]
    ).finish()
    #expect(with.output.contains("config.json is good"), "\(with)")
  }

  @Test func refusesWhatCannotBe() throws {
    let place = try Place()
    let file = place.folder.appending(path: "empty").path
    try Data().write(to: URL(filePath: file))
    for words in [
      ["--bundle-id", "com.example.app"], ["--app-apple-id", "7"], ["--v1-secret-file", file],
      ["--host", "a b"], ["--host", "x;\ny"], ["--user", "$(id)"], ["--print", "all"], ["more"],
      Self.app + ["--v1-secret-file", file], ["--listen", "127.0.0.1:80\""],
    ] {
      let finished = try place.run(
        ["init", "--config", place.config, "--data", place.data] + words)
      #expect(finished.code == 2, "\(words): \(finished)")
    }
    #expect(try place.run(["init", "--config", "here.json"]).code == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.path).count < 30)
    #expect(!FileManager.default.fileExists(atPath: place.config))
  }

  /// `systemd-analyze` counts what a unit may still do: 10 is everything, 0 nothing.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")))
  func theUnitIsSandboxed() throws {
    let place = try Place()
    func isInstalled() -> Bool { FileManager.default.fileExists(atPath: "/etc/subledger") }
    let wasInstalled = isInstalled()
    let unit = try place.run(["init", "--print", "unit"])
    #expect(unit.code == 0 && isInstalled() == wasInstalled)
    // Behind what takes it away with others like it: how reactors stand aside.
    let filters = unit.output.split(separator: "\n").filter { $0.hasPrefix("SystemCallFilter=") }
    #expect(filters.last == "SystemCallFilter=setpriority")
    let file = place.folder.appending(path: "subledger.service")
    try Data(unit.output.utf8).write(to: file)
    let analysed = try RunningCommand(
      ["security", "--offline=true", "--threshold=15", "--no-pager", file.path],
      in: place.folder, program: URL(filePath: "/usr/bin/systemd-analyze")
    ).finish()
    #expect(analysed.code == 0, "\(analysed.output.suffix(400))")
  }
}
