import Platform

/// The configuration keys of a program, as its `help configuration` prints them.
struct KeyList {
  /// Type, default and meaning, by the path of the key.
  let keys: [String: String]

  static let own = KeyList(HelpTopic.configuration.document.text)

  init(_ text: String) {
    var keys: [String: String] = [:]
    var path: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.drop { $0 == " " }
      if words.isEmpty {
        path = nil
      } else if let path {
        keys[path, default: ""] += " " + words
      } else if line.hasPrefix("  "), let end = words.firstRange(of: "  (") {
        path = String(words[..<end.lowerBound])
        keys[path ?? ""] = String(words[end.upperBound...])
      }
    }
    self.keys = keys
  }

  /// - Parameter path: of a file with the text; `-` is standard input.
  /// - Throws: `LedgerError.usage` if it has no keys, `.unavailable` if it cannot be read.
  static func read(_ path: String) throws(LedgerError) -> KeyList {
    var text: [UInt8] = []
    do throws(LedgerError) {
      let reader = try LineReader(path: path, maximum: 4096)
      while let line = try reader.next(), text.count < 1 << 20 { text += line + [0x0A] }
    } catch {
      throw .unavailable("\(error.detail); give a file that exists, or - for standard input")
    }
    let list = KeyList(String(decoding: text, as: UTF8.self))
    guard !list.keys.isEmpty else {
      throw .usage("--keys has no keys; give what `help configuration` of the old program prints")
    }
    return list
  }

  /// How these keys differ from those of an older program; the changed ones are of another type,
  /// default or description.
  func changes(since old: KeyList) -> (new: [String], gone: [String], changed: [String]) {
    (
      keys.keys.filter { old.keys[$0] == nil }.sorted(),
      old.keys.keys.filter { keys[$0] == nil }.sorted(),
      keys.keys.filter { old.keys[$0] != nil && old.keys[$0] != keys[$0] }.sorted()
    )
  }
}
