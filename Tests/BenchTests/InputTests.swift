import Foundation
import JournalStore
import Platform
import Simulator
import StrictJSON
import Testing

@testable import subledger_bench

/// What is sent, and what is only stored.
@Suite struct InputTests {
  /// In a folder of its own, removed afterwards.
  private func inFolder(_ body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.path + "/bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  @Test func aFileIsSentAgainAndOnlyForItsFleet() throws {
    try inFolder { folder in
      let path = folder + "/input"
      let input = try Input.prepare(path, customers: 20)
      let bytes = try Data(contentsOf: URL(filePath: path))
      #expect(try Input.prepare(path, customers: 20).count == input.count)
      #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
      #expect(throws: BenchError.self) { try Input.prepare(path, customers: 21) }
      #expect(input.streams.values.reduce(0, +) == input.count)
      #expect(input.threeSigned > 0 && input.threeSigned < input.count)
    }
  }

  @Test func requestsCarryTheLinesOfTheFile() throws {
    try inFolder { folder in
      let input = try Input.prepare(folder + "/input", customers: 20)
      let text = try String(contentsOfFile: folder + "/input", encoding: .utf8)
      let lines = text.split(separator: "\n").dropFirst()
      let posts = input.posts(0..<input.count)
      var request: [UInt8] = []
      for (number, line) in lines.enumerated() {
        try posts.write(number, to: &request)
        let head = "Content-Length: \(line.utf8.count)\r\n\r\n"
        let end = Array(head.utf8) + Array(line.utf8)
        // Not shown whole where it fails: that takes minutes.
        let isLine = Array(request.suffix(end.count)) == end
        #expect(isLine, "request \(number)")
      }
      // Three signatures make a body longer than two.
      let sizes = lines.map(\.utf8.count)
      #expect(sizes.prefix(input.threeSigned).min() ?? 0 > sizes.suffix(1).max() ?? .max)
    }
  }

  /// Journals that are made have what the same notifications would have been, but for signatures.
  @Test func madeBodiesAreAsLargeAsGenuineOnes() throws {
    let authority = try SimulatedAuthority.make()
    var made = MadeBody(header: try MadeBody.header(of: authority), seed: 1)
    let fleet = Fleet(app: SimulatedApp(), customers: 30, days: 400, end: Input.end, seed: 3)
    for notification in fleet.notifications() {
      let genuine = try authority.signedPayload(notification.payload)
      let event = made.event(notification, receivedAt: Input.end)
      #expect(event.body.count == genuine.count)
      let isSameHeader = event.body.prefix(4_000) == genuine.prefix(4_000)
      #expect(isSameHeader && notification.uuid == event.notificationUUID)
    }
  }

  @Test func aMadeJournalHoldsTogether() throws {
    try inFolder { folder in
      let known = Fleet(app: SimulatedApp(), customers: 30, days: 400, end: Input.end, seed: 7)
        .notifications()
      let header = try MadeBody.header(of: try .make())
      try MadeJournal.make(folder + "/data", events: 600, among: known, header: header)
      let reader = try JournalReader.open(DataFolder(path: folder + "/data"))
      defer { reader.close() }
      #expect(try reader.head().seq == 600)
      // All of the known ones, each once, and not all in one place.
      let seqs = try known.map { try #require(try reader.event(notificationUUID: $0.uuid)).seq }
      #expect(Set(seqs).count == known.count && seqs == seqs.sorted())
      #expect(seqs.last ?? 0 > 550 && seqs[known.count / 2] > 200)
    }
  }

  @Test func aPartOfAFleetIsTheSameAsInTheWhole() {
    var fleet = Fleet(app: SimulatedApp(), customers: 20, days: 400, end: Input.end, seed: 3)
    let all = fleet.notifications()
    fleet.customers = 10
    let low = fleet.notifications()
    fleet.first = 10
    let high = fleet.notifications()
    #expect(Set(all.map(\.uuid)) == Set(low.map(\.uuid)).union(high.map(\.uuid)))
    #expect(all.count == low.count + high.count)
  }
}
