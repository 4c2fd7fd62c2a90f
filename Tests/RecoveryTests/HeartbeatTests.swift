import AppStoreSimulator
import Ledger
import Queries
import Store
import Support
import Testing

@testable import Recovery

/// From when on notifications may be missing at a start.
@Suite struct HeartbeatTests {
  private static let now: Int64 = 1_767_225_600_000

  /// What is due when the thread begins after an event was received.
  private func dueAfterAnEvent(_ before: (TestLedger) throws -> Void = { _ in }) throws
    -> [RecoverySchedule.Task]
  {
    let ledger = try TestLedger()
    try before(ledger)
    let configuration = ledger.configuration
    let service = RecoveryService(
      ledger.ledger, version: "test", configuration: { configuration }, onOutcome: { _, _ in })
    try receive(ledger, at: Self.now)
    let worker = RecoveryWorker(service)
    try worker.begin(at: Self.now + 1)
    return worker.schedule?.tasks.filter { !$0.reason.isDaily } ?? []
  }

  private func receive(_ ledger: TestLedger, at now: Int64) throws {
    let played = Lifecycle.all[0].notifications(
      app: SimulatedApp(), seed: UInt64(now), endingAt: now)
    let answer = try ledger.ingest(try SharedAuthority.sign(played[0].payload), at: now)
    guard case .accepted = answer else { throw TestFailure("\(answer)") }
  }

  @Test func `what arrives before the thread begins makes no gap of an empty journal`() throws {
    #expect(try dueAfterAnEvent() == [])
  }

  @Test func `what arrives before the thread begins hides no gap of an older journal`() throws {
    let day: Int64 = 86_400_000
    let due = try dueAfterAnEvent { try receive($0, at: Self.now - day) }
    #expect(due.map(\.reason) == [.start] && due.map(\.since) == [Self.now - day])
  }
}
