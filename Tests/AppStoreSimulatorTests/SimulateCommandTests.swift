import Foundation
import Synchronization
import Testing

@testable import AppStoreSimulator

/// `subledger simulate` in process: arguments, help, exit codes, files.
@Suite struct SimulateCommandTests {
  private func run(_ arguments: [String]) -> (code: Int32, output: String, progress: String) {
    let errors = Mutex("")
    var output = ""
    let code = SimulateCommand.run(
      arguments: arguments, output: { output += $0 + "\n" },
      errors: { line in errors.withLock { $0 += line } },
      progress: { line in errors.withLock { $0 += line } })
    return (code, output, errors.withLock { $0 })
  }

  @Test(
    arguments: [
      (["frob"], "frob"), ([], "name a subcommand"), (["run", "--fleet"], "--fleet"),
      (["run", "--fleet", "x", "--output", "-"], "'x'"),
      (["run", "--lifecycle", "nosuch", "--output", "-"], "nosuch"),
      (["run", "--fleet", "1"], "--output"), (["run", "--output", "-"], "--lifecycle"),
      (["run", "--fleet", "1", "--output", "-", "--url", "http://a"], "one of"),
      (["run", "--fleet", "1", "--url", "https://a"], "https://a"),
      (["run", "--fleet", "1", "--output", "-", "--late", "2"], "'2'"),
      (["run", "--fleet", "1", "--output", "-", "--end", "soon"], "soon"),
      (["run", "--fleet", "1", "--output", "-", "--environment", "Xcode"], "Xcode"),
      (["run", "--fleet", "1", "--output", "-", "--kinds", "v2"], "'v2'"),
      (["run", "--fleet", "1", "--output", "-", "--kinds", "v1"], "--v1-secret-file"),
      (["run", "--fleet", "1", "--output", "-", "--receipt-records", "2001"], "'2001'"),
      (["run", "--fleet", "1", "--output", "-", "--receipt-digest", "md5"], "'md5'"),
      (["run", "--fleet", "1", "--url", "http://a", "--kinds", "receipts"], "--output"),
      (["run", "--wat"], "--wat"), (["ca"], "folder"), (["list", "x"], "'x'"),
    ] as [([String], String)])
  func `a usage error names the wrong argument`(_ arguments: [String], _ named: String) {
    let (code, _, text) = run(arguments)
    #expect(code == 2)
    let isKnown = arguments.first.map { ["run", "ca", "list"].contains($0) } ?? false
    let page = isKnown ? "simulate \(arguments[0]) --help" : "simulate --help"
    #expect(text.contains(named) && text.hasSuffix("see: subledger \(page)"))
  }

  @Test func `every subcommand has help with an example`() {
    for arguments in [["--help"], ["ca", "--help"], ["list", "--help"], ["run", "--help"]] {
      let (code, output, _) = run(arguments)
      #expect(code == 0 && output.contains("Example"))
    }
  }

  @Test func `list names every lifecycle`() {
    let (code, output, _) = run(["list"])
    #expect(code == 0)
    for lifecycle in Lifecycle.all { #expect(output.contains(lifecycle.name)) }
  }

  @Test func `run makes an authority and a file, and replaces a file only with --force`() throws {
    let folder = try Scratch()
    let arguments = [
      "run", "--lifecycle", "all", "--shuffle", "--duplicate", "0.1", "--authority",
      folder.file("ca"), "--output", folder.file("f.ndjson"),
    ]
    let first = run(arguments)
    #expect(first.code == 0 && first.progress.contains("made an authority"))
    #expect(FileManager.default.fileExists(atPath: folder.file("f.ndjson")))
    #expect(run(arguments).code == 2)
    #expect(run(arguments + ["--force"]).code == 0)
    #expect(run(["ca", folder.file("ca")]).code == 2)
  }

  @Test func `a missing folder gives exit code 3`() {
    let (code, _, progress) = run([
      "run", "--lifecycle", "test", "--authority", "/nonexistent/ca", "--output", "/nonexistent/f",
    ])
    #expect(code == 3 && progress.contains("/nonexistent/ca"))
  }
}
