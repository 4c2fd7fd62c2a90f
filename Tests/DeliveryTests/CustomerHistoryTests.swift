import AppStore
import Entitlements
import Foundation
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

@testable import Delivery

/// Histories of purchases, claims, grants, mappings and erasures: what customers have by name is
/// what a plain model says, by both clocks, and a receiver that knows no product has it too.
@Suite struct CustomerHistoryTests {
  @Test func `answers, the table and what is told are those of a plain model`() throws {
    let count = TestCount.statements.number
    for first in stride(from: 0, to: count, by: CustomerWorld.customers) {
      let world = try CustomerWorld(TestSeed.drawn &+ UInt64(first))
      for _ in 0..<120 { try world.step() }
      try world.checkPast()
      try world.checkPresent()
      try world.checkToldAgain()
    }
  }
}

/// A ledger with some customers, each with two purchases, and what was done to it.
private final class CustomerWorld {
  static let customers = 20
  private static let names = ["pro", "max", "old"]
  private static let mappings: [[String: [String]]] = [
    ["pro": ["pro.*", "gold"], "max": ["gold"]], ["pro": ["pro.m"], "max": ["gold", "pro.y"]],
    ["pro": ["pro.*"], "max": [], "old": ["basic.*"]], ["pro": ["pro.monthli"]],
  ]
  private static let now = Int64(Date().timeIntervalSince1970 * 1000)
  private static let hour: Int64 = 3_600_000
  private static let begin = now - 40 * 24 * hour

  private struct Purchase {
    let otid: String
    let token: String?
  }
  private struct Claim {
    let account, otid: String
    let at: Int64
    let isClaim: Bool
  }
  private struct Grant {
    let customer: CustomerName
    let name, id: String
    let from: Int64
    var until: Int64
  }

  private let seed: UInt64
  private var random: SplitMix64
  private let ledger: TestLedger
  private let follower: CustomerFollower
  private var worker: CustomerWorker
  private let purchases: [Purchase]
  private var time = CustomerWorld.begin
  private var number = 0
  private var claims: [Claim] = []
  private var grants: [Grant] = []
  private var mappings: [(at: Int64, products: [String: [String]])] = []

  init(_ seed: UInt64) throws {
    self.seed = seed
    random = SplitMix64(seed: seed)
    ledger = try TestLedger()
    follower = CustomerFollower(ledger.ledger) { true }
    worker = try CustomerWorker(follower)
    purchases = (0..<Self.customers).flatMap { customer in
      (0..<2).map { index in
        Purchase(
          otid: "7\(100 + customer)\(index)",
          token: customer % 3 == 0 ? nil : Self.token(customer))
      }
    }
    try map(Self.mappings[0])
    try look()
  }

  private static func token(_ customer: Int) -> String {
    String(format: "0b2d6c1e-58b3-4f0e-9a0a-%012x", customer)
  }

  // MARK: Steps

  func step() throws {
    time += Int64.random(in: 1...(8 * Self.hour), using: &random)
    number += 1
    let purchase = purchases[Int.random(in: purchases.indices, using: &random)]
    let account = "user \(Int.random(in: 0..<Self.customers, using: &random))"
    switch Int.random(in: 0..<23, using: &random) {
    case 0..<9: try buy(purchase)
    case 9..<12: say(.claim(originalTransactionId: purchase.otid), account)
    case 12: say(.release(originalTransactionId: purchase.otid), account)
    case 13, 14: grant(account, purchase.token)
    case 15: revoke()
    case 16: try map(Self.mappings[Int.random(in: Self.mappings.indices, using: &random)])
    case 17: erase(account)
    case 18: worker = try CustomerWorker(follower)
    default: try look()
    }
  }

  private func buy(_ purchase: Purchase) throws {
    let product = ["pro.m", "pro.y", "gold", "basic.m"].randomElement(using: &random) ?? ""
    let until = end()
    let event = Sample.notification(number, otid: purchase.otid).dated(time)
      .setting("data.transaction.productId", .string(product))
      .setting("data.transaction.purchaseDate", .integer(time))
      .setting("data.transaction.expiresDate", .integer(until))
      .setting("data.transaction.appAccountToken", .optional(purchase.token))
    try ledger.ingest(try SharedAuthority.sign(event), at: time)
  }

  /// When something ends: not while the test runs, for the worker looks by the clock.
  private func end() -> Int64 {
    let until = time + Int64.random(in: 1...(60 * 24), using: &random) * Self.hour
    return (-Self.hour...Self.hour).contains(until - Self.now) ? Self.now + 2 * Self.hour : until
  }

  @discardableResult
  private func submit(_ statement: NewStatement) -> Outcome? {
    let done = BoundedQueue<Outcome>(capacity: 1)
    ledger.ledger.submit(Receiver.Received(statement)) { _ = done.enqueue($0) }
    return done.dequeue()
  }

  private func statement(
    _ content: OwnerStatement.Content, of customer: CustomerName?
  ) -> NewStatement {
    NewStatement(
      content, of: customer, environment: .production, bundleId: TestLedger.bundleId,
      token: "backend", receivedAt: time)
  }

