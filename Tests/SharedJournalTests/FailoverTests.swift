import Foundation
import Support
import Testing

/// The primary is killed, and its standby takes over.
@Suite(.serialized) struct FailoverTests {
  private struct Servers {
    let primary: TemporaryPostgres
    let standby: TemporaryPostgres
    let group: DaemonGroup

    /// - Parameter isSynchronous: whether COMMITs wait for the standby.
    init(isSynchronous: Bool) throws {
      let primary = try TemporaryPostgres()
      self.primary = primary
      standby = try TemporaryPostgres(following: primary)
      try TemporaryPostgres.wait(60, "the standby to follow") {
        try primary.sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "1"
      }
      if isSynchronous {
        try primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        try primary.sql("SELECT pg_reload_conf()")
      }
      let (one, other) = (primary, standby)
      group = try DaemonGroup(
        SharedInstallations(
          on: primary,
          connection: { shared in
            "host=\(one.folder),\(other.folder) port=\(one.port),\(other.port) "
              + "dbname=\(shared.database) user=\(shared.role)"
          }))
    }

    /// Kills the primary and promotes the standby.
    ///
    /// - Returns: seconds from the kill to the end of the promotion.
    func failOver() throws -> Double {
      let start = Date()
      try primary.stop(.immediate)
      try standby.promote()
      group.shared.move(to: standby)
      return Date().timeIntervalSince(start)
    }
  }

  @Test func `a synchronous standby that takes over loses nothing`() throws {
    let servers = try Servers(isSynchronous: true)
    let group = servers.group
    var (promotion, failed, first) = (0.0, Date(), 0.0)
    try group.send(group.bodies(0..<SharedStormTests.postCount * 2)) { round in
      if round == 0 {
        // Early, so that most are still to be answered when the standby has taken over.
        try TemporaryPostgres.wait(60, "the first answers") {
          group.traffic.answers.milliseconds.count >= 20
        }
        failed = Date()
        promotion = try servers.failOver()
        let before = group.traffic.answers.milliseconds.count
        try TemporaryPostgres.wait(60, "an answer") {
          group.traffic.answers.milliseconds.count > before
        }
        first = Date().timeIntervalSince(failed)
      }
      return false
    }
    try group.settle()
    try group.expectNothingLostOrTwice()
    #expect(first - promotion < 5 * RunningCommand.timeoutFactor, "\(first) s")
    print(
      "shared failover: promoted after \(Int(promotion * 1000)) ms, first answer after "
        + "\(Int(first * 1000)) ms, statuses \(group.traffic.answers.statuses)")
  }

  /// What the standby never got was answered: the daemons have it, and put it back.
  @Test func `what an asynchronous standby lacks is put back`() throws {
    let servers = try Servers(isSynchronous: false)
    let group = servers.group
    let all = try group.bodies(0..<SharedStormTests.postCount)
    group.traffic.send(Array(all.prefix(all.count / 2)), connections: 8)
    let sender = try #require(
      pid_t(servers.primary.sql("SELECT pid FROM pg_stat_replication")))
    #expect(sender > 1 && kill(sender, SIGSTOP) == 0)
    group.traffic.send(Array(all.suffix(all.count / 2)), connections: 8)
    let answered = group.traffic.answers.seqs.count
    _ = try servers.failOver()
    let forgotten = try answered - (Int(group.shared.sql("SELECT seq FROM head")) ?? 0)
    #expect(forgotten > 0, "nothing was forgotten, and nothing is shown")
    try group.superviseUntil(30) {
      try group.shared.sql("SELECT seq FROM head") == String(answered)
        && group.hasEverywhere(answered)
    }
    group.traffic.send(all, connections: 8)
    try group.settle()
    try group.expectNothingLostOrTwice(keepsPlaces: false)
    print("shared regress: \(forgotten) of \(answered) answered events were forgotten, 0 lost")
  }
}
