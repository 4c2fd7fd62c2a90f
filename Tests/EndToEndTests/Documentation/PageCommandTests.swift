import Foundation
import Support
import Testing

/// Runs each block of commands in the pages for users, in the order of the page, as a reader would:
/// a block of configuration between them is configured.
@Suite struct PageCommandTests {
  private static let paths = DocumentationPage.paths.filter { path in
    let blocks = (try? DocumentationPage(path).blocks) ?? []
    return blocks.contains { DocumentationPage.isCommand($0[...]) }
  }

  @Test func `pages have commands`() {
    #expect(Self.paths.count > 12 && Self.paths.contains("README.md"))
  }

  @Test(arguments: paths) func `the commands of a page run`(_ path: String) throws {
    let world = try PageWorld()
    for block in try DocumentationPage(path).blocks {
      if DocumentationPage.isCommand(block[...]) {
        let shown = try world.run(block)
        #expect(shown.code == 0, "\(block)\n\(shown)")
      } else if PageWorld.members(block) != nil {
        try world.configure(block)
      }
    }
    #expect(try world.end().code == 0)
  }
}
