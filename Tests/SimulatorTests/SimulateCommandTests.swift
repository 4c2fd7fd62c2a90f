import Foundation
import Synchronization
import Testing

@testable import Simulator

@Suite struct SimulateCommandTests {
  private func run(_ words: [String]) -> (code: Int32, output: String, progress: String) {
    let said = Mutex("")
    var output = ""
    let code = SimulateCommand.run(
      arguments: words, output: { output += $0 + "\n" },
      progress: { line in said.withLock { $0 += line } })
    return (code, output, said.withLock { $0 })
  }

  @Test(
    arguments: [
      (["frob"], "frob"), ([], "say what"), (["run", "--fleet"], "--fleet"),
      (["run", "--fleet", "x", "--output", "-"], "'x'"),
      (["run", "--lifecycle", "nosuch", "--output", "-"], "nosuch"),
      (["run", "--fleet", "1"], "--output"), (["run", "--output", "-"], "--lifecycle"),
      (["run", "--fleet", "1", "--output", "-", "--url", "http://a"], "one of"),
      (["run", "--fleet", "1", "--url", "https://a"], "https://a"),
      (["run", "--fleet", "1", "--output", "-", "--late", "2"], "'2'"),
      (["run", "--fleet", "1", "--output", "-", "--end", "soon"], "soon"),
      (["run", "--fleet", "1", "--output", "-", "--environment", "Xcode"], "Xcode"),
      (["run", "--wat"], "--wat"), (["ca"], "folder"), (["list", "x"], "'x'"),
    ] as [([String], String)])
  func usageErrorsNameTheWord(_ words: [String], _ named: String) {
    let (code, _, text) = run(words)
    #expect(code == 2)
    #expect(text.contains(named) && text.hasSuffix("see: subledger simulate --help"))
  }

  @Test func everySubcommandHasHelpWithAnExample() {
    for words in [["--help"], ["ca", "--help"], ["list", "--help"], ["run", "--help"]] {
      let (code, output, _) = run(words)
      #expect(code == 0 && output.contains("Example"))
    }
  }

  @Test func listNamesEveryLifecycle() {
    let (code, output, _) = run(["list"])
    #expect(code == 0)
    for lifecycle in Lifecycle.all { #expect(output.contains(lifecycle.name)) }
  }

  @Test func runMakesAnAuthorityAndAFile() throws {
    let folder = try Scratch()
    let words = [
      "run", "--lifecycle", "all", "--shuffle", "--duplicate", "0.1", "--authority",
      folder.file("ca"), "--output", folder.file("f.ndjson"),
    ]
    let first = run(words)
    #expect(first.code == 0 && first.progress.contains("made an authority"))
    #expect(FileManager.default.fileExists(atPath: folder.file("f.ndjson")))
    #expect(run(words).code == 2)
    #expect(run(words + ["--force"]).code == 0)
    #expect(run(["ca", folder.file("ca")]).code == 2)
  }

  @Test func missingFolderIsUnavailable() {
    let (code, _, progress) = run([
      "run", "--lifecycle", "test", "--authority", "/nonexistent/ca", "--output", "/nonexistent/f",
    ])
    #expect(code == 3 && progress.contains("/nonexistent/ca"))
  }
}
