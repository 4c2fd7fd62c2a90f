import AppStoreSimulator
import Audit
import Foundation
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

/// A receipt that names many customers: the writer appends some at a time.
@Suite struct ReceiptPartsTests {
  private static let customers = 2 * LedgerWriter.partLimit + 50

  /// A ledger whose writer works when the test says so.
  private final class World {
    let scratch: Scratch
    let configuration: Configuration
    let ledger: DeterministicLedger
    private let receiver: Receiver

    /// - Parameter killed: whose files it begins with, as a kill leaves them.
    init(after killed: World? = nil) throws {
      scratch = try Scratch()
      configuration = try TestLedger.configuration(in: scratch)
      receiver = try Receiver(configuration)
      if let killed {
        try FileManager.default.copyItem(
          atPath: killed.configuration.data, toPath: configuration.data)
      }
      ledger = try DeterministicLedger.open(
        DataFolder(path: configuration.data), now: 0, clock: Clock.monotonicNanoseconds)
      try ledger.prepareProjection { true }
    }

    /// Hands the receipt of all customers over.
    ///
    /// - Returns: gets what became of the whole.
    func submitReceipt() throws -> BoundedQueue<Outcome> {
      let records = (1...ReceiptPartsTests.customers).map {
        Sample.record($0 % 50, of: "\(70_000 + $0)")
      }
      let der = try SharedAuthority.receipt(
        ReceiptContent(creationDate: Sample.start + 60 * Sample.day, records: records))
      let body = try JSONDocument(parsing: Sample.receiptBody(der))
      let received = try receiver.receive(submittedReceipt: body.root, at: Sample.start)
      let done = BoundedQueue<Outcome>(capacity: 1)
      ledger.ledger.submit(
        whole: received.parts.submissions(onOutcome: { _, _ in }) { _ = done.enqueue($0) })
      return done
    }

    func submitNotification() throws -> BoundedQueue<Outcome> {
      let body = try SharedAuthority.sign(Sample.notification(1))
      let done = BoundedQueue<Outcome>(capacity: 1)
      ledger.ledger.submit(try receiver.receive(body: body, at: Sample.start)) {
        _ = done.enqueue($0)
      }
      return done
    }

    func digest() throws -> String? {
      try LedgerReader(ledger.ledger).digest()
    }
  }

  @Test func `a notification does not wait for all customers of a receipt`() throws {
    let world = try World()
    let receipt = try world.submitReceipt()
    let notification = try world.submitNotification()
    let submitted = world.ledger.ledger.meter.submitted
    world.ledger.work()
    #expect(notification.dequeueAll(within: 0) == [.accepted(seq: 1)])
    #expect(receipt.dequeueAll(within: 0) == [])
    #expect(world.ledger.ledger.seq == Int64(1 + LedgerWriter.partLimit))
    #expect(world.ledger.ledger.waiting == Self.customers - LedgerWriter.partLimit)
    // Of what was received before, not all is in the rows yet.
    #expect(!world.ledger.ledger.meter.hasAnswered(submitted))
    for _ in 0..<2 { world.ledger.work() }
    #expect(receipt.dequeueAll(within: 0)?.count == 1)
    #expect(world.ledger.ledger.meter.hasAnswered(submitted))
    #expect(world.ledger.ledger.seq == Int64(1 + Self.customers))
    world.ledger.stop()
  }

  @Test func `a receipt that a kill left with some customers is whole once it is sent again`()
    throws
  {
    let (whole, first) = (try World(), try World())
    for world in [whole, first] { _ = try world.submitReceipt() }
    for _ in 0..<3 { whole.ledger.work() }
    first.ledger.work()
    let again = try World(after: first)
    #expect(again.ledger.ledger.seq == Int64(LedgerWriter.partLimit))
    let receipt = try again.submitReceipt()
    for _ in 0..<3 { again.ledger.work() }
    guard case .accepted? = receipt.dequeueAll(within: 0)?.first else {
      Issue.record("the receipt is not accepted")
      return
    }
    #expect(again.ledger.ledger.seq == Int64(Self.customers))
    #expect(try again.digest() == whole.digest())
    for world in [whole, first, again] { world.ledger.stop() }
    let folder = DataFolder(path: again.configuration.data)
    let report = try Verify.run(folder, again.configuration, threads: 1) { _, _ in true }
    #expect(report.findings.map(\.what) == [])
  }

  @Test func `a ledger that stops appends the customers of a receipt that wait`() throws {
    let world = try World()
    let receipt = try world.submitReceipt()
    world.ledger.stop()
    #expect(receipt.dequeueAll(within: 0)?.count == 1)
    let reader = try JournalReader.open(DataFolder(path: world.configuration.data))
    #expect(try reader.head().seq == Int64(Self.customers))
  }
}
