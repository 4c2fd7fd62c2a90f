import Foundation
import Support
import Testing

/// The disk of the database is full.
@Suite(.serialized) struct SharedFullDiskTests {
  @Test(.enabled(if: SmallTablespace.isPossible, "mounting a small disk needs root"))
  func `daemons refuse while the database's disk is full, lose nothing, and go on`() throws {
    let server = try TemporaryPostgres()
    let space = try SmallTablespace(on: server, megabytes: 32)
    let group = try DaemonGroup(SharedInstallations(on: server))
    try group.shared.sql("ALTER TABLE event SET TABLESPACE \(space.name)")
    try space.fill(leaving: 32)
    let bodies = try group.bodies(0..<SharedStormTests.postCount)
    var (refused, taken) = (0, 0)
    try group.send(bodies) { _ in
      try TemporaryPostgres.wait(60, "refusals") {
        group.traffic.answers.statuses[503, default: 0] >= 20
      }
      let before = group.traffic.answers
      usleep(300_000)
      let after = group.traffic.answers
      (refused, taken) = (after.statuses[503, default: 0], after.statuses[200, default: 0])
      #expect(taken == before.statuses[200, default: 0], "a full disk took notifications")
      try space.empty()
      return false
    }
    #expect(taken < bodies.count)
    #expect(group.daemons.contains { $0?.log.contains("53100") == true })
    try group.settle()
    try group.expectNothingLostOrTwice()
    print("shared full disk: \(taken) taken and \(refused) refused before there was room")
    withExtendedLifetime(space) {}
  }
}
