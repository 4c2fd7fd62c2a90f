import AppStore
import AppStoreSimulator
import Entitlements
import Foundation
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Simulated customers with every type of product, families and seats: what the daemon answers by
/// name agrees with plain rows, at many moments.
@Suite struct CustomerFleetTests {
  private static let customers = TestCount.customers.number
  /// Moments of each customer, 20 in all: asked in this process, over HTTP, and of many at once.
  private static let own = 6
  private static let asked = 4
  private static let shared = 10
  /// Customers who are journaled together.
  private static let portion = 500
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

  /// A daemon with the fleet, which is journaled in portions: a notification has 19 KB before.
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
    let now = Int64(Date().timeIntervalSince1970 * 1000) - 60_000
    let seats = 2 * max(2, Self.customers / 20)
    for first in stride(from: 0, to: Self.customers - seats, by: Self.portion) {
      var fleet = Fleet(
        app: SimulatedApp(), customers: min(Self.portion, Self.customers - seats - first),
        days: 400, end: now, seed: 7)
      fleet.first = first
      try journal(fleet.notifications(), in: installation)
    }
    for first in stride(from: 0, to: seats, by: Self.portion) {
      let numbers = first..<min(seats, first + Self.portion)
      let all = numbers.flatMap { number in
        Lifecycle.named(number.isMultiple(of: 2) ? "seat" : "family-revoke")?.notifications(
          app: SimulatedApp(), seed: 7, endingAt: now, customer: 400_001 + number) ?? []
      }
      try journal(all, in: installation)
    }
    return (installation, try installation.start())
  }

  private func journal(
    _ notifications: [SimulatedNotification], in installation: Installation
  ) throws {
    let lines = try notifications.map { try installation.sign($0.payload) }
    let finished = try installation.run("ingest", try installation.file("fleet", lines))
    guard finished.code == 0 else { throw TestFailure("ingest: \(finished)") }
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

  private typealias Customers = [(id: String, customer: PlainCustomer)]

  @Test func `customers agree with plain rows at every moment`() async throws {
    let (installation, daemon) = try served()
    let all: Customers = try customers(of: installation)
      .map { (id: $0.key, customer: $0.value) }.sorted { $0.id < $1.id }
    #expect(all.count >= Self.customers)
    let configuration = try Configuration.load(
      file: installation.config.path, variables: [:], listen: nil, data: nil)
    let port = daemon.port
    let threads = 2
    let found = try await withThrowingTaskGroup(of: (Int, Set<String>).self) { group in
      for number in 0..<threads {
        let share = all.indices.filter { $0 % threads == number }.map { all[$0] }
        group.addTask { try check(share, configuration, port, seed: UInt64(number + 7)) }
      }
      return try await group.reduce(into: (0, Set<String>())) { whole, part in
        whole = (whole.0 + part.0, whole.1.union(part.1))
      }
    }
    #expect(found.0 == all.count * (Self.own + Self.asked + Self.shared))
    #expect(found.1.isSuperset(of: ["paid", "one_time", "family", "assigned"]), "\(found.1)")
    print("checked \(found.0) answers about \(all.count) customers with \(found.1.sorted())")
    try daemon.stop()
  }

  /// Checks customers at moments of their own, in this process and over HTTP, and up to 500 at once
  /// at moments that they share.
  private func check(
    _ customers: Customers, _ configuration: Configuration, _ port: UInt16, seed: UInt64
  ) throws -> (Int, Set<String>) {
    var chance = SplitMix64(seed: seed)
    let client = Client(port: port)
    let reader = try LedgerReader(
      DataFolder(path: configuration.data), durations: configuration.durations)
    var (checked, bases) = (0, Set<String>())
    for (id, customer) in customers {
      for number in 0..<Self.own + Self.asked {
        let time = moment(near: customer, &chance)
        let answer: JSONElement
        if number < Self.own {
          let document = try reader.customer(
            LedgerReader.CustomerQuestion(
              id, .appTransactionId, .production, bundleId: nil, configuration.entitlements,
              apps: ["com.example.app"]), LedgerReader.Question(asOf: time, now: time))
          answer = try JSONDocument(parsing: document.json.bytes).root
        } else {
          answer = try #require(
            client.get("/v1/customers/\(id)?by=app_transaction_id&as_of=\(time)")?.json)
        }
        bases.formUnion(check(answer, customer.known(at: time), time, id))
        checked += 1
      }
    }
    for start in stride(from: 0, to: customers.count, by: 500) {
      let group = customers[start..<min(start + 500, customers.count)]
      for _ in 0..<Self.shared {
        let time = moment(near: chance.pick(Array(group)).customer, &chance)
        let items = try ask(group.map(\.id), time, client)
        try #require(items.count == group.count)
        for (item, (id, customer)) in zip(items, group) {
          #expect(item["id"]?.string == id)
          bases.formUnion(check(item, customer.known(at: time), time, id))
          checked += 1
        }
      }
    }
    return (checked, bases)
  }

  /// Half of the moments are near a date at which something changes.
  private func moment(near customer: PlainCustomer, _ chance: inout SplitMix64) -> Int64 {
    let dates = customer.dates(Self.leeway)
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    guard chance.once(in: 2), !dates.isEmpty else { return now - chance.below(420 * Self.day) }
    return chance.pick(dates) + chance.below(Self.leeway) - Self.leeway / 4
  }

  private func ask(_ ids: [String], _ time: Int64, _ client: Client) throws -> [JSONElement] {
    let body = JSONValue.object([
      ("ids", .array(ids.map(JSONValue.string))), ("by", .string("app_transaction_id")),
      ("as_of", .integer(time)),
    ]).bytes
    let head =
      "POST /v1/customers/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      + "Authorization: Bearer \(Installation.token)\r\nContent-Length: \(body.count)\r\n\r\n"
    let answer = try #require(client.send(head, body))
    #expect(answer.status == 200, "\(answer.text.prefix(300))")
    return answer.json?["items"]?.elements ?? []
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
      let willRenew = customer.willRenew(entitlement, time)
      #expect(found?["will_renew"]?.boolean == willRenew, "\(id) \(name) \(time)")
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
