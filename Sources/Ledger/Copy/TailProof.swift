import Platform
import SignedData
import Store
import Synchronization

/// Proves what a copy follows: a few events on the thread that follows, many on all cores.
final class TailProof {
  private let roots: TrustRoots
  /// That of the thread that follows, which knows the chains of the last certificates.
  private let own: EventProof

  /// Events below which no other thread is started: they take some milliseconds.
  private static let minimum = 64
  /// Events that a thread takes at a time.
  private static let batch = 16

  /// - Throws: `LedgerError` if a trust root is not a certificate.
  init(_ roots: TrustRoots) throws(LedgerError) {
    self.roots = roots
    own = try EventProof(try NotificationProof(roots))
  }

  var followed: FollowedProof {
    FollowedProof(unproven: { self.unproven($0) }, isProven: { self.own.isProven($0) })
  }

  private func unproven(_ events: [StoredEvent]) -> Set<Int64> {
    let work = Work(events)
    var threads: [Thread] = []
    if events.count >= Self.minimum {
      for number in 1..<max(2, ProcessLimits.processors) {
        let roots = roots
        // Without the thread the others do its part.
        let thread = try? Thread.start("proof \(number)") {
          guard let proof = try? EventProof(try NotificationProof(roots)) else { return }
          work.run(proof)
        }
        if let thread { threads.append(thread) }
      }
    }
    work.run(own)
    for thread in threads { thread.join() }
    return work.unproven
  }

  /// The events of one tail, handed out to threads.
  private final class Work: Sendable {
    private let events: [StoredEvent]
    private let state = Mutex((next: 0, unproven: Set<Int64>()))

    init(_ events: [StoredEvent]) { self.events = events }

    var unproven: Set<Int64> { state.withLock { $0.unproven } }

    func run(_ proof: EventProof) {
      while true {
        let first = state.withLock { state in
          defer { state.next += TailProof.batch }
          return state.next
        }
        guard first < events.count else { return }
        let part = events[first..<min(events.count, first + TailProof.batch)]
        let unproven = part.filter { !proof.isProven($0) }.map(\.seq)
        if !unproven.isEmpty { state.withLock { $0.unproven.formUnion(unproven) } }
      }
    }
  }
}
