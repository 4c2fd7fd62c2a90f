import Clients
import Foundation
import Platform
import Store
import Support
import Synchronization
import Testing

@testable import SharedJournal

/// Servers that must not be used, and a standby that does not answer. On a server of its own,
/// because its settings are changed.
@Suite(.serialized) struct ServerTests {
  @Test func `what the server says of its durability decides whether it is used`() throws {
    let server = try TemporaryPostgres()
    let fixture = try JournalFixture(on: server)
    let id = [UInt8](repeating: 1, count: 16)
    let identify = { (requiresReplication: Bool) throws in
      try PostgresJournal(fixture.settings(requiresReplication: requiresReplication))
        .identify(id, by: fixture.soon)
    }
    #expect(try identify(false) == id)
    #expect(
      throws: LedgerError.sharedRefused(
        state: "synchronous_standby_names is empty and \"replication\" is \"required\"")
    ) { try identify(true) }
    for name in ["fsync", "full_page_writes"] {
      try set(name, "off", on: server)
      #expect(throws: LedgerError.sharedRefused(state: "the server has \(name) = off")) {
        try identify(false)
      }
      try set(name, "on", on: server)
    }
    try expectUnknownWithoutStandby(fixture)
  }

  /// A COMMIT that waits for a standby and is cancelled answers success, with a warning.
  private func expectUnknownWithoutStandby(_ fixture: JournalFixture) throws {
    let journal = try fixture.journal()
    var made = MadeShipment(after: .origin)
    made.addEvent()
    _ = try journal.begin(after: .origin, by: fixture.soon)
    try set("synchronous_standby_names", "nobody", on: fixture.server)
    let server = fixture.server
    let cancelling = try Thread.start("cancel") {
      for _ in 0..<100 {
        let ended = try? server.sql(
          "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        if ended == "t" { return }
        usleep(20_000)
      }
    }
    #expect(throws: LedgerError.sharedUnknown(state: "WARNING 01000")) {
      try journal.commit(made.shipment, by: fixture.soon)
    }
    cancelling.join()
    #expect(try fixture.sql("SELECT count(*) FROM event") == "1")
    try set("synchronous_standby_names", "", on: fixture.server)
    // The same event is found, and a commit after it is durable with it.
    let tail = try journal.begin(after: .origin, by: fixture.soon)
    #expect(tail.events == made.shipment.events)
    try journal.commit(
      Shipment(after: tail.head, head: tail.head, isTouched: true), by: fixture.soon)
  }

  private func set(_ name: String, _ value: String, on server: TemporaryPostgres) throws {
    try server.sql("ALTER SYSTEM SET \(name) = '\(value)'")
    try server.sql("SELECT pg_reload_conf()")
    let end = Date(timeIntervalSinceNow: 60)
    while try server.sql("SHOW \(name)") != value, Date() < end { usleep(10_000) }
  }

  @Test func `the password is read at every dial`() throws {
    let fixture = try JournalFixture()
    try fixture.sql(
      "CREATE ROLE locked_daemon LOGIN PASSWORD 'one'; GRANT \(fixture.schema.name)_daemon TO locked_daemon"
    )
    let current = Mutex("one")
    let journal = PostgresJournal(
      PostgresJournalSettings(
        address: try PostgresAddress(
          checking: fixture.server.loopbackAddress(fixture.database, user: "locked_daemon")),
        schema: fixture.schema, password: { () in current.withLock { $0 } }))
    let id = [UInt8](repeating: 1, count: 16)
    _ = try journal.identify(id, by: fixture.soon)
    try fixture.sql("ALTER ROLE locked_daemon PASSWORD 'two'")
    journal.disconnect()
    #expect(throws: LedgerError.sharedRefused(state: "28P01")) {
      try journal.identify(id, by: fixture.soon)
    }
    current.withLock { $0 = "two" }
    #expect(try journal.identify(id, by: fixture.soon) == id)
    let none = PostgresJournal(
      PostgresJournalSettings(
        address: try PostgresAddress(checking: fixture.server.address()), schema: fixture.schema,
        password: { () throws(LedgerError) in throw .unavailable("passwordFile is empty") }))
    #expect(throws: LedgerError.sharedRefused(state: "passwordFile is empty")) {
      try none.identify(id, by: fixture.soon)
    }
  }
}
