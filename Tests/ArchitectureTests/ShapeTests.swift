import Foundation
import Testing

/// The shape of files, folders and names. Every offender is named as `file:line`.
@Suite struct ShapeTests {
  @Test func `the repository is found`() {
    #expect(Repository.sources.count > 50)
    #expect(Repository.files.contains { $0.path == "Package.swift" })
  }

  @Test func `files have at most 600 lines`() {
    expectNone(
      Repository.own.filter { $0.lines.count > 600 }.map { "\($0.path): \($0.lines.count) lines" },
      "at most 600 lines")
  }

  @Test func `lines have at most 100 columns`() {
    expectNone(
      Repository.offenders(Repository.own) { $0.count > 100 }
        // A test may show a long text as it is.
        + Repository.offenders(Repository.swift.filter { $0.path.hasPrefix("Tests/") }) {
          $0.count > 100 && !$0.contains("#\"") && !$0.contains("\"") && !$0.contains("/\\b")
        },
      "at most 100 columns")
  }

  @Test func `functions are shorter than 70 lines and most are shorter than 25`() {
    var long: [String] = []
    var counts: [Int] = []
    for file in Repository.own {
      for function in FunctionLengths(Repository.texts[file.path]?.code ?? "").functions {
        counts.append(function.count)
        if function.count >= 70 {
          long.append("\(file.path):\(function.line): \(function.count) lines")
        }
      }
    }
    expectNone(long, "functions under 70 lines")
    let short = counts.count { $0 < 25 }
    #expect(counts.count > 500 && short * 100 >= counts.count * 85, "\(short) of \(counts.count)")
  }

  @Test func `nothing is forced and no fatalError is called`() {
    expectNone(Repository.offendersInCode(Repository.own) { $0.contains("try!") }, "no try!")
    expectNone(
      Repository.offendersInCode(Repository.own) { $0.contains("fatalError(") }, "no fatalError")
    expectNone(Repository.offendersInCode(Repository.own) { $0.contains("as!") }, "no as!")
    let isForced = { (line: Substring) in
      // A name, a bracket or a generic's end, then `!` that starts no `!=`.
      line.utf8.contains(UInt8(ascii: "!")) && line.contains(/[A-Za-z0-9_\)\]\}>`]!(?!=)/)
    }
    expectNone(Repository.offendersInCode(Repository.own, isForced), "no forced unwrapping")
  }

  @Test func `no type is declared unchecked Sendable`() {
    expectNone(
      Repository.offenders(Repository.own) { $0.contains("@unchecked") }, "no @unchecked Sendable")
  }

  @Test func `no mark of unfinished work is left`() {
    // Spelt in two parts, so that this line is no offender itself.
    let marks = ["TO" + "DO", "FIX" + "ME"]
    expectNone(
      Repository.offenders(Repository.files) { line in marks.contains { line.contains($0) } },
      "finished, or an issue")
  }

  @Test func `files are named after what they hold`() {
    let vague = ["Util", "Common", "Helper", "Manager", "Core", "Models", "Misc", "Extensions"]
    expectNone(
      Repository.swift.filter { file in
        vague.contains { file.name == "\($0).swift" || file.name == "\($0)s.swift" }
          || vague.contains { file.name.hasSuffix("\($0).swift") && $0 != "Core" }
      }.map(\.path), "one file per noun or verb")
  }

  @Test func `paths differ in more than case`() {
    let paths = Repository.swift.map { $0.path.lowercased() }
    #expect(Set(paths).count == paths.count)
  }

  @Test func `the top level holds only the declared entries`() throws {
    let allowed: Set = [
      "Package.swift", "Sources", "Tests", "migrations", "Makefile", "README.md",
    ]
    let entries = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path)
    expectNone(entries.filter { !$0.hasPrefix(".") && !allowed.contains($0) }, "top level")
  }

  @Test func `no path of one machine occurs`() {
    let prefixes = ["/wo" + "rk/", "/tmp/" + "wt", "../" + "shared", "/ho" + "me/"]
    expectNone(
      Repository.offenders(Repository.files) { line in prefixes.contains { line.contains($0) } },
      "no path of one machine")
  }

  @Test func `folders hold at most 15 Swift files`() {
    let folders = Dictionary(grouping: Repository.own) { file in
      file.path.split(separator: "/").dropLast().joined(separator: "/")
    }
    expectNone(
      folders.filter { $0.value.count > 15 }.map { "\($0.key): \($0.value.count)" },
      "few enough to scan")
  }

  @Test func `every public function that throws says when`() {
    expectNone(
      Repository.sources.flatMap { file in
        PublicThrows(file.lines).undocumented.map { "\(file.path):\($0)" }
      }, "a docstring with `Throws`")
  }

  /// Names that version 0.1 had for things with a standard name.
  @Test func `no name of the retired vocabulary is declared or used`() {
    let retired: Set<Substring> = [
      "Bell", "Ending", "Mailbox", "Inbox", "Letter", "Tally", "WaitingLine", "Census", "Flaw",
      "Chores", "Touchstone", "DictionaryShelf", "UnfoldedJWS", "CommandLineWords", "Asking",
      "LookRoutes", "Anchoring", "AnchorRhythm", "HistoryRelative", "TokenSum", "RowsDigest",
      "KeptChain", "SteppedLedger", "Courtesy", "StreamedFile", "NewFolder", "FileStamp",
      "Exposition", "LiveRows", "RowsFold", "Foe", "Forge", "House", "patience", "goesOn",
      "roundEnds", "turnEnds", "takesLong", "shelf", "chores", "census", "mailbox", "rhythm",
      "bell", "foe", "foldedThroughout", "twin",
    ]
    let own = Repository.swift.filter { !$0.path.hasPrefix("Tests/ArchitectureTests/") }
    expectNone(
      Repository.offenders(
        own.map { Repository.File(path: $0.path, text: SwiftText($0.text).code) }
      ) { !retired.isDisjoint(with: Repository.words($0)) }, "a retired name")
  }

  @Test func `each folder of migrations stays below 28 KB`() {
    for folder in ["sqlite", "postgres"] {
      let bytes = Repository.files.filter { $0.path.hasPrefix("migrations/\(folder)/") }
        .reduce(0) { $0 + $1.text.utf8.count }
      #expect(
        bytes > 0 && bytes < 28_672, "\(folder): \(bytes) bytes: more takes long to compile")
    }
  }

  @Test func `comments are between a tenth and a third of the lines`() {
    var (comments, lines) = (0, 0)
    for file in Repository.sources {
      for line in file.lines where !line.allSatisfy(\.isWhitespace) {
        lines += 1
        if line.drop(while: \.isWhitespace).hasPrefix("//") { comments += 1 }
      }
    }
    let percent = comments * 100 / max(lines, 1)
    #expect((10...35).contains(percent), "\(percent) % of the lines are comments")
  }

  @Test func `the scanner separates code, strings and comments`() {
    let text = """
      let a = "b! \\(c(d)!) e" // f!
      let g = #"h\\(i!) \\#(j!)"# /* k! */ + l
      """
    let code = SwiftText(text).code
    #expect(code.contains("c(d)!") && code.contains("j!") && code.contains("+ l"))
    #expect(!code.contains("b!") && !code.contains("f!") && !code.contains("i!"))
    #expect(!code.contains("k!") && !code.contains(" e"))
    #expect(SwiftText(text).strings.contains("b!") && !SwiftText(text).strings.contains("let"))
    #expect(
      FunctionLengths("func a() {\n  b {\n  }\n}\nfunc c() { d }").functions.map(\.count)
        == [4, 1])
  }
}
