import Foundation
import StrictJSON
import Support
import Synchronization
import Testing

/// The same notifications many times at once: each is journaled once (promise 4).
@Suite struct StormTests {
  private static let count = TestCount.storm.number
  private static let times = 20
  private static let connections = 64

  /// The answers for each notification: its seqs, and how often it was accepted as new.
  private final class Answers: Sendable {
    private let state: Mutex<(seqs: [Set<Int64>], fresh: [Int], others: [Int: Int])>

    init(_ count: Int) {
      state = Mutex(
        ([Set<Int64>](repeating: [], count: count), Array(repeating: 0, count: count), [:]))
    }

    func record(_ number: Int, _ answer: Client.Answer?) {
      let seq = answer?.json?["seq"]?.integer
      let isFresh = answer?.json?["outcome"]?.string == "accepted"
      state.withLock { state in
        guard let answer, answer.status == 200, let seq else {
          state.others[answer?.status ?? 0, default: 0] += 1
          return
        }
        state.seqs[number].insert(seq)
        if isFresh { state.fresh[number] += 1 }
      }
    }

    var all: (seqs: [Set<Int64>], fresh: [Int], others: [Int: Int]) { state.withLock { $0 } }
  }

  @Test func `copies that arrive at once are journaled once`() throws {
    let installation = try Installation()
    let count = Self.count
    let bodies = try (0..<count).map { number in
      try installation.sign(Sample.notification(number, otid: "90\(number % 97)"))
    }
    let daemon = try installation.start()
    let (port, answers) = (daemon.port, Answers(count))
    let began = Date()
    // Every connection posts its share of the copies in the same order, so that the copies of one
    // notification are in flight together.
    runConcurrently(Self.connections) { connection in
      let client = Client(port: port)
      for number in 0..<count {
        for copy in 0..<Self.times
        where (number * 7 + copy) % Self.connections == connection {
          answers.record(number, client.post(bodies[number]))
        }
      }
    }
    let seconds = Date().timeIntervalSince(began)
    let found = answers.all
    #expect(found.others.isEmpty, "\(found.others)")
    #expect(found.fresh.allSatisfy { $0 == 1 })
    #expect(found.seqs.allSatisfy { $0.count == 1 })
    #expect(found.seqs.reduce(into: Set<Int64>()) { $0.formUnion($1) } == Set(1...Int64(count)))
    let metrics = MetricsText(daemon.client().get("/metrics")?.text ?? "")
    #expect(metrics.sum("subledger_notifications_total", ["outcome": "accepted"]) == Double(count))
    let repeats = Double(count * (Self.times - 1))
    #expect(metrics.sum("subledger_notifications_total", ["outcome": "duplicate"]) == repeats)
    #expect(metrics.value("subledger_journal_seq") == Double(count))
    #expect(try daemon.stop().code == 0)
    let events = try installation.events("--limit", "\(count + 1)")
    #expect(events.count == count)
    #expect(Set(events.compactMap { $0["notification_uuid"]?.string }).count == count)
    let verified = try installation.run("verify")
    #expect(verified.code == 0, "\(verified)")
    print("storm: \(count * Self.times) posts of \(count) in \(Int(seconds)) s")
  }
}
