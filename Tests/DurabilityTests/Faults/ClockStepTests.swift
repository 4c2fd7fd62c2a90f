import Foundation
import Ledger
import Platform
import Store
import StrictJSON
import Support
import Synchronization
import Testing

/// The machine's clock is set forward and back while a daemon runs, by seconds and by years.
@Suite struct ClockStepTests {
  private static let year: Int64 = 365 * 86_400_000
  private static let steps: [Int64] = [
    0, 5_000, -5_000, 3 * year, 3 * year + 1_000, 0, -8 * year, 30_000, -year, 0,
  ]

  init() { Log.isSilent.store(true, ordering: .relaxed) }

  @Test func `a clock that steps loses nothing`() throws {
    let disk = try InterceptedDisk()
    let bodies = try disk.sign(0..<(Self.steps.count * 12))
    disk.intercept(tracing: false)
    let daemon = try disk.installation.start()
    let answered = Answers()
    for (number, step) in Self.steps.enumerated() {
      try disk.clock.set(aheadBy: step)
      let (port, clock) = (daemon.port, disk.clock)
      let part = Array(bodies[(number * 12)..<(number * 12 + 12)])
      runConcurrently(4) { thread in
        let client = Client(port: port)
        for (index, body) in part.enumerated() where index % 4 == thread {
          // One thread sets it back and forward again while the others post.
          if thread == 0 { try? clock.set(aheadBy: index == 4 ? step - 2_000 : step) }
          answered.record(client.post(body))
        }
      }
      try expectSaneDefaults(daemon, step)
    }
    #expect(answered.accepted.count == bodies.count && answered.others == 0)
    #expect(try daemon.stop().code == 0)
    try expectOrder(disk, bodies.count)
    // Also with a clock that is years before the last event.
    try disk.clock.set(aheadBy: -20 * Self.year)
    let again = try disk.installation.start()
    let more = try disk.sign(bodies.count..<bodies.count + 3)
    try disk.post(more, to: again)
    try expectSaneDefaults(again, -20 * Self.year)
    #expect(try again.stop().code == 0)
    try expectOrder(disk, bodies.count + 3)
    disk.stopIntercepting()
    #expect(try disk.installation.verify().code == 0)
  }

  @Test func `a start after events of the future warns once, in the log and in numbers`() throws {
    let disk = try InterceptedDisk()
    let bodies = try disk.sign(0..<3)
    disk.intercept(tracing: false)
    try disk.clock.set(aheadBy: 73 * Self.year)
    var daemon = try disk.installation.start()
    try disk.post([bodies[0]], to: daemon)
    #expect(try ahead(daemon) == 0 && warnings(daemon).isEmpty)
    #expect(try daemon.stop().code == 0)
    try disk.clock.set(aheadBy: 0)
    daemon = try disk.installation.start()
    try disk.post([bodies[1]], to: daemon)
    let seconds = Double(73 * Self.year / 1000)
    #expect(abs(try ahead(daemon) - seconds) < 600)
    let warning = try #require(warnings(daemon).first)
    #expect(warnings(daemon).count == 1 && warning.contains("\"level\":\"warning\""))
    let doctor = try disk.installation.run("doctor")
    #expect(doctor.output.contains("✗ clock"), "\(doctor)")
    // What known_at rests on: the second event has the receive time of the first.
    let now = "\(Int64(Date().timeIntervalSince1970 * 1000))"
    let client = daemon.client()
    #expect(client.get("/v1/entitlements/901?known_at=\(now)")?.status == 404)
    #expect(client.get("/v1/entitlements/901")?.status == 200)
    #expect(try daemon.stop().code == 0)
    try disk.clock.set(aheadBy: 74 * Self.year)
    daemon = try disk.installation.start()
    try disk.post([bodies[2]], to: daemon)
    #expect(try ahead(daemon) == 0 && warnings(daemon).isEmpty)
    #expect(try daemon.stop().code == 0)
  }

  private func ahead(_ daemon: RunningDaemon) throws -> Double {
    let page = MetricsText(try #require(daemon.client().get("/metrics")).text)
    return try #require(page.value("subledger_received_ahead_seconds"))
  }

  private func warnings(_ daemon: RunningDaemon) -> [Substring] {
    daemon.log.split(separator: "\n").filter { $0.contains("received_ahead") }
  }

  private final class Answers: Sendable {
    private let state = Mutex((accepted: Set<Int64>(), others: 0))
    var accepted: Set<Int64> { state.withLock { $0.accepted } }
    var others: Int { state.withLock { $0.others } }

    func record(_ answer: Client.Answer?) {
      state.withLock { state in
        if answer?.status == 200, let seq = answer?.json?["seq"]?.integer {
          state.accepted.insert(seq)
        } else {
          state.others += 1
        }
      }
    }
  }

  /// Without `as_of` the answer is for now by our clock: what was bought in 2026 for a month gives
  /// access then, and neither before nor after (promise 8).
  private func expectSaneDefaults(_ daemon: RunningDaemon, _ step: Int64) throws {
    let now = Int64(Date().timeIntervalSince1970 * 1000) + step
    let answer = try #require(daemon.client().get("/v1/entitlements/900"))
    let row = answer.json
    #expect(answer.status == 200, "\(answer.text)")
    let asOf = try #require(row?["as_of"]?.integer)
    #expect(abs(asOf - now) < 60_000, "as of \(asOf) at \(now)")
    let expires = row?["expires_at"]?.integer ?? 0
    let isInside = now >= Sample.start && now < expires
    #expect(row?["gives_access"]?.boolean == isInside, "\(answer.text)")
    let text = try #require(
      daemon.client().get("/v1/entitlements/900?as_of=\(Sample.start + 3_600_000)"))
    #expect(text.json?["gives_access"]?.boolean == true, "\(text.text)")
  }

  private func expectOrder(_ disk: InterceptedDisk, _ count: Int) throws {
    let reader = try JournalReader.open(DataFolder(path: disk.installation.data.path))
    let events = try reader.events(after: 0, limit: 10_000)
    #expect(events.count == count)
    for (earlier, later) in zip(events, events.dropFirst()) {
      #expect(earlier.receivedAt <= later.receivedAt, "seq \(later.seq)")
    }
  }
}
