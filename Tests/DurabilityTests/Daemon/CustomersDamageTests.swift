import Foundation
import Platform
import Store
import Support
import Synchronization
import Testing

/// `customers.sqlite` is compared with its checksum, and heals by itself (promise 7).
@Suite struct CustomersDamageTests {
  private static let seed = TestSeed.number(usual: 20_261_128)
  private static let atOnce = 5

  /// What another program may do to the rows.
  private static let edits = [
    "DELETE FROM entitlement WHERE active", "DELETE FROM entitlement",
    "DELETE FROM entitlement WHERE revision = (SELECT max(revision) FROM entitlement)",
    "UPDATE entitlement SET active = 1 - active",
    "UPDATE entitlement SET active = 1, basis = 'paid', expires_at_ms = NULL WHERE NOT active",
    "UPDATE entitlement SET next_ms = NULL", "UPDATE entitlement SET expires_at_ms = 1",
    "UPDATE entitlement SET expires_at_ms = expires_at_ms + 1",
    "UPDATE entitlement SET product_id = 'other' WHERE active",
    "UPDATE entitlement SET original_transaction_id = '1' WHERE active",
    "UPDATE entitlement SET basis = 'granted'", "UPDATE entitlement SET since_ms = since_ms - 1",
    "UPDATE entitlement SET name = name || '.'",
    "UPDATE entitlement SET customer = CAST(customer || x'30' AS BLOB)",
    "UPDATE entitlement SET bundle_id = 'com.example.none'",
    "UPDATE entitlement SET environment = 'X'",
    "UPDATE entitlement SET customer_by = 'x' WHERE customer_by <> 'account'",
    "UPDATE entitlement SET revision = revision + 1000",
    """
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500)
    INSERT INTO entitlement SELECT environment, bundle_id, customer_by, randomblob(16), name, 1,
      'paid', since_ms, NULL, product_id, original_transaction_id, next_ms, 100000 + i, 0
    FROM n, (SELECT * FROM entitlement WHERE customer_by = 'account' LIMIT 1)
    """,
    "UPDATE meta SET value = value + 1 WHERE key = 'customer_count'",
    "UPDATE meta SET value = zeroblob(32) WHERE key = 'customer_digest'", "DELETE FROM meta",
  ]

  @Test(arguments: edits)
  func `verify finds what another program did to customers, and a daemon mends it`(
    _ sql: String
  ) throws {
    let customers = try NamedCustomers(Self.made.get())
    try customers.execute(sql)
    let found = try customers.installation.run("verify")
    #expect(found.code == 1, "\(found)")
    #expect(found.output.contains("what customers have by name"), "\(found)")
    try Self.mend(customers, sql)
  }

  private static let made = Result { try NamedCustomers.make() }

  @Test func `a damaged customers.sqlite heals by itself, at rest and beside a daemon`() throws {
    let (made, other) = (try Self.made.get(), try NamedCustomers.make())
    let rounds = max(1, TestCount.damages.number / 4)
    let failures = Mutex<[String]>([])
    let next = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: min(Self.atOnce, rounds)) { _ in
      while true {
        let round = next.withLock { next in
          defer { next += 1 }
          return next
        }
        guard round < rounds else { return }
        do {
          try Self.run(round, made, other)
        } catch {
          failures.withLock { $0.append("seed \(Self.seed), round \(round): \(error)") }
        }
      }
    }
    for failure in failures.withLock({ $0 }) { Issue.record("\(failure)") }
  }

  /// - Throws: what did not hold.
  private static func run(
    _ round: Int, _ made: NamedCustomers.Made, _ other: NamedCustomers.Made
  ) throws {
    let (customers, other) = (try NamedCustomers(made), try NamedCustomers(other))
    var damage = RandomDamage(seed: seed &+ UInt64(round))
    let sql = edits[Int(truncatingIfNeeded: (seed &+ UInt64(round)) % UInt64(edits.count))]
    func apply() throws {
      if round % 4 < 2 { return try customers.execute(sql) }
      try damage.apply(to: customers.file, other: other.file)
    }
    let what = round % 4 < 2 ? sql : damage.kind.rawValue
    if round % 2 == 0 {
      try apply()
      try mend(customers, what)
    } else {
      let daemon = try customers.installation.start()
      try daemon.command.wait(60, "the customers") { try customers.active() == customers.answers }
      try apply()
      try mend(customers, what + " beside a daemon", daemon)
    }
  }

  /// - Throws: what did not hold.
  private static func mend(
    _ customers: NamedCustomers, _ what: String, _ running: RunningDaemon? = nil
  ) throws {
    let daemon = try running ?? customers.installation.start()
    do {
      try daemon.command.wait(60, "\(what): the customers") {
        try customers.active() == customers.answers && isSound(customers)
      }
    } catch {
      throw TestFailure("\(error)\n\(try customers.active())\n\(daemon.log)")
    }
    guard try daemon.stop().code == 0 else { throw TestFailure("\(what): the end") }
    let verified = try customers.installation.run("verify")
    guard verified.code == 0 else { throw TestFailure("\(what): \(verified)") }
    guard try customers.active() == customers.answers else { throw TestFailure("\(what): at rest") }
  }

  /// Whether `verify` finds nothing: a check may still be to come.
  private static func isSound(_ customers: NamedCustomers) throws -> Bool {
    try customers.installation.run("verify").code == 0
  }

  @Test func `a line of a purchase that is moved to another app is found, and mended`() throws {
    let installation = try Installation.renewing(3)
    try installation.executeInProjection(
      """
      INSERT INTO app (id, environment, bundle_id) VALUES (77, 'Production', 'com.example.other');
      UPDATE transaction_line SET app_id = 77 WHERE entitlement_id = 1
      """)
    let found = try installation.run("verify")
    #expect(found.code == 1 && found.output.contains("the projection is damaged"), "\(found)")
    let daemon = try installation.start()
    try daemon.command.wait(60, "the file to be mended") {
      try installation.run("verify").code == 0
    }
    #expect(try daemon.stop().code == 0)
  }
}
