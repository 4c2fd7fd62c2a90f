import AppStore
import AppStoreSimulator
import Audit
import Glibc
import Ledger
import Platform
import Store
import Support
import Synchronization
import Testing

/// Orders of commands to the writer: each gets an answer, also behind a full queue of
/// notifications, and none of them ends the journal.
@Suite struct OrderTests {
  private final class Answers: Sendable {
    let all = Mutex<[String]>([])
    func add(_ answer: String) { all.withLock { $0.append(answer) } }
  }

  @Test func `orders behind a full queue are served`() throws {
    let scratch = try Scratch()
    let configuration = try TestLedger.configuration(in: scratch)
    let ledger = try DeterministicLedger.open(
      DataFolder(path: configuration.data), now: 0, clock: { 0 })
    try ledger.prepareProjection { true }
    let receiver = try Receiver(configuration)
    let body = try SharedAuthority.sign(Sample.notification(1))
    let received = try receiver.receive(body: body, at: Sample.start)
    let accepted = Atomic<Int>(0)
    let full = Atomic<Int>(0)
    for _ in 0..<Ledger.queueLength + 10 {
      ledger.ledger.submit(received) { outcome in
        if case .refused(.unavailable) = outcome {
          full.add(1, ordering: .relaxed)
        } else {
          accepted.add(1, ordering: .relaxed)
        }
      }
    }
    #expect(full.load(ordering: .relaxed) == 10)
    let answers = Answers()
    ledger.ledger.dropQuarantined([7]) { answers.add("drop \($0 ?? -1)") }
    ledger.ledger.perform(.refold(only: "7000")) { answers.add("refold \($0)") }
    ledger.ledger.perform(.adoptCurrent) { answers.add("live \($0)") }
    #expect(answers.all.withLock { $0 }.isEmpty)
    ledger.work()
    #expect(accepted.load(ordering: .relaxed) == Ledger.queueLength)
    #expect(
      answers.all.withLock { $0 } == [
        "drop 0", "refold refolded(streams: 1, changed: 0)", "live nothing",
      ])
    ledger.stop()
  }

  /// The file is disposable: what is wrong with it says nothing about the journal.
  @Test func `folding one customer again on damage leaves the journal as it is`() throws {
    let ledger = try TestLedger()
    for number in 0..<3 {
      let body = try SharedAuthority.sign(Sample.notification(number, otid: "\(7_000 + number)"))
      #expect(try ledger.ingest(body, at: Sample.start) == .accepted(Int64(number + 1)))
    }
    let name = try #require(try ProjectionList.read(ledger.folder).live)
    let other = try SQLiteConnection.open(ledger.folder.projection(named: name), .write)
    try other.execute("UPDATE entitlement SET checksum = checksum + 1")
    other.close()
    let answers = Answers()
    let answered = WakeupEvent()
    // Another customer's, so that no row is in memory.
    ledger.ledger.perform(.refold(only: "7001")) {
      answers.add("\($0)")
      answered.signal()
    }
    answered.wait(milliseconds: 20_000)
    #expect(answers.all.withLock { $0 } == ["failed"])
    #expect(ledger.ledger.failure == nil)
    for _ in 0..<60_000 where ledger.ledger.liveProjection.state != .following { usleep(1_000) }
    #expect(ledger.ledger.liveProjection.damages == 1)
    let body = try SharedAuthority.sign(Sample.notification(9, otid: "7001"))
    #expect(try ledger.ingest(body, at: Sample.start) == .accepted(4))
    #expect(try ledger.verify().findings.isEmpty)
  }
}