  private func say(_ content: OwnerStatement.Content, _ account: String) {
    let outcome = submit(statement(content, of: CustomerName(.account, account)))
    guard case .accepted = outcome else { return }
    switch content {
    case .claim(let id): claims.append(.init(account: account, otid: id, at: time, isClaim: true))
    case .release(let id):
      claims.append(.init(account: account, otid: id, at: time, isClaim: false))
    default: break
    }
  }

  private func grant(_ account: String, _ token: String?) {
    let customer =
      Bool.random(using: &random) ? token.map { CustomerName(.appAccountToken, $0) } : nil
    let name = Self.names.randomElement(using: &random) ?? ""
    let until = end()
    let new = statement(
      .grant(entitlement: name, until: until, reason: nil),
      of: customer ?? CustomerName(.account, account))
    guard case .accepted(let seq)? = submit(new),
      let event = try? JournalReader.open(ledger.folder).event(seq: seq),
      let said = OwnerStatement(body: event.body)
    else { return }
    grants.append(
      .init(
        customer: customer ?? CustomerName(.account, account), name: name, id: said.id,
        from: time, until: until))
  }

  private func revoke() {
    guard let index = grants.indices.randomElement(using: &random) else { return }
    let outcome = submit(
      statement(.revocation(of: grants[index].id, reason: nil), of: grants[index].customer))
    if case .accepted = outcome { grants[index].until = min(grants[index].until, time) }
  }

  private func map(_ products: [String: [String]]) throws {
    let mapping = products.mapValues { NamedEntitlement(products: $0) }
    if case .accepted? = submit(statement(.catalog(ProductMapping(mapping)), of: nil)) {
      mappings.append((time, products))
    }
  }

  private func erase(_ account: String) {
    let done = BoundedQueue<Ledger.Erased>(capacity: 1)
    ledger.ledger.erase(account: account) { _ = done.enqueue($0) }
    _ = done.dequeue()
    claims.removeAll { $0.account == account }
    grants.removeAll { $0.customer == CustomerName(.account, account) }
  }

  private func look() throws {
    for _ in 0..<10_000 {
      do {
        if try !worker.turn() { return }
      } catch { if error.code != .notReady { throw error } }
    }
  }

  // MARK: The model

  private func isGiven(
    _ product: String, _ name: String, _ signed: Int64, _ known: Int64
  ) -> Bool {
    let said = mappings.last { $0.at <= signed && $0.at <= known } ?? mappings[0]
    return said.products[name]?.contains { pattern in
      pattern.hasSuffix("*") ? product.hasPrefix(pattern.dropLast()) : pattern == product
    } ?? false
  }

  private func accounts(_ otid: String, _ known: Int64) -> [String] {
    var held: [String: Bool] = [:]
    for claim in claims where claim.otid == otid && claim.at <= known {
      held[claim.account] = claim.isClaim
    }
    return held.filter(\.value).map(\.key)
  }

  /// Whether purchases or grants of a customer give a name. Nil of a clock: no limit.
  private func isActive(
    _ name: String, _ otids: [String], _ customer: CustomerName?, asOf: Int64?, knownAt: Int64?
  ) throws -> Bool {
    let (signed, known) = (asOf ?? .max, knownAt ?? .max)
    let time = asOf ?? knownAt ?? Self.now
    guard (mappings.last { $0.at <= signed && $0.at <= known } ?? mappings[0]).products[name] != nil
    else { return false }
    for otid in otids {
      let row = try ledger.row(otid, asOf: asOf, knownAt: knownAt, now: Self.now)
      if let row, row.entitlement.givesAccess,
        isGiven(row.entitlement.productId ?? "", name, signed, known)
      {
        return true
      }
    }
    return grants.contains {
      $0.customer == customer && $0.name == name && $0.from <= min(time, known) && time < $0.until
    }
  }

  // MARK: Checks

