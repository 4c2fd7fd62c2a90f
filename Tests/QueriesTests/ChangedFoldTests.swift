import AppStore
import AppStoreSimulator
import Audit
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

/// A fold with other rules: which customers it changes, and that each fold answers from rows of its
/// own, whichever were made live last. `make trial` does the same with two programs.
@Suite struct ChangedFoldTests {
  private static let end = Sample.start + 400 * 86_400_000
  private static let customers = 150

  /// A ledger of simulated customers, whose rows are by the fold of this program.
  private func ledger() throws -> TestLedger {
    let testLedger = try TestLedger()
    let fleet = Fleet(
      app: SimulatedApp(), customers: Self.customers, days: 380, end: Self.end, seed: 7)
    let bodies = try fleet.notifications().map { try SharedAuthority.sign($0.payload) }
    let outcomes = testLedger.ingest(lines: bodies, at: Self.end)
    #expect(outcomes.allSatisfy { if case .accepted = $0 { true } else { false } })
    _ = try testLedger.digest()
    return testLedger
  }

  @Test func `a comparison names exactly the customers whose answers the rules change`() throws {
    let testLedger = try ledger()
    let own = testLedger.folder
    let changed = DataFolder(path: own.path, fold: .changed)
    let forecast = try ChangedFold.forecast(own, at: Self.end)
    let before = try ChangedFold.spans(own)
    try testLedger.whileStopped {
      try #require(!forecast.lost.isEmpty && !forecast.gained.isEmpty)
      #expect(forecast.gained.values.contains { $0.reason == "revoked → revoked" })
      var found: [String: RowDifference] = [:]
      let summary = try ProjectionDiff.run(
        changed, Rebuild.Plan(), at: Self.end, progress: { _, _ in true }
      ) { found[$0.key.originalTransactionId] = $0 }
      #expect(Set(found.keys) == forecast.changed)
      #expect(access(.lost, found) == forecast.lost)
      #expect(access(.gained, found) == forecast.gained)
      #expect(summary?.equal == forecast.rows - forecast.changed.count)
      #expect(summary?.losing == forecast.lost.count)
      #expect(try ChangedFold.spans(own) == before, "a comparison switches nothing")

      let adopt = ProjectionOrder.adopt(fold: changed.fold.fingerprint)
      #expect(try Rebuild.perform(adopt, changed) == .done)
      #expect(try ChangedFold.spans(own) == before.merging(forecast.spans) { $1 })
      try expectAnswers(forecast, before, own, changed)
    }
    // The start of the program before goes back.
    #expect(try ChangedFold.spans(own) == before)
    try expectAnswers(forecast, before, own, changed)
    #expect(try testLedger.verify().findings.isEmpty)
  }

  private func access(
    _ access: RowDifference.Access, _ found: [String: RowDifference]
  ) -> [String: ChangedFold.Forecast.Change] {
    found.filter { $0.value.access == access }.mapValues {
      ChangedFold.Forecast.Change(reason: $0.reason, productId: $0.productId ?? "")
    }
  }

  /// Each fold answers by its own rules, of one customer, of the past, and in a list.
  private func expectAnswers(
    _ forecast: ChangedFold.Forecast, _ before: [String: [EntitlementRow.Span]],
    _ own: DataFolder, _ changed: DataFolder
  ) throws {
    for folder in [own, changed] {
      let reader = try LedgerReader(folder, durations: [:])
      let question = LedgerReader.Question(now: Self.end)
      let past = LedgerReader.Question(asOf: Self.end, now: Self.end)
      let list = try reader.list(LedgerReader.Filter(), after: nil, limit: 1_000, question)
      var listed: [String: Entitlement.Status] = [:]
      for row in list.rows { listed[row.key.originalTransactionId] = row.entitlement.status }
      for id in before.keys {
        let spans = (folder == own ? nil : forecast.spans[id]) ?? before[id] ?? []
        let span = spans.last { $0.from <= Self.end }
        let row = try reader.entitlement(
          id, environment: .production, bundleId: nil, question)
        #expect(row?.entitlement.status == span?.status, "\(id)")
        #expect(row?.entitlement.givesAccess == span?.givesAccess, "\(id)")
        let then = try reader.entitlement(id, environment: .production, bundleId: nil, past)
        #expect(then?.entitlement.givesAccess == span?.givesAccess, "\(id)")
        let explained = try reader.explain(
          id, environment: .production, bundleId: nil, question)
        #expect(explained?.row.entitlement.givesAccess == span?.givesAccess, "\(id)")
        #expect(listed[id] == span?.status, "\(id)")
      }
    }
  }

