import AppStore
import Entitlements
import Foundation
import JournalStore
import LedgerEngine
import Simulator
import StrictJSON
import Support
import Testing

/// Simulated customers with every type of product, families and seats: what the daemon answers by
/// name agrees with plain rows, at many moments.
@Suite struct CustomerFleetTests {
  private static func number(_ name: String, default number: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? number
  }

  /// SUBLEDGER_CUSTOMERS sets another number.
  private static let customers = number("SUBLEDGER_CUSTOMERS", default: 60)
  private static let moments = 20
  private static let day: Int64 = 86_400_000
  private static let leeway: Int64 = 6 * 3_600_000
  private static let durations = ["season.pass": 90 * day]
  private static let entitlements: [String: PlainCustomer.Entitlement] = [
    "pro": .init(products: ["pro.monthly", "pro.yearly"]),
    "basic": .init(
      products: ["basic.weekly", "basic.monthly", "basic.yearly", "student.monthly"],
      leeway: leeway),
    "extras": .init(products: ["unlock.lifetime", "season.pass", "coins.100"]),
  ]

  private func served() throws -> (Installation, RunningDaemon) {
    let installation = try Installation()
    let text = { (list: [String]) in JSONValue.array(list.map(JSONValue.string)) }
    try installation.configure(with: [
      (
        "entitlements",
        .object([
          ("pro", text(["pro.*"])),
          (
            "basic",
            .object([
              ("products", text(["basic.*", "student.monthly"])), ("accessLeeway", .string("PT6H")),
            ])
          ), ("extras", text(["unlock.lifetime", "season.pass", "coins.*"])),
        ])
      ), ("nonRenewingDurations", .object([("season.pass", .string("P90D"))])),
    ])
    let seats = max(2, Self.customers / 20)
    try installation.live(
      customers: Self.customers - 2 * seats, days: 400,
      with: (0..<2 * seats).map { $0.isMultiple(of: 2) ? "seat" : "family-revoke" })
    return (installation, try installation.start())
  }

  /// The events of all customers, by app transaction id.
  private func customers(of installation: Installation) throws -> [String: PlainCustomer] {
    let journal = try JournalReader.open(DataFolder(path: installation.data.path))
    var events: [String: [String: [FoldEvent]]] = [:]
    try journal.forEachPayload(from: 1, through: .max) { key, _, payload in
      guard let key, let event = try? JournaledNotification.foldEvent(payload) else { return true }
      let id = event.transactions.compactMap(\.appTransactionId).first
      events[id ?? "", default: [:]][key.originalTransactionId, default: []].append(event)
      return true
    }
    return events.mapValues { PlainCustomer(streams: $0, durations: Self.durations) }
  }

  @Test func `customers agree with plain rows at every moment`() throws {
    let (installation, daemon) = try served()
    let all = try customers(of: installation)
    #expect(all.count >= Self.customers)
    let client = daemon.client()
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    var seed = UInt64(7)
    var bases: Set<String> = []
    var checked = 0
    for (id, customer) in all.sorted(by: { $0.key < $1.key }) {
      for _ in 0..<Self.moments {
        seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let dates = customer.dates(Self.leeway)
        // Half of the moments are near a date at which something changes.
        let near = dates.isEmpty ? now : dates[Int(seed >> 33) % dates.count]
        let asOf =
          seed & 1 << 20 == 0
          ? near + Int64(seed >> 40) % Self.leeway - Self.leeway / 4
          : now - Int64(seed >> 33) % (420 * Self.day)
        let path = "/v1/customers/\(id)?by=app_transaction_id&as_of=\(asOf)"
        let answer = try #require(client.get(path)?.json)
        bases.formUnion(check(answer, customer.known(at: asOf), asOf, id))
        checked += 1
      }
    }
    #expect(checked >= Self.customers * Self.moments)
    #expect(bases.isSuperset(of: ["paid", "one_time", "family", "assigned"]), "\(bases)")
    print("checked \(checked) answers with \(bases.sorted())")
  }

  /// Expects what plain rows say, and returns each basis that occurred.
  private func check(
    _ answer: JSONElement, _ customer: PlainCustomer, _ time: Int64, _ id: String
  ) -> Set<String> {
    let rows = ["subscriptions", "purchases"].flatMap { answer[$0]?.elements ?? [] }
    let ids = Set(rows.compactMap { $0["original_transaction_id"]?.string })
    #expect(ids == customer.rowIds && answer["known"]?.boolean == !ids.isEmpty, "\(id) \(time)")
    var bases: Set<String> = []
    for (name, entitlement) in Self.entitlements {
      let found = answer["entitlements"]?[name]
      let isActive = customer.isActive(entitlement, time)
      #expect(found?["active"]?.boolean == isActive, "\(id) \(name) \(time)")
      checkNext(found?["next"], isActive, customer, entitlement, time, "\(id) \(name)")
      guard isActive, let chosen = found?["original_transaction_id"]?.string else { continue }
      let basis = customer.basis(chosen, entitlement, time)
      #expect(found?["basis"]?.string == basis, "\(id) \(name) \(time)")
      bases.insert(basis)
      checkEnd(found?["expires_at"]?.integer, chosen, customer, entitlement, time, "\(id) \(name)")
    }
    return bases
  }

  /// The access ends when the answer says, and no other purchase lasts longer.
  private func checkEnd(
    _ end: Int64?, _ chosen: String, _ customer: PlainCustomer,
    _ entitlement: PlainCustomer.Entitlement, _ time: Int64, _ what: String
  ) {
    let isLeeway = !customer.isStrict(chosen, entitlement, time)
    let gives = isLeeway ? customer.isInLeeway : customer.isStrict
    let dates = customer.dates(entitlement.leeway).filter { $0 > time }
    for date in dates + [time] where date < end ?? .max {
      #expect(gives(chosen, entitlement, date), "\(what) at \(date), asked at \(time)")
    }
    guard let end else { return }
    #expect(!gives(chosen, entitlement, end), "\(what) \(time)")
    for other in customer.streams.keys where customer.isStrict(other, entitlement, time) {
      let lasts = ([time] + dates.filter { $0 <= end }).allSatisfy {
        customer.isStrict(other, entitlement, $0)
      }
      #expect(!lasts, "\(what) \(time): \(other) lasts longer")
    }
  }

  private func checkNext(
    _ next: JSONElement?, _ isActive: Bool, _ customer: PlainCustomer,
    _ entitlement: PlainCustomer.Entitlement, _ time: Int64, _ what: String
  ) {
    let change = customer.dates(entitlement.leeway).first { date in
      date > time && customer.isActive(entitlement, date) != isActive
    }
    #expect(next?["at"]?.integer == change, "\(what) \(time)")
    #expect(next?["active"]?.boolean == change.map { _ in !isActive }, "\(what) \(time)")
  }
}
