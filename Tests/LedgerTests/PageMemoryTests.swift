import Foundation
import Store
import Testing

/// The memory of the daemon is mostly pages of its files: it has some twenty connections.
@Suite struct PageMemoryTests {
  @Test(arguments: [SQLiteConnection.Mode.read, .write])
  func `a connection holds a bounded number of pages`(mode: SQLiteConnection.Mode) throws {
    let path = NSTemporaryDirectory() + "subledger-pages-" + UUID().uuidString
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let connection = try SQLiteConnection.open(path, mode)
    let held = try connection.statement("PRAGMA cache_size").first { $0.int(0) }
    #expect(held == (mode == .read ? -1_000 : -12_000))
    connection.close()
  }
}
