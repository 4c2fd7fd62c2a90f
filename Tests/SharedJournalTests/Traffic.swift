import Foundation
import StrictJSON
import Support
import Synchronization

/// What Apple sends, through a balancer that knows which daemons are up: each notification goes to
/// one of them, and to the next one after a refusal or without an answer, as Apple's retries would.
final class Traffic: Sendable {
  /// What was answered.
  struct Answers {
    /// The places that 200s named, by uuid.
    var seqs: [String: Set<Int64>] = [:]
    /// How often each status came; 0 for no answer.
    var statuses: [Int: Int] = [:]
    /// Milliseconds from a request to its 200.
    var milliseconds: [Int] = []
    /// Notifications that nobody took in time.
    var givenUp = 0
  }

  private let ports: Mutex<[UInt16?]>
  private let state = Mutex(Answers())

  init(daemons count: Int) { ports = Mutex(Array(repeating: nil, count: count)) }

  func set(_ port: UInt16?, of daemon: Int) { ports.withLock { $0[daemon] = port } }

  var answers: Answers { state.withLock { $0 } }

  /// Sends all of them once, and returns when each has its 200 or was given up.
  ///
  /// - Parameter seconds: after which a notification is given up.
  func send(
    _ bodies: [(uuid: String, body: [UInt8])], connections: Int, within seconds: Double = 60
  ) {
    let next = Atomic<Int>(0)
    runConcurrently(connections) { number in
      var clients: [UInt16: Client] = [:]
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < bodies.count else { return }
        self.send(bodies[index], &clients, first: index + number, within: seconds)
      }
    }
  }

  private func send(
    _ item: (uuid: String, body: [UInt8]), _ clients: inout [UInt16: Client], first: Int,
    within seconds: Double
  ) {
    let end = Date(timeIntervalSinceNow: seconds * RunningCommand.waitFactor)
    var attempt = first
    while Date() < end {
      attempt += 1
      let known = ports.withLock { $0 }
      guard let port = known[attempt % known.count] else {
        usleep(5_000)
        continue
      }
      let client = clients[port] ?? Client(port: port)
      clients[port] = client
      let start = Date()
      let answer = client.post(item.body)
      if answer == nil { clients[port] = nil }
      let isTaken = answer?.status == 200
      record(item.uuid, answer, Int(Date().timeIntervalSince(start) * 1000))
      if isTaken { return }
      usleep(20_000)
    }
    state.withLock { $0.givenUp += 1 }
  }

  private func record(_ uuid: String, _ answer: Client.Answer?, _ milliseconds: Int) {
    state.withLock { state in
      state.statuses[answer?.status ?? 0, default: 0] += 1
      guard let answer, answer.status == 200, let seq = answer.json?["seq"]?.integer else { return }
      state.seqs[uuid, default: []].insert(seq)
      state.milliseconds.append(milliseconds)
    }
  }
}

extension Traffic.Answers {
  /// The time within which this share of the 200s came, milliseconds.
  func milliseconds(_ share: Double) -> Int {
    let sorted = milliseconds.sorted()
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }
}