  @Test func `ledgers of two folds that run in turns each continue with their own rows`() throws {
    let testLedger = try ledger()
    let own = testLedger.folder
    let lost = try #require(ChangedFold.forecast(own, at: Self.end).lost.keys.min())
    let statuses = try ChangedFold.spans(own).compactMap { _, spans in
      spans.last { $0.from <= Self.end }?.status
    }
    var names: [Fold: String] = [:]
    for turn in 0..<4 {
      let fold = turn.isMultiple(of: 2) ? Fold.changed : .current
      try testLedger.restart(by: fold)
      let late = Sample.notification(turn + 1, otid: lost)
      _ = try testLedger.ingest(try SharedAuthority.sign(late), at: Self.end)
      let row = try #require(try testLedger.row(lost, now: Self.end))
      #expect(row.entitlement.status == (fold == .current ? .gracePeriod : .billingRetry))
      let counts = try testLedger.reader().counts(at: Self.end).byStatus.values.first ?? [:]
      let expected = statuses.map { fold == .current ? $0 : ChangedFold.status($0) }
      for status in Entitlement.Status.allCases {
        #expect(counts[status] ?? 0 == expected.count { $0 == status }, "\(status)")
      }
      let name = try #require(try ProjectionList.read(own).live)
      #expect(names.updateValue(name, forKey: fold) ?? name == name, "built again")
      #expect(try testLedger.verify().findings.isEmpty)
    }
    #expect(try ProjectionList.read(own).names.count == 2)
  }

  @Test func `the rows of the program before are kept, and caught up when it is started again`()
    throws
  {
    let testLedger = try ledger()
    let folder = testLedger.folder
    let own = try #require(try ProjectionList.read(folder).live)
    let file = try ProjectionReader.open(folder, path: folder.projection(named: own))
    let end = try file.foldedThrough()
    try testLedger.restart(by: .changed)
    let other = try #require(try ProjectionList.read(folder).live)
    let ids = Array(try ChangedFold.spans(folder).keys.sorted().prefix(20))
    // Customers who are in the kept file, and new ones.
    for (number, id) in (ids + (0..<20).map { "99\($0)" }).enumerated() {
      let late = Sample.notification(5_000 + number, otid: id)
      _ = try testLedger.ingest(try SharedAuthority.sign(late), at: Self.end)
    }
    #expect(try ProjectionList.read(folder).names == [other, own])
    #expect(try file.foldedThrough() == end, "the kept file was written")

    try testLedger.restart(by: .current)
    let digest = try testLedger.digest()
    #expect(try ProjectionList.read(folder).names == [own, other])
    // The open file was continued: one that was built would have replaced it.
    #expect(try file.foldedThrough() == end + 40)
    #expect(try Hexadecimal.encode(#require(try file.digest()).bytes) == digest)
    let rebuilt = try #require(try Rebuild.build(testLedger.folder) { _, _ in true })
    #expect(Hexadecimal.encode(rebuilt.digest.bytes) == digest)
    #expect(try testLedger.verify().findings.isEmpty)
  }

  @Test func `each rule of a fold is part of its fingerprint, and its number is not`() {
    var folds = [Fold.current, .current, .current, .current]
    folds[0].grace = .expired
    folds[1].retry = .expired
    folds[2].access.append(.billingRetry)
    folds[3].access = [.active]
    #expect(Set((folds + [.current]).map(\.fingerprint)).count == 5)
    #expect(Fold(version: 9).fingerprint == Fold.current.fingerprint)
  }
}
