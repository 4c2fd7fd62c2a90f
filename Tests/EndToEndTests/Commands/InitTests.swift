import Foundation
import StrictJSON
import Support
import Testing

/// From `make install` to a daemon that journals notifications, with the files that `init` wrote.
@Suite struct InitTests {
  /// A temporary folder for configuration and data, removed with the value.
  final class WorkFolder {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sl-init-\(UUID())")
    var config: String { folder.path + "/etc/config.json" }
    var data: String { folder.path + "/data" }

    init() throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func run(
      _ arguments: [String], program: URL = RunningCommand.program, input: String? = nil
    ) throws -> CommandResult {
      guard let input else {
        return try RunningCommand(arguments, in: folder, program: program).finish()
      }
      let file = folder.appending(path: "input")
      try Data(input.utf8).write(to: file)
      let line = ([program.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
      return try RunningCommand(
        ["-c", "\(line) <'\(file.path)'"], in: folder, program: URL(filePath: "/bin/sh")
      ).finish()
    }

    func initialise(_ more: String..., input: String? = nil) throws -> CommandResult {
      try run(["init", "--config", config, "--data", data] + more, input: input)
    }

    func text(_ name: String) throws -> String {
      try String(contentsOfFile: "\(folder.path)/etc/\(name)", encoding: .utf8)
    }
  }

  private static let app = ["--bundle-id", "com.example.app", "--app-apple-id", "123456789"]

  @Test func `an installed program runs with the files that init wrote`() throws {
    let work = try WorkFolder()
    let make = try RunningCommand(
      [
        "-s", "-C", Self.root, "-o", "build", "install", "BINARY=\(RunningCommand.program.path)",
        "PREFIX=/usr", "DESTDIR=\(work.folder.path)",
      ], in: work.folder, program: URL(filePath: "/usr/bin/make")
    ).finish(within: 120)
    #expect(make.code == 0, "\(make)")
    let program = work.folder.appending(path: "usr/bin/subledger")
    for name in [
      "man/man1/subledger.1", "man/man5/subledger-config.5", "doc/subledger/operating/recover.md",
      "bash-completion/completions/subledger",
      "zsh/site-functions/_subledger", "fish/vendor_completions.d/subledger.fish",
    ] {
      let file = work.folder.appending(path: "usr/share/\(name)")
      #expect(try Data(contentsOf: file).count > 1000, "\(name)")
    }
    let made = try work.run(
      ["init", "--config", work.config, "--data", work.data, "--json", "--listen", "127.0.0.1:0"]
        + Self.app, program: program)
    #expect(made.code == 0, "\(made)")
    let token = try #require(try made.lines().first?["read_token"]?.string)
    #expect(try work.text("subledger.service").contains("ExecStart=\(program.path) serve"))
    // The daemon runs with what init wrote, and with the root of the tests.
    let installation = try Installation()
    try trust(installation.root.path, work.config)
    let daemon = try RunningDaemon(program: program, config: work.config, in: work.folder)
    let client = daemon.client()
    #expect(client.post(try installation.sign(Sample.notification(1, otid: "7001")))?.status == 200)
    let end = Date(timeIntervalSinceNow: 60)
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
      throw TestFailure("no object")
    }
    let more = members + [("trustRoots", JSONValue.array([.string(root)]))]
    try Data(JSONValue.object(more).bytes).write(to: URL(filePath: config))
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  @Test func `init writes private files and never overwrites one`() throws {
    let work = try WorkFolder()
    let made = try work.initialise("--host", "sub.example.com", "--user", "ledger")
    #expect(made.code == 0, "\(made)")
    #expect(made.output.contains("https://sub.example.com/v1/notifications"))
    #expect(made.output.contains("chown -R ledger:"))
    let token = try #require(made.output.firstMatch(of: /sl_[0-9a-f]{64}/).map { String($0.0) })
    var files: [String: Data] = [:]
    for name in ["config.json", "subledger.service", "nginx.conf", "Caddyfile"] {
      let path = "\(work.folder.path)/etc/\(name)"
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      #expect((mode as? NSNumber)?.intValue == 0o600, "\(name)")
      files[name] = try Data(contentsOf: URL(filePath: path))
      #expect(!(try work.text(name).contains(token)), "\(name)")
    }
    let folder = try FileManager.default.attributesOfItem(atPath: work.data)[.posixPermissions]
    #expect((folder as? NSNumber)?.intValue == 0o700)
    #expect(try work.text("config.json").contains("\"//apps\""))
    // A daemon accepts it unchanged, and doctor asks for the app.
    let doctor = try work.run(["doctor", "--config", work.config])
    #expect(doctor.code == 1 && doctor.output.contains("no app is configured"), "\(doctor)")
    #expect(doctor.output.contains("1 finding\n"), "\(doctor)")
    // If one of the files exists, none is written.
    for name in files.keys {
      let again = try work.initialise()
      #expect(again.code == 2 && again.errors.contains("nothing was written"), "\(again)")
      try FileManager.default.moveItem(
        atPath: "\(work.folder.path)/etc/\(name)", toPath: "\(work.folder.path)/\(name)")
    }
    for name in files.keys {
      #expect(try Data(contentsOf: work.folder.appending(path: name)) == files[name])
    }
    let fresh = try work.initialise()
    #expect(fresh.code == 0 && !fresh.output.contains(token))
  }

  @Test func `each example in the configuration counts once its slashes are removed`() throws {
    let work = try WorkFolder()
    #expect(try work.initialise("--bundle-id", "com.example.app", "--app-apple-id", "7").code == 0)
    let bytes = Array(try work.text("config.json").utf8)
    guard case .object(let members) = try JSONDocument(parsing: bytes).root.value else {
      throw TestFailure("no object")
    }
    let names = ["entitlements", "appStore", "sinks"].map { "//" + $0 }
    #expect(Set(names).isSubset(of: members.map(\.0)))
    let used = members.map { name, value in
      (names.contains(name) ? String(name.dropFirst(2)) : name, value)
    }
    try Data(JSONValue.object(used).bytes).write(to: URL(filePath: work.config))
    let folder = work.folder.path + "/etc/"
    let made = try RunningCommand(
      [
        "-c",
        """
        umask 077; openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 \
          -out \(folder)SubscriptionKey_2X9R4HXF34.p8 &&
          '\(RunningCommand.program.path)' sink secret >\(folder)backend.whsec
        """,
      ], in: work.folder, program: URL(filePath: "/bin/sh")
    ).finish()
    #expect(made.code == 0, "\(made)")
    let checked = try work.run(["doctor", "--offline", "--config", work.config])
    #expect(checked.output.contains("config.json is good"), "\(checked)")
  }

  @Test func `the proxy files publish notifications alone, with limits`() throws {
    let work = try WorkFolder()
    let nginx = try work.run(["init", "--print", "nginx"]).output
    #expect(nginx.matches(of: /location/).count == 2 && nginx.matches(of: /proxy_pass/).count == 1)
    #expect(nginx.contains("location = /v1/notifications {\n") && nginx.contains("return 404;"))
    for name in ["limit_req zone=", "limit_conn subledger", "# allow 17.0.0.0/8;"] {
      #expect(nginx.contains("    \(name)"), "\(name)")
    }
    let caddy = try work.run(["init", "--print", "caddy"]).output
    #expect(caddy.matches(of: /reverse_proxy/).count == 1 && caddy.contains("respond 404"))
    #expect(caddy.contains("    path /v1/notifications\n"))
    #expect(caddy.contains("    # remote_ip 17.0.0.0/8\n"))
  }

  @Test(arguments: ["-", "file"])
  func `init reads a secret from a file or standard input`(_ way: String) throws {
    let work = try WorkFolder()
    let file = work.folder.appending(path: "shared").path
    try Data("s3cret-of-the-app\n".utf8).write(to: URL(filePath: file))
    let arguments = way == "-" ? ["--v1-secret-file", "-"] : ["--v1-secret-file", file]
    let made = try work.run(
      ["init", "--config", work.config, "--data", work.data] + Self.app + arguments,
      input: way == "-" ? "s3cret-of-the-app\n" : nil)
    #expect(made.code == 0, "\(made)")
    #expect(!made.output.contains("s3cret"))
    #expect(try work.text("v1.secret") == "s3cret-of-the-app\n")
    #expect(!(try work.text("config.json").contains("s3cret")))
    #expect(
      try work.text("subledger.service").contains(
        "LoadCredential=v1.secret:\(work.folder.path)/etc/v1.secret"))
    // What a service manager hands over comes before what lies beside the configuration.
    try FileManager.default.removeItem(atPath: "\(work.folder.path)/etc/v1.secret")
    let without = try work.run(["doctor", "--config", work.config])
    #expect(without.output.contains("v1.secret"), "\(without)")
    try FileManager.default.createDirectory(
      at: work.folder.appending(path: "credentials"), withIntermediateDirectories: true)
    let credential = work.folder.appending(path: "credentials/v1.secret")
    try Data("s3cret-of-the-app\n".utf8).write(to: credential)
    chmod(credential.path, 0o400)
    let with = try RunningCommand(
      ["doctor", "--config", work.config], in: work.folder,
      environment: ["CREDENTIALS_DIRECTORY": work.folder.path + "/credentials"]
    ).finish()
    #expect(with.output.contains("config.json is good"), "\(with)")
  }