  /// What is answered at twenty moments, by one clock, the other and both.
  func checkPast() throws {
    let reader = try ledger.reader()
    for index in 0..<20 {
      let moment = Int64.random(in: Self.begin...time, using: &random)
      let clocks: [(Int64?, Int64?)] = [(moment, nil), (nil, moment), (moment, moment)]
      let (asOf, knownAt) = clocks[index % 3]
      // The end of a grant counts from when it is known.
      if knownAt != nil, grants.contains(where: { $0.until > moment && $0.until <= time }) {
        continue
      }
      let account = "user \(Int.random(in: 0..<Self.customers, using: &random))"
      let claimed = purchases.map(\.otid)
        .filter { accounts($0, knownAt ?? .max).contains(account) }
      let token = Self.token(Int.random(in: 0..<Self.customers, using: &random))
      let bought = purchases.filter { $0.token == token }.map(\.otid)
      let asked: [(CustomerName, LedgerReader.CustomerQuestion.IdKind, [String])] = [
        (CustomerName(.account, account), .account, claimed),
        (CustomerName(.appAccountToken, token), .appAccountToken, bought),
      ]
      for (customer, kind, otids) in asked {
        let document = try reader.customer(
          .init(
            customer.name, kind, .production, bundleId: TestLedger.bundleId,
            EntitlementCatalog(), apps: [TestLedger.bundleId]),
          .init(asOf: asOf, knownAt: knownAt, now: Self.now))
        for (name, answer) in document.entitlements {
          let expected = try isActive(name, otids, customer, asOf: asOf, knownAt: knownAt)
          #expect(
            (answer.access != nil) == expected,
            "seed \(seed): \(name) of \(customer) at \(asOf ?? 0), \(knownAt ?? 0)")
        }
      }
    }
  }

  /// The table, and what a receiver has that folds all messages.
  func checkPresent() throws {
    try look()
    var table: [String: Bool] = [:]
    let everything = try #require(
      try follower.entitlements(since: .init(file: [], revision: 0), limit: .max))
    for entitlement in everything.found {
      table[try key(entitlement.customer, entitlement.name)] = entitlement.answer.isActive
    }
    var told: [String: Bool] = [:]
    for (at, _, cause) in try follower.changes(after: 0, limit: .max) {
      let change = try #require(
        try follower.store { store throws(LedgerError) in
          try store.change(at: at, of: cause.stream)
        })
      let key = try key(change.customer, change.name)
      #expect(told[key] ?? false == change.before.isActive, "seed \(seed): \(key)")
      told[key] = change.after.isActive
    }
    for (customer, otids) in owned {
      for name in Self.names {
        let named = CustomerName.Kind(rawValue: customer.kind).map { CustomerName($0, customer.id) }
        let expected = try isActive(name, otids, named, asOf: nil, knownAt: nil)
        let key = "\(customer.kind) \(customer.id) \(name)"
        #expect(table[key] ?? false == expected, "seed \(seed): \(key)")
        #expect(told[key] ?? false == expected, "seed \(seed): \(key) was told")
      }
    }
    let known = Set(owned.keys.map { "\($0.kind) \($0.id)" })
    for (key, isActive) in table where isActive {
      #expect(known.contains { key.hasPrefix($0 + " ") }, "seed \(seed): \(key)")
    }
  }

  /// What another daemon may not have told is told again, in its order and behind all else.
  func checkToldAgain() throws {
    func changes(after time: Int64) throws -> [(at: Int64, change: CustomerChange)] {
      try follower.changes(after: time, limit: .max).map { at, _, cause in
        let change = try follower.store { store throws(LedgerError) in
          try store.change(at: at, of: cause.stream)
        }
        return (at, try #require(change))
      }
    }
    let all = try changes(after: 0)
    // Nothing was, where nobody had anything whenever it was looked.
    guard let last = all.last?.at else { return }
    // From the first one on that happened later: a later one may have been found earlier.
    let middle = all[all.count / 2].change.cause.at
    let first = all.first { $0.change.cause.at > middle }?.at ?? .max
    follower.redeliver(after: middle)
    try look()
    let again = try changes(after: last)
    let moved = all.filter { $0.at >= first }.map(\.change)
    #expect(again.map(\.change).starts(with: moved), "seed \(seed)")
    // These histories happened before the file was begun, so that it compares, too.
    let compared = again.dropFirst(moved.count)
    #expect(compared.allSatisfy { $0.change.cause.reason == .rebuild }, "seed \(seed)")
    #expect(try changes(after: 0).count == all.count + compared.count, "seed \(seed)")
    // To another daemon it is left what happened before all that is not told.
    follower.delivered = last
    let untold = again.map(\.change.cause.at).min()
    #expect(try follower.done() < untold ?? .max, "seed \(seed)")
  }

  private struct Customer: Hashable {
    let kind, id: String
  }

  /// The purchases of each customer, by whom a change is told.
  private var owned: [Customer: [String]] {
    var owned: [Customer: [String]] = [:]
    for index in 0..<Self.customers {
      owned[Customer(kind: "account", id: "user \(index)")] = []
      owned[Customer(kind: "app_account_token", id: Self.token(index))] = []
    }
    for purchase in purchases {
      owned[Customer(kind: "original_transaction_id", id: purchase.otid)] = []
    }
    for purchase in purchases {
      let accounts = accounts(purchase.otid, .max)
      for account in accounts {
        owned[Customer(kind: "account", id: account)]?.append(purchase.otid)
      }
      guard accounts.isEmpty else { continue }
      let customer =
        purchase.token.map { Customer(kind: "app_account_token", id: $0) }
        ?? Customer(kind: "original_transaction_id", id: purchase.otid)
      owned[customer]?.append(purchase.otid)
    }
    return owned
  }

  private func key(
    _ customer: CustomerEntitlement.Customer, _ name: String
  ) throws -> String {
    let key = try #require(try ledger.reader().key(of: customer))
    return "\(key.kind.rawValue) \(key.id) \(name)"
  }
}
