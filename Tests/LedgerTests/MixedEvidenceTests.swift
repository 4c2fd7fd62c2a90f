import AppStore
import AppStoreSimulator
import Audit
import Entitlements
import Foundation
import Ledger
import Queries
import Store
import Support
import Testing

/// A whole ledger that is told of random lives by any mixture of what Apple signs, in any order and
/// with any part missing: its rows are those of an independent fold of the same evidence
/// (promise 6).
@Suite struct MixedEvidenceTests {
  private static let customers = TestCount.mixed.number
  private static let perLedger = 12
  private static let day: Int64 = 86_400_000
  private static let durations = ["season.pass": 90 * day]

  private static func ledger() throws -> TestLedger {
    try TestLedger(secrets: [MixedLives.secret], durations: ["season.pass": "P90D"])
  }

  /// The streams that were told of, with their events.
  private typealias Told = [StreamKey: [NotificationUUID: FoldEvent]]

  /// Tells the lines in batches. Renewal information whose transaction comes later is refused, and
  /// told again.
  private func tell(
    _ ledger: TestLedger, _ lines: [[UInt8]], _ chance: inout SplitMix64
  ) throws -> Told {
    var told: Told = [:]
    var left = lines
    while !left.isEmpty {
      var refused: [[UInt8]] = []
      var rest = left[...]
      while !rest.isEmpty {
        let batch = Array(rest.prefix(1 + Int(chance.below(40))))
        rest = rest.dropFirst(batch.count)
        let outcomes = ledger.ingest(lines: batch, at: MixedLives.end)
        try #require(outcomes.count == batch.count)
        for (line, outcome) in zip(batch, outcomes) {
          if case .refused(let refusal) = outcome {
            #expect(refusal.code == "no_transaction")
            refused.append(line)
            continue
          }
          for (stream, event) in ledger.foldEvents(line: line, at: MixedLives.end) {
            told[stream, default: [:]][event.uuid] = event
          }
        }
      }
      if refused.count == left.count { break }
      left = refused
    }
    return told
  }

  @Test func `rows are those of an independent fold, whatever told of them, in any order`() throws {
    var compared = 0
    for first in stride(from: 0, to: Self.customers, by: Self.perLedger) {
      let seed = UInt64(20_260_101 + first)
      var chance = SplitMix64(seed: seed ^ 0x6D69_7865)
      let customers = min(Self.perLedger, Self.customers - first)
      var lives = try MixedLives(customers: customers, from: first % 300_000, seed: seed)
      var lines = try lives.lines(Set(SimulatedMessage.Kind.allCases), answers: true).map(\.line)
      lines += try lives.history()
      // Each ledger misses another part, some of them a whole kind of evidence.
      let share = Int(chance.below(90))
      lines = lines.filter { _ in !chance.hits(share) }
      lines += lines.filter { _ in chance.hits(10) }
      lines.shuffle(using: &chance)
      let ledger = try Self.ledger()
      let told = try tell(ledger, lines, &chance)
      ledger.waitUntilJudged()
      #expect(try ledger.verify().findings.isEmpty, "seed \(seed)")
      for (stream, events) in told {
        compared += try compare(ledger, stream, Array(events.values), &chance, "seed \(seed)")
      }
    }
    #expect(compared > Self.customers)
    print("compared \(compared) rows of \(Self.customers) customers")
  }

  private func compare(
    _ ledger: TestLedger, _ stream: StreamKey, _ events: [FoldEvent],
    _ chance: inout SplitMix64, _ what: String
  ) throws -> Int {
    let id = stream.originalTransactionId
    let dates = events.map(\.signedDate) + [MixedLives.end]
    for _ in 0..<3 {
      let now = chance.pick(dates) + chance.below(60 * Self.day)
      let plain = PlainRow(events: events, t: now, durations: Self.durations)
      let row = try ledger.row(id, now: now)?.entitlement.summary
      #expect(row == plain.summary, "\(what), \(id) at \(now)")
      let asOf = chance.pick(dates)
      let known = events.filter { $0.signedDate <= asOf }
      let past = PlainRow(events: known, t: asOf, durations: Self.durations)
      let answer = try ledger.row(id, asOf: asOf, now: now)?.entitlement.summary
      #expect(answer == (known.isEmpty ? nil : past.summary), "\(what), \(id) as of \(asOf)")
    }
    return 3
  }

  /// Newer evidence first. What comes later says nothing of purchases that were not known, so it
  /// may neither end access nor shorten it.
  @Test(arguments: [true, false])
  func `older evidence never lowers what newer evidence proved`(isSigned: Bool) throws {
    var checked = 0
    for first in stride(from: 0, to: Self.customers / 2, by: Self.perLedger) {
      let seed = UInt64(20_270_101 + first)
      var lives = try MixedLives(
        customers: min(Self.perLedger, Self.customers / 2 - first), from: first % 300_000,
        seed: seed)
      let kinds: Set<SimulatedMessage.Kind> =
        isSigned ? [.notifications, .transactions] : [.v1, .receipts]
      let lines = try lives.lines(kinds, answers: isSigned).sorted { $0.date > $1.date }
      let ledger = try Self.ledger()
      var known: Told = [:]
      for (_, line) in lines {
        let parts = ledger.foldEvents(line: line, at: MixedLives.end)
        let before = try parts.map { try rows(ledger, $0.0, known) }
        if case .refused = ledger.ingest(lines: [line], at: MixedLives.end).first { continue }
        ledger.waitUntilJudged()
        for (part, before) in zip(parts, before) {
          if isNoNews(part.1, known[part.0]) {
            let after = try rows(ledger, part.0, known)
            for (one, other) in zip(before, after) {
              #expect(!one.givesAccess || other.givesAccess, "seed \(seed) \(part)")
              #expect(one.end <= other.end, "seed \(seed) \(part)")
              checked += 1
            }
          }
          known[part.0, default: [:]][part.1.uuid] = part.1
        }
      }
    }
    #expect(checked > Self.customers)
    print("checked \(checked) rows")
  }

  /// Whether an event names no purchase that was not known, and is older than all that is known. A
  /// cancellation of version 1 counts .
  private func isNoNews(_ event: FoldEvent, _ known: [NotificationUUID: FoldEvent]?) -> Bool {
    guard let known, !known.isEmpty else { return false }
    let ids = Set(known.values.flatMap { $0.transactions.map(\.transactionId) })
    let isOlder = known.values.allSatisfy { $0.signedDate >= event.signedDate }
    let isCancelled = event.transactions.contains { $0.revocationDate != nil }
    return isOlder && event.transactions.allSatisfy { ids.contains($0.transactionId) }
      && !(!event.isSigned && isCancelled)
  }

  /// Access and end of a row at three times after the newest evidence.
  private func rows(
    _ ledger: TestLedger, _ stream: StreamKey, _ known: Told
  ) throws -> [(givesAccess: Bool, end: Int64)] {
    guard let newest = known[stream]?.values.map(\.signedDate).max() else { return [] }
    return try [0, 1, 20].map { days in
      let row = try ledger.row(
        stream.originalTransactionId, now: newest + Int64(days) * Self.day)?.entitlement
      return (row?.givesAccess ?? false, row.map { $0.expiresAt ?? .max } ?? .min)
    }
  }
}
