import Foundation
import StrictJSON
import Testing

@testable import Store

/// Customers for whom another fold has another answer, on their way to sinks.
@Suite struct RecalculationTests {
  @Test func `so many customers as a sink reads ahead are told at one moment at most`() throws {
    let scratch = try Scratch()
    let folder = scratch.folder
    let announcement = SinkStore.Announcement(before: "a", after: "b")
    let lines =
      [announcement.json]
      + (1...1050).map { number in
        Recalculation(stream: number, hadAccess: true, changes: .object([])).json
      }
    try Data(lines.map { $0.text + "\n" }.joined().utf8)
      .write(to: URL(filePath: folder.announcement))
    let store = try SinkStore(folder, journalId: [UInt8](repeating: 1, count: 16))
    defer { store.close() }
    #expect(try store.takeAnnouncement(at: 5_000) == 1050)
    let told = try store.recalculations(after: 0, through: .max, limit: 2_000)
    #expect(told.map(\.stream) == Array(1...1050))
    let moments = Dictionary(grouping: told, by: \.at).mapValues(\.count)
    #expect(moments.keys.min() == 5_000 && moments.keys.max() == 5_010)
    #expect(moments.values.allSatisfy { $0 <= 100 })
  }
}
