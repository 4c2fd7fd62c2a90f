import Foundation
import Support
import Testing

/// Completions and manual pages contain everything that `--help` prints, and the programs that read
/// them accept them.
@Suite struct ManualTests {
  private func text(_ arguments: String...) throws -> String {
    let work = try InitTests.WorkFolder()
    let finished = try work.run(arguments)
    #expect(finished.code == 0, "\(finished)")
    return finished.output
  }

  /// The names of all commands, with their flags, from `--help`.
  private func table() throws -> [String: [String]] {
    let work = try InitTests.WorkFolder()
    var table: [String: [String]] = [:]
    let help = try work.run(["--help"]).output
    // Topics follow the commands.
    for line in help.split(separator: "\n").prefix(while: { !$0.contains("help <topic>") }) {
      guard let name = line.wholeMatch(of: /\s\s([a-z-]+)\s\s+.*/).map({ String($0.1) }) else {
        continue
      }
      let help = name == "simulate" ? "" : try work.run([name, "--help"]).output
      table[name] = help.matches(of: /(?m)^  (--[a-z0-9-]+)/).map { String($0.1) }
    }
    #expect(table.count >= 21 && table["serve"]?.contains("--log-level") == true)
    return table
  }

  @Test func `every command and flag is in the manual and in all completions`() throws {
    let table = try table()
    let manual = try text("man")
    let shells = try ["bash", "zsh", "fish"].map { ($0, try text("completions", $0)) }
    for (name, flags) in table {
      #expect(manual.contains(".SS \"\(name.replacing("-", with: "\\-"))\""), "\(name)")
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

  @Test func `bash completes commands, flags, operands and values`() throws {
    let work = try InitTests.WorkFolder()
    let script = work.folder.appending(path: "complete.sh")
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
      ask subledger help conf
      ask subledger help expl
      ask subledger man subledger-
      ask subledger help mirr
      ask subledger customer x --by app_t
      ask subledger sink sk
      ask subledger entitlement x --knowledge n
      ask subledger history x --by s
      """.utf8
    ).write(to: script)
    let finished = try RunningCommand(
      [script.path], in: work.folder, program: URL(filePath: "/bin/bash")
    ).finish()
    #expect(
      finished.output.split(separator: "\n", omittingEmptySubsequences: false).prefix(13) == [
        "verify version", "--anchors --anchor-key", "admit", "Sandbox", "", "configuration",
        "explain", "subledger-config", "mirror", "app_transaction_id", "skip", "now", "signed",
      ], "\(finished)")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `each shell parses its completions`(_ shell: String) throws {
    guard
      let program = ["/bin/\(shell)", "/usr/bin/\(shell)"].first(
        where: FileManager.default.isExecutableFile)
    else { return }
    let work = try InitTests.WorkFolder()
    let script = work.folder.appending(path: "script")
    try Data(try text("completions", shell).utf8).write(to: script)
    let finished = try RunningCommand(
      ["-n", script.path], in: work.folder, program: URL(filePath: program)
    ).finish()
    #expect(finished.code == 0 && finished.errors.isEmpty, "\(finished)")
    let unknown = try work.run(["completions", "tcsh"])
    #expect(unknown.code == 2 && unknown.errors.contains("bash, zsh or fish"))
  }

  @Test func `man prints the page of commands by default and refuses unknown pages`() throws {
    #expect(try text("man") == text("man", "subledger"))
    let unknown = try InitTests.WorkFolder().run(["man", "subledger-http"])
    #expect(unknown.code == 2 && unknown.output.isEmpty, "\(unknown)")
    #expect(unknown.errors.contains("subledger-config"), "\(unknown)")
  }

  @Test(arguments: [("subledger", 1), ("subledger-config", 5)])
  func `man and mandoc accept the manual pages without warnings`(
    name: String, section: Int
  ) throws {
    let work = try InitTests.WorkFolder()
    let page = work.folder.appending(path: "\(name).\(section)")
    try Data(try text("man", name).utf8).write(to: page)
    for (program, arguments) in [
      ("/usr/bin/man", ["--warnings", "-l", page.path]),
      ("/usr/bin/mandoc", ["-Tlint", "-Wwarning", page.path]),
    ] where FileManager.default.isExecutableFile(atPath: program) {
      let finished = try RunningCommand(
        arguments, in: work.folder, program: URL(filePath: program),
        environment: ["LC_ALL": "C.UTF-8", "MANPAGER": "cat"]
      ).finish()
      #expect(finished.code == 0 && finished.errors.isEmpty, "\(program): \(finished)")
    }
  }
}
