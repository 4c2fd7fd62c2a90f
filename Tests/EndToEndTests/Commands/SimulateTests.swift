import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// `subledger simulate`: arguments, help, exit codes, files.
@Suite struct SimulateTests {
  private let installation: Installation

  init() throws { installation = try Installation() }

  private func run(_ arguments: [String]) throws -> CommandResult {
    try installation.launch(["simulate"] + arguments).finish()
  }

  private func file(_ name: String) -> String { installation.folder.appending(path: name).path }

  @Test(
    arguments: [
      (["frob"], "frob"), ([], "name a subcommand"), (["run", "--fleet"], "--fleet"),
      (["run", "--fleet", "x", "--output", "-"], "--fleet"),
      (["run", "--lifecycle", "nosuch", "--output", "-"], "nosuch"),
      (["run", "--fleet", "1"], "--output"), (["run", "--output", "-"], "--lifecycle"),
      (["run", "--fleet", "1", "--output", "-", "--url", "http://a"], "one of"),
      (["run", "--fleet", "1", "--url", "https://a"], "https://a"),
      (["run", "--fleet", "1", "--url", "http://u@a"], "u@a"),
      (["run", "--fleet", "1", "--url", "http://a:0"], "a:0"),
      (["run", "--fleet", "1", "--output", "-", "--late", "2"], "'2'"),
      (["run", "--fleet", "1", "--output", "-", "--refunds", "2"], "'2'"),
      (["run", "--lifecycle", "refund", "--output", "-", "--refunds", "1"], "--fleet N"),
      (["run", "--fleet", "1", "--output", "-", "--end", "soon"], "--end"),
      (["run", "--fleet", "1", "--output", "-", "--environment", "Xcode"], "--environment"),
      (["run", "--fleet", "1", "--output", "-", "--kinds", "v2"], "'v2'"),
      (["run", "--fleet", "1", "--output", "-", "--kinds", "v1"], "--v1-secret-file"),
      (["run", "--fleet", "1", "--output", "-", "--receipt-records", "2001"], "2000"),
      (["run", "--fleet", "1", "--output", "-", "--receipt-digest", "md5"], "'md5'"),
      (["run", "--fleet", "1", "--url", "http://a", "--kinds", "receipts"], "--output"),
      (["run", "--wat"], "--wat"), (["ca"], "folder"), (["list", "x"], "'x'"),
      (["serve"], "--authority"), (["serve", "--authority"], "--authority"),
      (["serve", "--authority", "x", "--wat"], "--wat"),
      (["serve", "--authority", "x", "--days", "0"], "--days"),
      (["serve", "--authority", "x", "--refunds", "all"], "'all'"),
      (["serve", "--authority", "x", "--notify", "https://a"], "https://a"),
      (["serve", "--authority", "x", "--control", "{"], "JSON object"),
      (["serve", "--authority", "x", "--control", #"{"a":1}"#], "unknown member a"),
      (["serve", "--authority", "x", "--listen-sandbox", "a"], "--listen-sandbox"),
    ] as [([String], String)])
  func `a usage error names the wrong argument`(_ arguments: [String], _ named: String) throws {
    let finished = try run(arguments)
    #expect(finished.code == 2 && finished.output.isEmpty, "\(finished)")
    let isKnown = arguments.first.map { ["run", "ca", "list", "serve"].contains($0) } ?? false
    let page = isKnown ? "simulate \(arguments[0]) --help" : "simulate --help"
    #expect(finished.errors.contains(named), "\(finished)")
    #expect(finished.errors.hasSuffix("see: subledger \(page)\n"), "\(finished)")
  }

  @Test(arguments: [[], ["ca"], ["list"], ["run"], ["serve"]])
  func `every subcommand has help with an example`(_ arguments: [String]) throws {
    let finished = try run(arguments + ["--help"])
    #expect(finished.code == 0 && finished.output.contains("Example"), "\(finished)")
  }

  @Test func `list names every lifecycle`() throws {
    let finished = try run(["list"])
    #expect(finished.code == 0)
    for lifecycle in Lifecycle.all { #expect(finished.output.contains(lifecycle.name)) }
  }

  @Test func `run makes an authority and a file, and replaces a file only with --force`() throws {
    let arguments = [
      "run", "--lifecycle", "all", "--shuffle", "--duplicate", "0.1", "--authority",
      file("new-ca"), "--output", file("f.ndjson"),
    ]
    let first = try run(arguments)
    #expect(first.code == 0 && first.errors.contains("made an authority"), "\(first)")
    let made = try Data(contentsOf: URL(filePath: file("f.ndjson")))
    #expect(!FileManager.default.fileExists(atPath: file("f.ndjson.partial")))
    #expect(try run(arguments).code == 2)
    #expect(try Data(contentsOf: URL(filePath: file("f.ndjson"))) == made)
    #expect(try run(arguments + ["--force"]).code == 0)
    #expect(try run(["ca", file("new-ca")]).code == 2)
  }

  @Test func `a run that is stopped exits with 130 and leaves no file`() throws {
    let command = try installation.launch([
      "simulate", "run", "--fleet", "2000", "--authority", file("new-ca"), "--output",
      file("f.ndjson"),
    ])
    try command.wait(60, "the file to be begun") {
      FileManager.default.fileExists(atPath: file("f.ndjson.partial"))
    }
    command.signal(SIGINT)
    let finished = try command.finish()
    #expect(finished.code == 130 && finished.output.contains("no file is left"), "\(finished)")
    for name in ["f.ndjson", "f.ndjson.partial"] {
      #expect(!FileManager.default.fileExists(atPath: file(name)))
    }
  }

  @Test func `a missing folder and a service that is away give exit code 3`() throws {
    let folder = try run([
      "run", "--lifecycle", "test", "--authority", "/nonexistent/ca", "--output", "/nonexistent/f",
    ])
    #expect(folder.code == 3 && folder.errors.contains("/nonexistent/ca"), "\(folder)")
    let serve = try run(["serve", "--authority", "/nonexistent/folder"])
    #expect(serve.code == 3, "\(serve)")
    let service = try run([
      "run", "--lifecycle", "test", "--authority", file("new-ca"), "--url", "http://127.0.0.1:1",
    ])
    #expect(service.code == 3 && service.errors.contains("127.0.0.1:1"), "\(service)")
  }

  @Test func `serve prints one line of JSON, and ends when it is asked to`() throws {
    let store = try RunningAppStore(
      installation.folder.appending(path: "new-ca"), ["--customers", "2"], in: installation)
    #expect(
      store.description.members.map(\.name) == [
        "production", "sandbox", "issuerId", "keyId", "keyFile", "bundleId", "appAppleId", "root",
      ])
    #expect(store.description["root"]?.string?.hasPrefix("/") == true)
    store.command.signal(SIGTERM)
    let finished = try store.command.finish()
    #expect(finished.code == 0 && finished.output.split(separator: "\n").count == 1, "\(finished)")
  }
}
