package import Platform
package import Store
import Synchronization

/// The duties of a `SharedJournalServer`.
package final class InMemoryDutyTable: DutyTable {
  private let server: SharedJournalServer
  /// Nanoseconds of the server's clock.
  private let clock: () -> Int64

  package init(
    _ server: SharedJournalServer, clock: @escaping () -> Int64 = Clock.monotonicNanoseconds
  ) {
    self.server = server
    self.clock = clock
  }

  private func change<Result>(
    _ duty: String, _ body: (inout SharedJournalServer.Duty?) -> Result
  ) throws(LedgerError) -> Result {
    let result = server.state.withLock { state -> Result? in
      state.isDown ? nil : body(&state.duties[duty])
    }
    guard let result else { throw .sharedNotNow(state: "08006") }
    return result
  }

  package func take(
    _ duty: String, for holder: String, by deadline: Deadline
  ) throws(LedgerError) -> DutyLease? {
    let (now, until) = (clock(), clock() + DutyLease.seconds * 1_000_000_000)
    return try change(duty) { duty -> DutyLease? in
      guard var found = duty else {
        duty = SharedJournalServer.Duty(holder: holder, epoch: 0, until: until, position: nil)
        return DutyLease(epoch: 0, position: nil)
      }
      // One that ends later than any that is taken now is no lease.
      let isLease = (now...(2 * until - now)).contains(found.until)
      guard found.holder == holder || !isLease else { return nil }
      if found.holder != holder { found.epoch += 1 }
      (found.holder, found.until) = (holder, until)
      duty = found
      return DutyLease(epoch: found.epoch, position: found.position)
    }
  }

  package func save(
    _ position: [UInt8], of duty: String, _ lease: DutyLease, by deadline: Deadline
  ) throws(LedgerError) -> Bool {
    try change(duty) { duty in
      guard duty?.epoch == lease.epoch else { return false }
      duty?.position = position
      return true
    }
  }

  package func release(
    _ duty: String, _ lease: DutyLease, by deadline: Deadline
  ) throws(LedgerError) {
    try change(duty) { duty in
      if duty?.epoch == lease.epoch { duty?.until = .min }
    }
  }
}
