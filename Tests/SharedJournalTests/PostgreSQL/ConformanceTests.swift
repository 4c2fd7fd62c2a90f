import SharedJournal
import Support
import Testing

/// The suite of every shared journal, on PostgreSQL.
@Suite struct ConformanceTests {
  private func expectConformance(_ settings: PostgresJournalSettings) {
    expectConformance(
      SharedJournalConformance(
        open: { PostgresJournal(settings) }, openDuties: { PostgresDutyTable(settings) }))
  }

  private func expectConformance(_ suite: SharedJournalConformance) {
    var count = 0
    let holds = suite.run { result in
      count += 1
      #expect(result.failure == nil, "\(result.name)")
    }
    #expect(holds && count > 20)
  }

  @Test func `the one in memory, which simulations use, is a shared journal`() {
    let server = SharedJournalServer()
    expectConformance(
      SharedJournalConformance(
        open: { InMemorySharedJournal(server) }, openDuties: { InMemoryDutyTable(server) }))
  }

  @Test func `PostgreSQL is a shared journal`() throws {
    let fixture = try JournalFixture()
    expectConformance(try fixture.settings())
    #expect(try fixture.sql("SELECT count(*) = max(seq) FROM event") == "t")
  }

  @Test func `PostgreSQL behind pgbouncer in transaction mode is a shared journal`() throws {
    let fixture = try JournalFixture()
    let pooler = try TemporaryPooler(fixture.server, users: [fixture.daemon])
    expectConformance(
      try fixture.settings(address: pooler.address(fixture.database, user: fixture.daemon)))
  }
}
