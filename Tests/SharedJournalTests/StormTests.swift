import Foundation
import Support
import Testing

/// Two daemons on one database, while they are killed and their sessions ended (A 200 means: the
/// event is in the shared journal; promises 1 and 4).
@Suite struct SharedStormTests {
  /// How many notifications, and how often a daemon is killed and a session ended.
  static let isLong = ProcessInfo.processInfo.environment["SUBLEDGER_LONG"] != nil
  private static let count = isLong ? 20_000 : 400
  /// How many notifications the tests of other failures send.
  static let postCount = isLong ? 2_000 : 200
  private static let kills = isLong ? 20 : 2

  @Test func `killed daemons and ended sessions lose nothing and journal nothing twice`() throws {
    let group = try DaemonGroup(SharedInstallations())
    let bodies = try group.bodies(0..<Self.count)
    var (kills, ends) = (0, 0)
    try group.send(bodies, connections: 16) { round in
      usleep(Self.isLong ? 300_000 : 150_000)
      if round % 2 == 0 {
        try group.shared.endSession()
        ends += 1
      } else {
        try group.crash(kills % 2)
        kills += 1
      }
      return kills < Self.kills || ends < Self.kills
    }
    try group.settle()
    try group.expectNothingLostOrTwice()
    let answers = group.traffic.answers
    print(
      "shared storm: \(bodies.count) notifications, \(kills) kills, \(ends) ended sessions, "
        + "statuses \(answers.statuses), p50 \(answers.milliseconds(0.5)) ms, p99 "
        + "\(answers.milliseconds(0.99)) ms")
  }
}
