import Platform
import Store
import Synchronization

/// Two threads that append to one shared journal, each two events a round.
final class ConcurrentAppends: Sendable {
  private let open: @Sendable () -> any SharedJournal
  private let start: JournalPosition
  private let rounds: Int
  private let failures = Mutex<[String]>([])

  init(open: @escaping @Sendable () -> any SharedJournal, from start: JournalPosition, rounds: Int)
  {
    self.open = open
    self.start = start
    self.rounds = rounds
  }

  /// - Returns: what went wrong.
  func run() -> [String] {
    let threads = (0..<2).map { number in
      try? Thread.start("conformance-\(number)") { self.append() }
    }
    for thread in threads {
      if let thread { thread.join() } else { note("a thread could not be started") }
    }
    return failures.withLock { $0 }
  }

  private func note(_ failure: String) { failures.withLock { $0.append(failure) } }

  private func append() {
    let journal = open()
    defer { journal.disconnect() }
    var position = start
    for _ in 0..<rounds {
      let deadline = Deadline(milliseconds: 20_000)
      while true {
        do throws(LedgerError) {
          let tail = try journal.begin(after: position, by: deadline)
          position = tail.head
          var made = MadeShipment(after: position)
          made.addEvent()
          made.addEvent()
          try journal.commit(made.shipment, by: deadline)
          position = made.shipment.head
          break
        } catch {
          guard error.code == .sharedNotNow, !deadline.hasPassed else { return note("\(error)") }
        }
      }
    }
  }
}
