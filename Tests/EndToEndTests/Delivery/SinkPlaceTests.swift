import Foundation
import StrictJSON
import Support
import Testing

/// Where a new sink begins (promise 12).
@Suite struct SinkPlaceTests {
  @Test func `what is accepted once the daemon is ready is sent to a new sink`() throws {
    let world = try SinkWorld()
    // Of a sink that is there, nothing shows whether it is new.
    for round in 1...5 {
      try world.configure([("name", .string("sink-\(round)"))])
      let daemon = try world.installation.startWithoutProjection()
      try world.post(daemon, round...round, otid: "7001")
      // Nor does a crash lose what was accepted before.
      try daemon.crash()
      let again = try world.installation.startWithoutProjection()
      try world.waitUntil("event \(round)") { world.seqs.contains(Int64(round)) }
      #expect(!world.seqs.contains { $0 > Int64(round) } && world.seqs.first == 1)
      try again.stop()
    }
    #expect(Set(world.seqs) == Set(1...5))
  }

  @Test func `what is accepted once a reload is done is sent to a new sink`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    for round in 1...5 {
      try world.configure([("name", .string("sink-\(round)"))])
      daemon.command.signal(SIGHUP)
      try world.waitUntil("the reload") {
        daemon.log.split(separator: "\n").count { $0.contains("\"reloaded\"") } == round
      }
      try world.post(daemon, round...round, otid: "7001")
      try world.waitUntil("event \(round)") { world.seqs.contains(Int64(round)) }
    }
    #expect(world.seqs == Array(1...5), "no other event was sent to it")
    try daemon.stop()
  }
}
