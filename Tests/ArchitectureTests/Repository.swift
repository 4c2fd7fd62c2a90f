import Foundation

/// The repository as files, and the module each file belongs to.
struct Repository {
  struct File: Sendable {
    let path: String
    let text: String

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    /// Lines that are neither empty nor a comment.
    var codeLines: Int {
      lines.count { line in
        let text = line.drop(while: \.isWhitespace)
        return !text.isEmpty && !text.hasPrefix("//")
      }
    }
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    /// The target it belongs to: the folder under Sources or Tests.
    var target: String {
      let parts = path.split(separator: "/").map(String.init)
      return parts.count > 2 ? parts[1] : parts[0]
    }
  }

  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Every text file, without hidden files and folders.
  static let files: [File] = {
    let walk = FileManager.default.enumerator(
      at: root, includingPropertiesForKeys: [.isRegularFileKey], options: [.skipsHiddenFiles])
    var files: [File] = []
    let prefix = root.path.hasSuffix("/") ? root.path.count : root.path.count + 1
    for case let url as URL in walk ?? FileManager.DirectoryEnumerator() {
      guard (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true,
        let text = try? String(contentsOf: url, encoding: .utf8)
      else { continue }
      files.append(File(path: String(url.path.dropFirst(prefix)), text: text))
    }
    return files.sorted { $0.path < $1.path }
  }()

  static let swift = files.filter { $0.path.hasSuffix(".swift") }
  static let sources = swift.filter { $0.path.hasPrefix("Sources/") }
  static let own = sources + swift.filter { $0.path.hasPrefix("migrations/") }

  /// By path. Cut into code and strings once, because that takes seconds.
  static let texts = Dictionary(uniqueKeysWithValues: own.map { ($0.path, SwiftText($0.text)) })

  /// Every line of `files` for which `isWrong` returns true, as `file:line`.
  static func offenders(
    _ files: [File], _ isWrong: (Substring) -> Bool
  ) -> [String] {
    files.flatMap { file in
      file.lines.enumerated().filter { isWrong($0.element) }
        .map { "\(file.path):\($0.offset + 1): \($0.element.prefix(100))" }
    }
  }

  /// The words of a line: what a regular expression looks for is looked for in few lines only,
  /// because it takes a thousand times as long.
  static func words(_ line: Substring) -> [Substring] {
    line.utf8.split { byte in
      !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) && byte != UInt8(ascii: "_")
    }.map { Substring($0) }
  }

  /// Offenders in code alone: strings and comments are blanked before `isWrong` is called.
  static func offendersInCode(
    _ files: [File], _ isWrong: (Substring) -> Bool
  ) -> [String] {
    offenders(files.map { File(path: $0.path, text: texts[$0.path]?.code ?? "") }, isWrong)
  }
}