  @Test func `init refuses impossible arguments and writes nothing`() throws {
    let work = try WorkFolder()
    let file = work.folder.appending(path: "empty").path
    try Data().write(to: URL(filePath: file))
    for arguments in [
      ["--bundle-id", "com.example.app"], ["--app-apple-id", "7"], ["--v1-secret-file", file],
      ["--host", "a b"], ["--host", "x;\ny"], ["--user", "$(id)"], ["--print", "all"], ["more"],
      Self.app + ["--v1-secret-file", file], ["--listen", "127.0.0.1:80\""],
    ] {
      let finished = try work.run(
        ["init", "--config", work.config, "--data", work.data] + arguments)
      #expect(finished.code == 2, "\(arguments): \(finished)")
    }
    #expect(try work.run(["init", "--config", "here.json"]).code == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: work.folder.path).count < 30)
    #expect(!FileManager.default.fileExists(atPath: work.config))
  }

  /// `systemd-analyze` rates what a unit allows: 10 is everything, 0 nothing. The threshold is in
  /// tenths.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")))
  func `the systemd unit is sandboxed`() throws {
    let work = try WorkFolder()
    func isInstalled() -> Bool { FileManager.default.fileExists(atPath: "/etc/subledger") }
    let wasInstalled = isInstalled()
    let unit = try work.run(["init", "--print", "unit"])
    #expect(unit.code == 0 && isInstalled() == wasInstalled)
    // After the filter that removes it with its group: reactors lower their priority by it.
    let filters = unit.output.split(separator: "\n").filter { $0.hasPrefix("SystemCallFilter=") }
    #expect(filters.last == "SystemCallFilter=setpriority")
    let file = work.folder.appending(path: "subledger.service")
    try Data(unit.output.utf8).write(to: file)
    let analysed = try RunningCommand(
      ["security", "--offline=true", "--threshold=15", "--no-pager", file.path],
      in: work.folder, program: URL(filePath: "/usr/bin/systemd-analyze")
    ).finish()
    #expect(analysed.code == 0, "\(analysed.output.suffix(400))")
  }
}
