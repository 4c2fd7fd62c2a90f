import Foundation
import Glibc
import StrictJSON
import Support
import Testing

/// Other users of the machine see none of the data, also after a crash.
@Suite struct PrivacyTests {
  /// Runs the program as a shell with that umask would.
  private func withUmask(_ mask: String, _ installation: Installation) throws {
    let script = installation.folder.appending(path: "with-umask")
    let text = "#!/bin/sh\numask \(mask)\nexec '\(RunningCommand.program.path)' \"$@\"\n"
    try Data(text.utf8).write(to: script)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
    installation.program = script
  }

  private func mode(_ url: URL) throws -> mode_t {
    var status = stat()
    guard lstat(url.path, &status) == 0 else { throw TestFailure("lstat \(url.path)") }
    return status.st_mode & 0o7777
  }

  /// Folders 0700, everything in them 0600.
  private func expectPrivate(_ folder: URL, _ when: String, has wanted: [String] = []) throws {
    #expect(try mode(folder) == 0o700, "\(when): \(folder.lastPathComponent)")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    for name in wanted { #expect(names.contains(name), "\(when): \(name) in \(names)") }
    for name in names {
      let url = folder.appending(path: name)
      // The mode of a link counts for nothing. This one leads to a file of the same folder.
      if let linked = try? FileManager.default.destinationOfSymbolicLink(atPath: url.path) {
        #expect(name == "entitlements.sqlite" && names.contains(linked), "\(when): \(linked)")
        continue
      }
      // A -wal can be removed meanwhile.
      guard let mode = try? mode(url) else { continue }
      #expect(mode == (url.hasDirectoryPath ? 0o700 : 0o600), "\(when): \(name)")
    }
  }

  @Test(arguments: ["000", "022", "077", "0777"])
  func `files are private whatever the umask`(mask: String) throws {
    let installation = try Installation()
    try withUmask(mask, installation)
    let outside = installation.folder.appending(path: "outside")
    try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
    let path = outside.path
    let daemon = try installation.start()
    let client = daemon.client()
    for number in 1...5 {
      #expect(client.post(try installation.sign(Sample.notification(number)))?.status == 200)
    }
    #expect(client.get("/v1/entitlements/7000")?.status == 200)
    let open = [
      "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "lock", "control.sock",
      "projections", "entitlements-4.sqlite", "entitlements-4.sqlite-wal",
    ]
    try expectPrivate(installation.data, "running", has: open)
    for arguments in [
      ["backup", path + "/backup"], ["anchor", "--append", path + "/anchors.ndjson"],
      ["export", "--output", path + "/all.ndjson"],
      ["export", "--compress", "--output", path + "/all.zst"],
      ["export", "--only", "7000", "--bundle", path + "/evidence"],
      ["rebuild"], ["rebuild", "--diff", "--output", path + "/changes.csv"],
    ] {
      let finished = try installation.launch(arguments + ["--config", installation.config.path])
        .finish()
      #expect(finished.code <= 1, "\(arguments): \(finished)")
    }
    try expectPrivate(installation.data, "commands", has: ["anchor.key"])
    try expectPrivate(outside.appending(path: "backup"), "backup")
    for name in try FileManager.default.contentsOfDirectory(atPath: path) where name != "backup" {
      #expect(try mode(outside.appending(path: name)) == 0o600, "\(name)")
    }
    try daemon.crash()
    try expectPrivate(installation.data, "crashed")
    #expect(try installation.start().stop().code == 0)
    try expectPrivate(installation.data, "stopped")
    let restored = outside.appending(path: "restored")
    let finished = try installation.launch(
      ["restore", path + "/backup", "--data", restored.path]
    ).finish()
    #expect(finished.code == 0, "\(finished)")
    try expectPrivate(restored, "restored", has: ["journal.sqlite"])
  }

  // MARK: The process

