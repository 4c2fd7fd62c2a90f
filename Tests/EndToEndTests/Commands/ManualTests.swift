import Foundation
import Support
import Testing

/// Completions and the manual page: all that `--help` has is in them, and the programs that read
/// them take them.
@Suite struct ManualTests {
  private func text(_ words: String...) throws -> String {
    let place = try InitTests.Place()
    let finished = try place.run(words)
    #expect(finished.code == 0, "\(finished)")
    return finished.output
  }

  /// Names of all commands, and their flags as `--help` says.
  private func table() throws -> [String: [String]] {
    let place = try InitTests.Place()
    var table: [String: [String]] = [:]
    for line in try place.run(["--help"]).output.split(separator: "\n") {
      guard let name = line.wholeMatch(of: /\s\s([a-z]+) +.*/).map({ String($0.1) }) else {
        continue
      }
      let help = name == "simulate" ? "" : try place.run([name, "--help"]).output
      table[name] = help.matches(of: /(?m)^  (--[a-z0-9-]+)/).map { String($0.1) }
    }
    #expect(table.count >= 18 && table["serve"]?.contains("--log-level") == true)
    return table
  }

  @Test func everythingIsInAllOfThem() throws {
    let table = try table()
    let manual = try text("man")
    let shells = try ["bash", "zsh", "fish"].map { ($0, try text("completions", $0)) }
    for (name, flags) in table {
      #expect(manual.contains(".SS \"\(name)\""), "\(name)")
      for (shell, script) in shells { #expect(script.contains(name), "\(shell): \(name)") }
      for flag in flags {
        #expect(manual.contains(flag.replacing("-", with: "\\-")), "man: \(name) \(flag)")
        for (shell, script) in shells {
          let wanted = shell == "fish" ? "-l \(flag.dropFirst(2))" : flag
          #expect(script.contains(wanted), "\(shell): \(name) \(flag)")
        }
      }
    }
  }

  @Test func bashCompletes() throws {
    let place = try InitTests.Place()
    let script = place.folder.appending(path: "complete.sh")
    try Data(
      """
      \(try text("completions", "bash"))
      ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _subledger; echo "${COMPREPLY[*]}"; }
      compopt() { :; }
      ask subledger ver
      ask subledger verify --anchor
      ask subledger quarantine ad
      ask subledger entitlement --environment S
      ask subledger serve --log-level w
      """.utf8
    ).write(to: script)
    let finished = try RunningCommand(
      [script.path], in: place.folder, program: URL(filePath: "/bin/bash")
    ).finish()
    #expect(
      finished.output.split(separator: "\n", omittingEmptySubsequences: false).prefix(5) == [
        "verify version", "--anchors --anchor-key", "admit", "Sandbox", "",
      ], "\(finished)")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func theShellTakesIt(_ shell: String) throws {
    guard
      let program = ["/bin/\(shell)", "/usr/bin/\(shell)"].first(
        where: FileManager.default.isExecutableFile)
    else { return }
    let place = try InitTests.Place()
    let script = place.folder.appending(path: "script")
    try Data(try text("completions", shell).utf8).write(to: script)
    let finished = try RunningCommand(
      ["-n", script.path], in: place.folder, program: URL(filePath: program)
    ).finish()
    #expect(finished.code == 0 && finished.errors.isEmpty, "\(finished)")
    let unknown = try place.run(["completions", "tcsh"])
    #expect(unknown.code == 2 && unknown.errors.contains("bash, zsh or fish"))
  }

  @Test func manTakesIt() throws {
    let place = try InitTests.Place()
    let page = place.folder.appending(path: "subledger.1")
    try Data(try text("man").utf8).write(to: page)
    for (program, words) in [
      ("/usr/bin/man", ["--warnings", "-l", page.path]),
      ("/usr/bin/mandoc", ["-Tlint", "-Wwarning", page.path]),
    ] where FileManager.default.isExecutableFile(atPath: program) {
      let finished = try RunningCommand(
        words, in: place.folder, program: URL(filePath: program),
        environment: ["LC_ALL": "C.UTF-8", "MANPAGER": "cat"]
      ).finish()
      #expect(finished.code == 0 && finished.errors.isEmpty, "\(program): \(finished)")
    }
  }
}
