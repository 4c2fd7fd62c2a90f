import AppStoreSimulator
import Glibc
import Platform
import Store
import Synchronization

/// Makes an unlimited number of events on threads of its own: one fleet after the other, with
/// different customers.
final class EventMaker: Sendable {
  /// The finished batches, for one consumer.
  let batches = BoundedQueue<[NewEvent]>(capacity: 16)
  private let header: [UInt8]
  /// Customers whose events are made together, in the order of signing.
  private let groupSize: Int
  private let threads: Int
  private let next = Atomic(0)

  /// A group of this size has about 56,000 events, and takes 350 MB of memory on each thread.
  private static let maximumGroupSize = 10_000
  /// Somewhat fewer events than a customer has.
  private static let perCustomer = 5
  private static let batchSize = 250
  /// The seed of the first fleet; the following fleets have the next numbers. None is that of
  /// `Input`.
  private static let seed: UInt64 = 100

  /// - Parameter events: the approximate number of events that will be consumed.
  init(header: [UInt8], for events: Int) {
    self.header = header
    groupSize = max(1, min(Self.maximumGroupSize, events / Self.perCustomer))
    threads = max(1, min(ProcessLimits.processors, events / (groupSize * Self.perCustomer)))
  }

  /// - Throws: `BenchError.unmeasurable` if a thread cannot be started.
  func start() throws(BenchError) {
    do throws(LedgerError) {
      for number in 0..<threads {
        _ = try Thread.start("make-\(number)") { [self] in run() }
      }
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  /// Ends the threads. Events that were not consumed are discarded.
  func stop() { batches.close() }

  private func run() {
    while !batches.isClosed {
      let number = next.add(1, ordering: .relaxed).oldValue
      let perFleet = Fleet.maximumCustomers / groupSize
      var fleet = Fleet(
        app: SimulatedApp(), customers: groupSize, days: Input.days, end: Input.end,
        seed: Self.seed + UInt64(number / perFleet))
      fleet.first = number % perFleet * groupSize
      var body = MadeBody(header: header, seed: UInt64(number))
      let notifications = fleet.notifications()
      for start in stride(from: 0, to: notifications.count, by: Self.batchSize) {
        let part = notifications[start..<min(start + Self.batchSize, notifications.count)]
        let events = part.map { body.event($0, receivedAt: Input.end) }
        while !batches.enqueue(events) {
          if batches.isClosed { return }
          usleep(1_000)
        }
      }
    }
  }
}
