import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

/// What a customer with thousands of purchases and refunds costs, in processor time.
@Suite(.serialized) struct LongHistoryTests {
  private enum Kind: CaseIterable { case apart, overlapping, bought, oneTime, twins }

  /// Purchases of five minutes, and a refund of each.
  private static func ledger(_ kind: Kind, _ counts: [Int]) throws -> TestLedger {
    let ledger = try TestLedger()
    for (place, count) in counts.enumerated() {
      let otid = "\(7000 + place)"
      for number in 0..<count {
        let bought = Sample.start + Int64(number) * (kind == .apart ? 300_000 : 60_000)
        let reason = kind == .bought || kind == .oneTime || number == 0 ? "PURCHASE" : "RENEWAL"
        let type = kind == .oneTime ? "Non-Consumable" : "Auto-Renewable Subscription"
        let purchase = Sample.notification(number, otid: otid).dated(bought)
          .setting("notificationUUID", .string(Sample.uuid(place * 100_000 + number)))
          .setting("data.transaction.purchaseDate", .integer(bought))
          .setting(
            "data.transaction.expiresDate", kind == .oneTime ? .null : .integer(bought + 300_000)
          )
          .setting("data.transaction.type", .string(type))
          .setting("data.transaction.transactionReason", .string(reason))
          .setting(
            "data.transaction.webOrderLineItemId", .string(kind == .twins ? "9" : "\(number + 1)"))
        let refund = purchase.dated(bought + 30_000)
          .setting("notificationType", .string("REFUND"))
          .setting("notificationUUID", .string(Sample.uuid(place * 100_000 + 50_000 + number)))
          .setting("data.transaction.revocationDate", .integer(bought + 20_000))
        for body in [purchase, refund] {
          guard case .accepted = try ledger.ingest(try SharedAuthority.sign(body), at: bought)
          else {
            throw LedgerError.sql("not accepted")
          }
        }
      }
    }
    return ledger
  }

  /// The least of three runs: other tests share caches and processors.
  private static func seconds(_ reader: LedgerReader, _ id: String, _ page: History.Page?) -> Double
  {
    (0..<3).map { _ in
      processorSeconds {
        let history = try? reader.history(
          id, environment: nil, bundleId: nil, LedgerReader.Question(now: Sample.start), page: page)
        #expect(history?.entries.isEmpty == false)
      }
    }.min() ?? 0
  }

  @Test func `four times the events cost less than six times as much`() throws {
    for kind in Kind.allCases {
      let ledger = try Self.ledger(kind, [60, 240])
      defer { withExtendedLifetime(ledger) {} }
      let reader = try ledger.reader()
      for page in [nil, History.Page(after: 0, limit: 1)] {
        let few = Self.seconds(reader, "7000", page)
        let many = Self.seconds(reader, "7001", page)
        #expect(many < 6 * few, "\(kind), \(page == nil ? "all" : "a page"): \(few) s, \(many) s")
      }
    }
  }
}