  private func proc(_ daemon: RunningDaemon, _ name: String) throws -> String {
    let bytes = try Data(contentsOf: URL(filePath: "/proc/\(daemon.command.id)/\(name)"))
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `the process shows no secret in proc`() throws {
    let installation = try Installation()
    installation.environment = ["SUBLEDGER_CONFIG": installation.config.path]
    let daemon = try installation.start()
    for name in ["environ", "cmdline", "comm", "status"] {
      let text = try proc(daemon, name)
      #expect(!text.contains(Installation.token), "\(name)")
    }
    #expect(try proc(daemon, "cmdline").contains("serve"))
    #expect(try daemon.stop().code == 0)
  }

  /// Secrets are only in files: no command has a flag for one, because arguments are visible to
  /// every process.
  @Test func `no flag takes a secret`() throws {
    let installation = try Installation()
    let help = try installation.launch(["--help"]).finish()
    let names = help.output.split(separator: "\n").compactMap { line -> String? in
      let columns = line.split(separator: " ")
      guard line.hasPrefix("  "), let name = columns.first, columns.count > 1 else { return nil }
      return String(name)
    }
    #expect(names.contains("serve") && names.contains("quarantine"))
    for name in names where !name.contains("-") {
      let text = try installation.launch([name, "--help"]).finish().output
      for line in text.split(separator: "\n") where line.contains("--") {
        // A flag may name the file that has a secret.
        let flags = line.split(separator: " ").filter { $0.hasPrefix("--") }
        for word in flags where !word.hasSuffix("-file") {
          let hasSecret = ["secret", "token", "password", "private"].contains { word.contains($0) }
          #expect(!hasSecret, "\(name): \(word)")
        }
      }
    }
    for flag in ["--token", "--secret", "--password", "--read-token"] {
      let finished = try installation.launch(["serve", flag, Installation.token]).finish()
      #expect(finished.code == 2)
      #expect(!finished.errors.contains(Installation.token) && finished.output.isEmpty)
    }
  }

  @Test func `a crash leaves no core file and prints no memory`() throws {
    let installation = try Installation()
    // The crash is intended: a sanitizer must not report it.
    installation.environment["SWIFT_BACKTRACE"] = ""
    let daemon = try installation.start()
    let limits = try proc(daemon, "limits").split(separator: "\n")
    let core = limits.first { $0.hasPrefix("Max core file size") } ?? ""
    #expect(core.split(separator: " ").suffix(3) == ["0", "0", "bytes"], "\(core)")
    daemon.command.signal(SIGSEGV)
    let finished = try daemon.command.finish(within: 30)
    #expect(finished.code == 128 + SIGSEGV)
    // Neither registers nor memory are printed: every line is a log line.
    for line in finished.errors.split(separator: "\n") { #expect(line.hasPrefix("{"), "\(line)") }
    let left = try FileManager.default.subpathsOfDirectory(atPath: installation.folder.path)
    #expect(!left.contains { $0.hasPrefix("core") || $0.hasSuffix(".core") })
  }

  /// The files in /proc of a process that cannot be dumped (PR_SET_DUMPABLE in prctl(2)) belong to
  /// root, which shows if the process runs as another user.
  @Test(.enabled(if: getuid() == 0 && FileManager.default.isExecutableFile(atPath: setpriv)))
  func `the process cannot be dumped by other users`() throws {
    let installation = try Installation()
    // A copy of the program that the other user can execute.
    let program = installation.folder.appending(path: "program")
    try FileManager.default.copyItem(at: RunningCommand.program, to: program)
    let script = installation.folder.appending(path: "as-nobody")
    let text = """
      #!/bin/sh
      exec \(setpriv) --reuid 65534 --regid 65534 --clear-groups '\(program.path)' "$@"

      """
    try Data(text.utf8).write(to: script)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script.path)
    for path in [installation.folder, installation.config, installation.root, program] {
      #expect(chown(path.path, 65534, 65534) == 0)
    }
    installation.program = script
    let daemon = try installation.start()
    var status = stat()
    #expect(lstat("/proc/\(daemon.command.id)/environ", &status) == 0)
    #expect(status.st_uid == 0, "it can be dumped")
    #expect(try proc(daemon, "status").contains("\nUid:\t65534\t65534"))
    #expect(try daemon.stop().code == 0)
  }
}

/// Runs a program as another user (setpriv(1)).
private let setpriv = "/usr/bin/setpriv"
