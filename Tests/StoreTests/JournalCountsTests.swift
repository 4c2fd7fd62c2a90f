import Store
import Testing

/// The counts of the journal are the same however it is divided into ranges.
@Suite struct JournalCountsTests {
  /// 300 events of two apps over some hours, ten in each stream. Only early events are of the
  /// second app.
  private func journaled() throws -> (Scratch, [NewEvent]) {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let events = (0..<300).map { number in
      var event = Sample.event(
        number, body: Array("{}\(number)".utf8),
        receivedAt: 1_767_225_600_000 + Int64(number) * 100_000,
        bundleId: number < 40 && number / 10 % 2 == 1 ? "com.example.b" : "com.example.app")
      if number % 7 == 0 { event.envelope.notificationType = "REFUND" }
      return event
    }
    _ = try opened.journal.append(events.map { .event($0) })
    return (scratch, events)
  }

  private func sums(
    _ reader: JournalReader, _ ranges: [ClosedRange<Int64>]
  ) throws -> [String: Int64] {
    var sums: [String: Int64] = [:]
    for range in ranges {
      for part in try reader.hourCounts(from: range.lowerBound, through: range.upperBound) {
        sums["\(part.hour) \(part.bundleId) \(part.notificationType)", default: 0] += part.count
      }
    }
    return sums
  }

  @Test func `hour counts do not depend on the ranges`() throws {
    let (scratch, events) = try journaled()
    let reader = try JournalReader.open(scratch.folder)
    var expected: [String: Int64] = [:]
    for event in events {
      let hour = event.receivedAt / 3_600_000 * 3_600_000
      expected["\(hour) \(event.bundleId) \(event.notificationType)", default: 0] += 1
    }
    #expect(expected.count > 10)
    #expect(try sums(reader, [1...300]) == expected)
    #expect(try sums(reader, [1...1, 2...7, 8...300]) == expected)
    #expect(try sums(reader, (1...300).map { $0...$0 }) == expected)
    #expect(try reader.hourCounts(from: 301, through: 900).isEmpty)
    let last = try reader.hourCounts(from: 1, through: 300).filter {
      $0.bundleId == "com.example.b"
    }
    #expect(last.map(\.lastSeq).max() == 40)
  }

  @Test func `last seqs do not depend on the limit`() throws {
    let (scratch, _) = try journaled()
    let reader = try JournalReader.open(scratch.folder)
    let apps = try reader.apps()
    #expect(apps.map(\.bundleId) == ["com.example.app", "com.example.b"])
    for limit in [1, 2, 7, 29, 30, 31, 1000] {
      var seqs: [Int64: Int64] = [:]
      var next: Int64? = 0
      var rounds = 0
      while let start = next, rounds < 100 {
        let page = try reader.lastSeqs(afterStream: start, limit: limit)
        seqs.merge(page.seqs, uniquingKeysWith: max)
        next = page.next
        rounds += 1
      }
      #expect(next == nil && apps.map { seqs[$0.id] } == [300, 40], "\(limit)")
    }
    // Searched in any range, backwards.
    for (range, found) in [(1...300, 40), (1...30, 20), (21...30, nil)]
      as [(ClosedRange<Int64>, Int64?)]
    {
      let last = try reader.lastNotification(
        of: apps[1].id, from: range.lowerBound, through: range.upperBound)
      #expect(last == found, "\(range)")
    }
    #expect(try reader.arrival(at: 40)?.receivedAt == 1_767_225_600_000 + 39 * 100_000)
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
