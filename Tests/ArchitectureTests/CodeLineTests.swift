import Testing

/// Sources grow for a reason alone.
@Suite struct CodeLineTests {
  /// How many code lines Sources may have. Whoever raises it says which capability needs the lines;
  /// whoever deletes code lowers it.
  static let limit = 70_273

  @Test func `Sources have no more code lines than the limit`() {
    var folders: [String: Int] = [:]
    for file in Repository.sources { folders[file.target, default: 0] += file.codeLines }
    let lines = folders.values.reduce(0, +)
    let byFolder = folders.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    #expect(
      lines <= Self.limit, "\(lines) lines: \(byFolder.joined(separator: ", "))")
  }

  @Test func `empty lines and comments are no code lines`() {
    let file = Repository.File(path: "a", text: "// a\n\n  /// b\nlet c = 0 // d\n  }\n")
    #expect(file.codeLines == 2)
  }
}
