import Foundation
import Support
import Testing

/// The daemons of a shared journal, as processes, and traffic to them.
final class DaemonGroup {
  let shared: SharedInstallations
  let traffic: Traffic
  private(set) var daemons: [RunningDaemon?]

  init(_ shared: SharedInstallations) throws {
    self.shared = shared
    traffic = Traffic(daemons: shared.installations.count)
    daemons = shared.installations.map { _ in nil }
    for index in daemons.indices { try start(index) }
  }

  func start(_ index: Int) throws {
    let daemon = try shared.installations[index].startWithoutProjection()
    daemons[index] = daemon
    traffic.set(daemon.port, of: index)
  }

  /// Kills a daemon with SIGKILL.
  func crash(_ index: Int, startingAgain: Bool = true) throws {
    traffic.set(nil, of: index)
    try daemons[index]?.crash()
    daemons[index] = nil
    if startingAgain { try start(index) }
  }

  /// Stops a daemon in order.
  func stop(_ index: Int) throws -> CommandResult? {
    traffic.set(nil, of: index)
    defer { daemons[index] = nil }
    return try daemons[index]?.stop()
  }

  /// Starts daemons that ended by themselves again, as a service manager does, until something
  /// holds.
  func superviseUntil(_ seconds: Double, _ holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: seconds * RunningCommand.waitFactor)
    while try !holds() {
      guard Date() < end else {
        let logs = daemons.map { $0?.log.suffix(1500) ?? "" }.joined(separator: "\n")
        throw TestFailure("it does not hold after \(seconds) s\n\(logs)")
      }
      for (index, daemon) in daemons.enumerated() where daemon?.command.isRunning != true {
        traffic.set(nil, of: index)
        try start(index)
      }
      usleep(50_000)
    }
  }

  /// Whether all daemons run and have this event: one that finds that its copy is of another
  /// history ends, and repairs it when it is started again.
  func hasEverywhere(_ seq: Int) -> Bool {
    daemons.allSatisfy { daemon in
      daemon.flatMap { Self.seq(of: $0) }.map { $0 >= Int64(seq) } ?? false
    }
  }

  private static func seq(of daemon: RunningDaemon) -> Int64? {
    let metrics = daemon.client().get("/metrics").map { MetricsText($0.text) }
    return metrics?.value("subledger_journal_seq").map { Int64($0) }
  }

  /// Signed notifications of some customers.
  func bodies(_ numbers: Range<Int>) throws -> [(uuid: String, body: [UInt8])] {
    try numbers.map { number in
      let body = try shared.installations[0].sign(
        Sample.notification(number, otid: "70\(number % 37)"))
      return (Sample.uuid(number), body)
    }
  }

  /// Sends traffic on another thread, disturbs it meanwhile, and waits until all of it was taken.
  ///
  /// - Parameter disturb: is called again and again until it returns false or the traffic ends.
  func send(
    _ bodies: [(uuid: String, body: [UInt8])], connections: Int = 8,
    disturbing disturb: (_ round: Int) throws -> Bool
  ) throws {
    let done = Flag()
    let traffic = traffic
    Thread.detachNewThread {
      traffic.send(bodies, connections: connections)
      done.set()
    }
    var round = 0
    while !done.isSet, try disturb(round) { round += 1 }
    while !done.isSet { usleep(10_000) }
  }

  /// Waits until every copy has what the shared journal has, and stops the daemons.
  func settle() throws {
    let end = Date(timeIntervalSinceNow: 60 * RunningCommand.waitFactor)
    let head = try shared.sql("SELECT seq FROM head")
    for daemon in daemons.compactMap({ $0 }) {
      while Date() < end, Self.seq(of: daemon).map({ String($0) }) != head { usleep(20_000) }
    }
    for (index, daemon) in daemons.enumerated() {
      let stopped = try stop(index)
      #expect(stopped?.code ?? 0 == 0, "daemon \(index): \(daemon?.log.suffix(2000) ?? "")")
    }
  }

  /// Checks that what was answered is journaled once, and that all copies are equal.
  ///
  /// - Parameter keepsPlaces: whether events are where their answers said.
  func expectNothingLostOrTwice(keepsPlaces: Bool = true) throws {
    let answers = traffic.answers
    #expect(answers.givenUp == 0, "\(answers.statuses)")
    #expect(Set(answers.statuses.keys).isSubset(of: [0, 200, 503]), "\(answers.statuses)")
    let rows = try shared.sharedRows()
    var places: [String: Set<Int64>] = [:]
    for row in rows {
      let columns = row.split(separator: "|", maxSplits: 2)
      places[String(columns[1]), default: []].insert(Int64(columns[0]) ?? 0)
    }
    #expect(places.values.allSatisfy { $0.count == 1 }, "an event is there twice")
    let lost = answers.seqs.keys.filter { places[$0] == nil }
    #expect(lost.isEmpty, "\(lost.count) of \(answers.seqs.count) answered events are lost")
    if keepsPlaces {
      #expect(answers.seqs.allSatisfy { places[$0.key] == $0.value }, "an answer named another seq")
    }
    var digests: Set<String?> = []
    for installation in shared.installations {
      let copied = try SharedInstallations.rows(of: installation)
      #expect(copied == rows, "journal_v1 differs: \(copied.count) of \(rows.count) rows")
      let verified = try installation.run("verify")
      #expect(verified.code == 0, "\(verified)")
      digests.insert(try installation.digest())
    }
    #expect(digests.count == 1 && !digests.contains(nil), "the digests differ: \(digests)")
  }
}
