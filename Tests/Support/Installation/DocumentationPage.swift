import Foundation

/// A page of the documentation, as it is in the repository.
package struct DocumentationPage: Sendable {
  /// The path in the repository.
  package let path: String
  package let text: String

  package init(_ path: String) throws {
    self.path = path
    text = try String(
      contentsOf: MonitoringFiles.repository.appending(path: path), encoding: .utf8)
  }

  private static let catalog = "Sources/subledger/subledger.docc/"

  /// A page of the operating guide.
  package static func operating(_ name: String) throws -> DocumentationPage {
    try DocumentationPage("\(catalog)operating/\(name).md")
  }

  /// The names of all pages of the operating guide.
  package static let operatingNames: [String] = {
    let folder = MonitoringFiles.repository.appending(path: catalog + "operating")
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()
  }()

  /// The list of the pages of the operating guide.
  package static let contents = catalog + "Operating.md"

  /// The pages for users.
  package static let paths =
    ["README.md", contents]
    + operatingNames.map { "\(catalog)operating/\($0).md" }

  package var words: Int { text.split { $0.isWhitespace }.count }

  /// The anchors of the headings, as a reader's browser makes them.
  package var anchors: Set<String> {
    let headings = text.matches(of: /(?m)^#+ (.+)$/).map { String($0.1).lowercased() }
    return Set(
      headings.map { heading in
        heading.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
          .replacing(" ", with: "-")
      })
  }

  /// The files and anchors of this repository that the page links to.
  package var links: [(file: String, anchor: String?)] {
    let targets =
      text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
      + text.matches(of: /(?m)^\[[^\]]+\]: (\S+)$/).map { String($0.1) }
    return targets.filter { !$0.hasPrefix("http") }.map { target in
      let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let folder = URL(filePath: "/" + path).deletingLastPathComponent()
      let file =
        parts[0].isEmpty
        ? path : String(folder.appending(path: String(parts[0])).standardized.path.dropFirst())
      return (file, parts.count == 2 ? String(parts[1]) : nil)
    }
  }

  /// The blocks of code that are indented, without the indentation.
  package var blocks: [String] {
    var blocks: [[Substring]] = []
    var (isFenced, isOpen, wasBlank) = (false, false, true)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") { isFenced.toggle() }
      let isCode = !isFenced && line.hasPrefix("    ")
      if isCode && (isOpen || wasBlank) {
        if !isOpen { blocks.append([]) }
        blocks[blocks.count - 1].append(line)
      }
      isOpen = isCode && (isOpen || wasBlank)
      wasBlank = line.isEmpty
    }
    return blocks.map { lines in
      let indentation = lines[0].prefix { $0 == " " }.count
      return lines.map { $0.dropFirst(min(indentation, $0.prefix { $0 == " " }.count)) }
        .joined(separator: "\n")
    }
  }

  /// The programs that the pages use.
  private static let programs: Set<Substring> = [
    "apt-get", "cd", "chmod", "command", "curl", "docker", "journalctl", "kubectl", "make",
    "minisign", "openssl", "pip", "printf", "psql", "sha256sum", "sqlite3", "ssh", "subledger",
    "sudo", "systemctl",
  ]

  /// Whether a line begins with one of these programs, or sets a variable to what one prints.
  package static func isCommand(_ line: Substring) -> Bool {
    programs.contains(line.prefix { !$0.isWhitespace }) || line.contains(/^\w+=\$\(/)
  }
}
