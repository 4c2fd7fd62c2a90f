import Glibc
import JournalStore
import Platform
import Simulator
import Synchronization

/// Makes events without end, on threads of its own: fleet after fleet, each with customers that no
/// other has.
final class EventMaker: Sendable {
  /// What is ready, to be taken by one.
  let batches = BoundedQueue<[NewEvent]>(capacity: 16)
  private let header: [UInt8]
  /// Customers whose events are made at once, mixed in the order of their signing.
  private let piece: Int
  private let threads: Int
  private let next = Atomic(0)

  /// About 56,000 events, and 350 MB of memory on each thread.
  private static let maximumPiece = 10_000
  /// Somewhat fewer than a customer has.
  private static let perCustomer = 5
  private static let batch = 250
  /// Of the first fleet. None of them is the input's.
  private static let seed: UInt64 = 100

  /// - Parameter events: about so many are wanted.
  init(header: [UInt8], for events: Int) {
    self.header = header
    piece = max(1, min(Self.maximumPiece, events / Self.perCustomer))
    threads = max(1, min(ProcessLimits.processors, events / (piece * Self.perCustomer)))
  }

  func start() throws(BenchError) {
    do throws(PlatformError) {
      for number in 0..<threads {
        _ = try Thread.start("make-\(number)") { [self] in run() }
      }
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  /// What was begun is thrown away.
  func stop() { batches.close() }

  private func run() {
    while !batches.isClosed {
      let number = next.add(1, ordering: .relaxed).oldValue
      let perFleet = Fleet.maximumCustomers / piece
      var fleet = Fleet(
        app: SimulatedApp(), customers: piece, days: Input.days, end: Input.end,
        seed: Self.seed + UInt64(number / perFleet))
      fleet.first = number % perFleet * piece
      var body = MadeBody(header: header, seed: UInt64(number))
      let notifications = fleet.notifications()
      for start in stride(from: 0, to: notifications.count, by: Self.batch) {
        let part = notifications[start..<min(start + Self.batch, notifications.count)]
        let events = part.map { body.event($0, receivedAt: Input.end) }
        while !batches.put(events) {
          if batches.isClosed { return }
          usleep(1_000)
        }
      }
    }
  }
}
