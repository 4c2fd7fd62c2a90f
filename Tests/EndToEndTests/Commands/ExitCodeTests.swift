import Foundation
import Support
import Testing

/// Exit codes that all commands share.
@Suite struct ExitCodeTests {
  /// Every command that reads a data folder. `doctor` reports a missing folder among its findings;
  /// `serve`, `ingest` and `anchor --public-key` make one.
  private static let readers = [
    ["entitlement", "1"], ["history", "1"], ["explain", "1"], ["events"], ["query", "SELECT 1"],
    ["rebuild"], ["rebuild", "--diff"], ["rebuild", "--apply"], ["rebuild", "--only", "1"],
    ["verify"], ["verify", "--chain"], ["verify", "--only", "1"], ["export"],
    ["export", "--only", "1"], ["export", "--only", "1", "--bundle", "new-bundle"], ["anchor"],
    ["quarantine", "list"], ["quarantine", "admit", "1"], ["quarantine", "drop", "1"],
    ["backup", "new-backup"],
  ]

  /// Every command with the arguments it takes.
  private static let whole =
    readers + [
      ["init", "--print", "nginx"], ["serve"], ["ingest", "/dev/null"], ["query", "--schema"],
      ["backup", "--check", "none"], ["restore", "none"], ["verify", "--bundle", "/dev/null"],
      ["anchor", "--public-key"], ["doctor"], ["simulate", "list"], ["simulate", "ca", "new-ca"],
      ["simulate", "run"], ["demo"], ["help"], ["help", "serve"], ["man"],
      ["man", "subledger"], ["completions", "bash"], ["version"], ["--version"],
      ["--help", "serve"],
    ]

  @Test(arguments: readers) func `a missing folder or journal exits with 3 and makes nothing`(
    arguments: [String]
  ) throws {
    let installation = try Installation()
    let absent = installation.folder.appending(path: "absent")
    let empty = installation.folder.appending(path: "empty")
    try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
    for folder in [absent, empty] {
      let finished = try installation.launch(arguments + ["--data", folder.path]).finish()
      #expect(finished.code == 3 && finished.output.isEmpty, "\(finished)")
      #expect(finished.errors.contains(folder.path) && finished.errors.contains("--data"))
    }
    // The file of a ledger in place of its folder.
    let file = try installation.launch(arguments + ["--data", installation.config.path]).finish()
    #expect(file.errors.contains("is a file, and data is a folder"), "\(file)")
    #expect(!FileManager.default.fileExists(atPath: absent.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: empty.path).isEmpty)
  }

  @Test(arguments: whole) func `a superfluous argument exits with 2`(arguments: [String]) throws {
    let installation = try Installation()
    let finished = try installation.launch(arguments + ["superfluous", "superfluous"]).finish()
    #expect(finished.code == 2 && finished.output.isEmpty, "\(finished)")
    #expect(finished.errors.contains("see: subledger"), "\(finished)")
  }

  @Test(
    arguments: ["serve", "demo", "init"], ["nonsense", ":8080", "a.example:80", "127.0.0.1:1e"])
  func `an address that cannot be listened on exits with 2`(
    command: String, address: String
  ) throws {
    let installation = try Installation()
    let config = [
      "init": ["--config", installation.folder.path + "/new/config"],
      "serve": ["--config", installation.config.path],
    ]
    let finished = try installation.launch(
      [command, "--listen", address, "--data", installation.data.path] + (config[command] ?? [])
    ).finish()
    #expect(finished.code == 2 && finished.errors.contains("HOST:PORT"), "\(finished)")
    let journal = installation.data.appending(path: "journal.sqlite").path
    #expect(!FileManager.default.fileExists(atPath: journal))
  }

  @Test(arguments: [
    ["version"], ["--help"], ["man"], ["simulate", "list"], ["init", "--print", "nginx"],
    ["events"], ["events", "--json"], ["export"], ["anchor"],
    ["query", "SELECT 1"], ["query", "--csv", "SELECT 1"], ["verify"], ["doctor"],
  ])
  func `a full standard output is reported and exits with 3`(arguments: [String]) throws {
    let installation = try Installation()
    try installation.fill(1...1)
    let errors = installation.folder.appending(path: "errors")
    let process = try SpawnedProcess(
      RunningCommand.program.path, arguments, in: installation.folder.path,
      environment: RunningCommand.inheritedEnvironment.merging(
        ["SUBLEDGER_CONFIG": installation.config.path]) { $1 },
      output: "/dev/full", errors: errors.path)
    while process.isRunning { usleep(5_000) }
    #expect(process.code == 3, "\(arguments)")
    let text = RunningCommand.text(errors)
    #expect(text.contains("could not write standard output: No space left on device"), "\(text)")
  }
}
