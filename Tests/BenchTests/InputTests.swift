import AppStore
import AppStoreSimulator
import Foundation
import Platform
import Store
import StrictJSON
import Testing

@testable import subledger_bench

/// The input that is sent, and the journals that are made.
@Suite struct InputTests {
  /// Runs `body` with a new folder, and removes it afterwards.
  private func inFolder(_ body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.path + "/bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  @Test func `an input file is used again, and only for its fleet`() throws {
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

  @Test func `each request has a line of the file as its body`() throws {
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
        // A comparison inside #expect would print both bodies on failure, which takes minutes.
        let isLine = Array(request.suffix(end.count)) == end
        #expect(isLine, "request \(number)")
      }
      // Three signatures make a body longer than two.
      let sizes = lines.map(\.utf8.count)
      #expect(sizes.prefix(input.threeSigned).min() ?? 0 > sizes.suffix(1).max() ?? .max)
    }
  }

  @Test func `a made body equals a genuine one but for its signatures`() throws {
    let authority = try SimulatedAuthority.make()
    var made = MadeBody(header: try MadeBody.header(of: authority), seed: 1)
    let fleet = Fleet(app: SimulatedApp(), customers: 30, days: 400, end: Input.end, seed: 3)
    for notification in fleet.notifications() {
      let genuine = try authority.signedPayload(notification.payload)
      let event = made.event(notification, receivedAt: Input.end)
      #expect(event.body.count == genuine.count)
      let isSameHeader = event.body.prefix(4_000) == genuine.prefix(4_000)
      #expect(isSameHeader && notification.uuid == event.notificationUUID.description)
    }
  }

  @Test func `a made journal has the known events once, evenly distributed`() throws {
    try inFolder { folder in
      let known = Fleet(app: SimulatedApp(), customers: 30, days: 400, end: Input.end, seed: 7)
        .notifications()
      let header = try MadeBody.header(of: try .make())
      try MadeJournal.make(folder + "/data", events: 600, among: known, header: header)
      let reader = try JournalReader.open(DataFolder(path: folder + "/data"))
      defer { reader.close() }
      #expect(try reader.head().seq == 600)
      let seqs = try known.map { notification in
        let uuid = try #require(NotificationUUID(notification.uuid))
        return try #require(try reader.event(notificationUUID: uuid)).seq
      }
      #expect(Set(seqs).count == known.count && seqs == seqs.sorted())
      #expect(seqs.last ?? 0 > 550 && seqs[known.count / 2] > 200)
    }
  }

  @Test func `the parts of a fleet have the notifications of the whole fleet`() {
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
