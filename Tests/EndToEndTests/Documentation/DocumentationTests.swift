import Foundation
import Ledger
import StrictJSON
import Support
import Testing

/// The pages for users: their size, what they link to, and what they name.
@Suite struct DocumentationTests {
  @Test(arguments: DocumentationPage.operatingNames)
  func `a page of the operating guide has less than 2,000 words beside its code`(
    _ name: String
  ) throws {
    // A reference, to look things up in.
    guard name != "format" else { return }
    let page = try DocumentationPage.operating(name)
    let words = page.text.split(separator: "\n").filter { !$0.hasPrefix("    ") }
      .flatMap { $0.split(separator: " ") }
    #expect(words.count < 2_000, "\(words.count)")
    #expect(page.text.hasPrefix("# "))
  }

  @Test func `the README has at most 1,100 words`() throws {
    let words = try DocumentationPage("README.md").words
    #expect(words <= 1_100, "\(words)")
  }

  @Test(arguments: DocumentationPage.paths)
  func `every link leads to a file and a heading`(_ path: String) throws {
    for (file, anchor) in try DocumentationPage(path).links {
      let url = MonitoringFiles.repository.appending(path: file)
      #expect(FileManager.default.fileExists(atPath: url.path), "\(file)")
      if let anchor {
        #expect(try DocumentationPage(file).anchors.contains(anchor), "\(file)#\(anchor)")
      }
    }
  }

  @Test func `the contents have each page with its title and first paragraph`() throws {
    let contents = Self.inOneLine(try DocumentationPage(DocumentationPage.contents).text)
    let listed = Self.inOneLine(try #require(try Self.help("operating")))
    let names = DocumentationPage.operatingNames
    #expect(names.count > 10)
    for name in names {
      let page = try DocumentationPage.operating(name)
      let parts = page.text.components(separatedBy: "\n\n")
      let (title, summary) = (parts[0].dropFirst(2), Self.inOneLine(parts[1]))
      let isInContents = contents.contains("- [\(title)](operating/\(name).md): \(summary)")
      #expect(isInContents, "\(name)")
      let (isListed, shown) = (
        listed.contains(" \(name) \(summary)"), try Self.help("operating", name)
      )
      #expect(isListed, "\(name)")
      let lines = shown?.split(separator: "\n", omittingEmptySubsequences: false).count
      #expect(lines == page.text.split(separator: "\n", omittingEmptySubsequences: false).count)
      #expect(shown?.contains("](\(name)") == false && shown?.hasPrefix("# \(title)") == true)
    }
  }

  private static func inOneLine(_ text: String) -> String {
    (text + " ").split { $0.isWhitespace }.joined(separator: " ") + " "
  }

  private static func help(_ arguments: String...) throws -> String? {
    let shown = try InitTests.WorkFolder().run(["help"] + arguments)
    return shown.code == 0 ? shown.output : nil
  }

  @Test func `a page is a topic, leads to others by commands, and is named by its command`() throws
  {
    let page = try #require(try Self.help("accounts"))
    #expect(try page == Self.help("operating", "accounts"))
    let installed = try #require(try Self.help("install"))
    #expect(installed.contains("(subledger help operating containers)"))
    #expect(!installed.contains("](containers.md"))
    for reference in ["backends", "format"] {
      #expect(try Self.help(reference)?.hasPrefix("# ") == true, "\(reference)")
    }
    let command = try #require(try Self.help("recover"))
    #expect(command.contains("subledger help operating recover"))
  }

  @Test func `a page that does not exist is a usage error that names all`() throws {
    let refused = try InitTests.WorkFolder().run(["help", "operating", "bakup"])
    #expect(refused.code == 2 && refused.output.isEmpty, "\(refused)")
    #expect(refused.errors.contains("did you mean 'backup'?"), "\(refused)")
    for name in DocumentationPage.operatingNames { #expect(refused.errors.contains(name)) }
  }

  /// Commands in sentences and tables; those of blocks are run by `PageCommandTests`.
  @Test(arguments: DocumentationPage.paths)
  func `every command and flag that a page names exists`(_ path: String) throws {
    let page = try DocumentationPage(path)
    for span in page.text.matches(of: /`subledger\s+([a-z-]+)([^`]*)`/) {
      let command = String(span.1)
      let more = span.2.split { $0.isWhitespace }.map(String.init)
      let words = command == "simulate" ? [command] + more.prefix(1) : [command]
      let help = try InitTests.WorkFolder().run(words + ["--help"])
      #expect(help.code == 0, "\(span.0)")
      for flag in more where flag.hasPrefix("--") && flag != "--help" {
        #expect(help.output.contains("\(flag)"), "\(span.0)")
      }
    }
  }

  @Test(arguments: DocumentationPage.paths)
  func `no command hides in a block of output`(_ path: String) throws {
    for block in try DocumentationPage(path).blocks {
      let lines = block.split(separator: "\n")
      guard let first = lines.first, !DocumentationPage.isCommand(first) else { continue }
      for line in lines { #expect(!DocumentationPage.isCommand(line), "\(line)") }
    }
  }
}
