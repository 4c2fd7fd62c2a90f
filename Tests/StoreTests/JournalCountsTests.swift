import AppStore
import Platform
import Testing

@testable import Store

/// What the journal counts, and how a projection keeps it.
@Suite struct JournalCountsTests {
  /// 300 events of two apps over 332 hours, ten in each stream. Only early events are of the second
  /// app.
  private func journaled() throws -> (Scratch, [NewEvent]) {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let events = (0..<300).map { number in
      var event = Sample.event(
        number, body: Array("{}\(number)".utf8),
        receivedAt: 1_767_225_600_000 + Int64(number) * 4_000_000,
        source: number % 11 == 3 ? .v1 : .v2,
        bundleId: number < 40 && number / 10 % 2 == 1 ? "com.example.b" : "com.example.app")
      if number % 7 == 0 { event.envelope.notificationType = "REFUND" }
      if number % 6 == 1 { event.arrival = .history }
      if number % 10 == 5 { event.envelope.originalTransactionId = nil }
      return event
    }
    _ = try opened.journal.append(events.map { .event($0) })
    return (scratch, events)
  }

  /// What the table has of events, counted one by one.
  private static func expected(_ events: [NewEvent]) -> Set<HourCount> {
    let last = (events.last?.receivedAt ?? 0) / 3_600_000 * 3_600_000
    var counts: Set<HourCount> = []
    for (index, event) in events.enumerated() {
      let hour = event.receivedAt / 3_600_000 * 3_600_000
      func counted(_ count: Int64) -> HourCount {
        HourCount(
          hour: hour > last - 170 * 3_600_000 ? hour : 0,
          app: .init(environment: event.environment, bundleId: event.bundleId),
          notificationType: event.notificationType, source: event.source, arrival: event.arrival,
          count: count, lastSeq: Int64(index) + 1)
      }
      let key = Self.key(counted(1))
      let known = counts.first { Self.key($0) == key }
      if let known { counts.remove(known) }
      counts.insert(counted((known?.count ?? 0) + 1))
    }
    return counts
  }

  private static func key(_ count: HourCount) -> [String] {
    [
      "\(count.hour)", count.app.environment.rawValue, count.app.bundleId, count.notificationType,
      count.source.rawValue, count.arrival.rawValue,
    ]
  }

  /// What a projection has after it was given these counts, each in a commit of its own.
  private func table(_ scratch: Scratch, _ added: [[HourCount]]) throws -> [HourCount] {
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    let projection = try Projection.create(
      path,
      ProjectionIdentity(
        foldVersion: 1, fingerprint: "f1", journalId: [UInt8](repeating: 7, count: 16)))
    for counts in added {
      try projection.commit(foldedThrough: 1, hash: ChainHash.origin) { () throws(LedgerError) in
        try projection.add(counts)
      }
    }
    try projection.close()
    return try ProjectionReader.open(scratch.folder, path: path).hours()
  }

  @Test func `hours do not depend on how the events are divided`() throws {
    let (scratch, events) = try journaled()
    let reader = try JournalReader.open(scratch.folder)
    let expected = Self.expected(events)
    #expect(expected.contains { $0.hour == 0 && $0.count > 1 } && expected.count > 150)
    for ranges in [[1...300], [1...1, 2...7, 8...300], (1...300).map { $0...$0 }]
      as [[ClosedRange<Int64>]]
    {
      let counts = try ranges.map {
        try reader.hourCounts(from: $0.lowerBound, through: $0.upperBound)
      }
      let found = try table(scratch, counts)
      #expect(Set(found) == expected && found.count == expected.count, "\(ranges.count)")
      #expect(found.map(\.hour) == found.map(\.hour).sorted())
    }
    // Stream by stream, as a build does, the last one first.
    let streams = try (1...reader.lastStreamId()).reversed().map { id in
      try reader.forEachPayload(ofStreams: id...id, through: 300) { _, _ in }
    }
    let built = Set(try table(scratch, streams))
    #expect(streams.count > 30 && built == expected)
    #expect(try reader.hourCounts(from: 301, through: 900).isEmpty)
  }

  @Test func `an event is found by its seq`() throws {
    let (scratch, _) = try journaled()
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.arrival(at: 40)?.receivedAt == 1_767_225_600_000 + 39 * 4_000_000)
    #expect(try reader.arrival(at: 301) == nil)
  }

  @Test func `quarantine is counted by reason and by hour`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let items = (0..<30).map { number in
      var item = Sample.quarantine(number, owner: .ours)
      item.receivedAt = Int64(number) * 1_000_000
      item.reason = number % 3 == 0 ? "conflict" : "other_app"
      if number == 29 { item.claims.bundleId = nil }
      return item
    }
    _ = try opened.journal.append(items.map { .quarantine($0) })
    let reader = try JournalReader.open(scratch.folder)
    let reasons = try reader.quarantineByReason()
    #expect(reasons.map(\.reason) == ["other_app", "conflict", "other_app"])
    #expect(reasons.map(\.count) == [19, 10, 1])
    #expect(reasons.map(\.lastReceivedAt) == [28_000_000, 27_000_000, 29_000_000])
    let hours = try reader.quarantineByHour(since: 7_200_000)
    #expect(hours.map(\.count).reduce(0, +) == 22)
    #expect(hours.allSatisfy { $0.hour % 3_600_000 == 0 && $0.hour >= 7_200_000 })
    // A list does not need bodies.
    let listed = try reader.quarantined(through: 3, limit: 2, bodies: false)
    #expect(listed.map(\.id) == [3, 2] && listed.allSatisfy(\.body.isEmpty))
  }
}
