import AppStore
import AppStoreSimulator
import Audit
import Entitlements
import Foundation
import Ledger
import Platform
import Queries
import Support
import Synchronization
import Testing

@testable import Store

/// What another fold held is judged once by this one, before its rows become live (promise 6).
@Suite struct HeldJudgingTests {
  private static let customers = TestCount.mixed.number
  private static let day: Int64 = 86_400_000

  /// Lives of customers, of which a ledger was told some, and holds the rest as if another fold had
  /// found nothing new in it.
  private struct Upgraded {
    let ledger: TestLedger
    /// All pieces, journaled and held.
    var events: [StreamKey: [NotificationUUID: FoldEvent]] = [:]
    var held: [Receiver.Received] = []

    init(customers: Int, seed: UInt64, _ chance: inout SplitMix64) throws {
      ledger = try TestLedger(secrets: [MixedLives.secret])
      var lives = try MixedLives(
        customers: customers, from: Int(seed % 300_000), seed: seed)
      var lines = try lives.lines(Set(SimulatedMessage.Kind.allCases), answers: true).map(\.line)
      lines.shuffle(using: &chance)
      let share = 20 + Int(chance.below(70))
      var laid: [[UInt8]] = []
      var told: [[UInt8]] = []
      for line in lines {
        let isEvidence = ledger.receive(line: line, at: MixedLives.end).contains(where: Self.isHeld)
        if isEvidence, chance.hits(share) { laid.append(line) } else { told.append(line) }
      }
      // Renewal information whose transaction comes later is refused at first.
      for _ in 0..<2 {
        let outcomes = ledger.ingest(lines: told, at: MixedLives.end)
        ledger.waitUntilJudged()
        for (line, outcome) in zip(told, outcomes) {
          if case .refused = outcome { continue }
          add(line)
        }
      }
      for received in laid.flatMap({ ledger.receive(line: $0, at: MixedLives.end) }) {
        guard let stream = received.stream, let event = received.foldEvent(seq: 0),
          // Of a stream without a transaction no fold holds anything.
          events[stream]?.values.contains(where: { !$0.transactions.isEmpty }) ?? false,
          events[stream]?[event.uuid] == nil
        else { continue }
        events[stream]?[event.uuid] = event
        held.append(received)
      }
    }

    private static func isHeld(_ received: Receiver.Received) -> Bool {
      guard case .event(let event) = received.submission else { return false }
      return event.source.isEvidence
    }

    private mutating func add(_ line: [UInt8]) {
      for (stream, event) in ledger.foldEvents(line: line, at: MixedLives.end) {
        events[stream, default: [:]][event.uuid] = event
      }
    }

    /// Puts what is held into the stopped ledger's journal, and says that fold 1 judged it.
    func hold() throws {
      let journal = try open()
      let ship: Journal.Shipper<Void>? = nil
      try journal.write(shipping: ship) { (connection) throws(LedgerError) in
        for case .event(var event) in held.map(\.submission) {
          // Nothing that old is thinned.
          event.envelope.receivedAt = 0
          let isReceipt = event.source == .receipt
          let folded = event.makeFoldEvent?()
          try journal.insertHeld(
            event, transactionId: isReceipt ? nil : folded?.transactions.first?.transactionId,
            connection)
        }
        try Meta(connection: connection).set(.judgedBy, 1)
      }
      try journal.close()
    }

    func open() throws -> Journal {
      try ledger.folder.create()
      let lock = try ledger.folder.lock()
      return try Journal.open(
        ledger.folder, lock: lock, now: 0,
        decodingWith: { try? JournaledNotification.foldEvent($0) })
    }

    /// Compares rows with those of a fold of all pieces, as of now and of the past.
    func expectRows(
      _ reader: LedgerReader, _ chance: inout SplitMix64, _ what: String
    ) throws -> Int {
      var compared = 0
      for (stream, pieces) in events {
        let all = Array(pieces.values)
        for _ in 0..<4 {
          let now = chance.pick(all).signedDate + chance.below(60 * day)
          let row = try row(reader, stream, LedgerReader.Question(now: now))
          #expect(row == Self.entitlement(all, now), "\(what): \(stream) at \(now)")
          let past = chance.pick(all).signedDate
          let known = all.filter { $0.signedDate <= past }
          let answer = try self.row(reader, stream, LedgerReader.Question(asOf: past, now: now))
          #expect(answer == Self.entitlement(known, past), "\(what): \(stream) as of \(past)")
          compared += 2
        }
      }
      return compared
    }

    private func row(
      _ reader: LedgerReader, _ stream: StreamKey, _ question: LedgerReader.Question
    ) throws -> Entitlement? {
      try reader.entitlement(
        stream.originalTransactionId, environment: stream.environment, bundleId: stream.bundleId,
        question)?.entitlement
    }

    private static func entitlement(_ events: [FoldEvent], _ time: Int64) -> Entitlement? {
      var state = StreamState()
      for event in events { state.evolve(event) }
      return EntitlementRow(state).entitlement(at: time)
    }
  }

  private static func upgraded(_ seed: UInt64) throws -> (Upgraded, SplitMix64) {
    var chance = SplitMix64(seed: seed ^ 0x6865_6C64)
    return (try Upgraded(customers: 12, seed: seed, &chance), chance)
  }

  @Test func `rows are those of a ledger that journaled all that another fold held`() throws {
    var (compared, journaled) = (0, 0)
    for first in stride(from: 0, to: Self.customers, by: 12) {
      let seed = UInt64(20_260_701 + first)
      var (upgraded, chance) = try Self.upgraded(seed)
      let ledger = upgraded.ledger
      let before = try ledger.whileStopped { () -> Int64 in
        try upgraded.hold()
        // The rows are another program's.
        let name = try #require(try ProjectionList.read(ledger.folder).names.first)
        let file = try SQLiteConnection.open(ledger.folder.projection(named: name), .write)
        try file.execute("UPDATE meta SET value = 1 WHERE key = 'fold_version'")
        try file.checkpointTruncate()
        file.close()
        // The journal alone does not give them, what is held beside it does.
        let reader = try LedgerReader(ledger.folder, durations: [:])
        compared += try upgraded.expectRows(reader, &chance, "seed \(seed), before")
        return try reader.journal.head().seq
      }
      #expect(ledger.ledger.judging.isComplete)
      #expect(try JournalReader.open(ledger.folder).unjudgedCount() == 0)
      journaled += Int(ledger.ledger.seq - before)
      compared += try upgraded.expectRows(try ledger.reader(), &chance, "seed \(seed)")
      #expect(try ledger.verify().findings.map(\.what) == [], "seed \(seed)")
    }
    #expect(journaled > 0 && compared > Self.customers)
    print("compared \(compared) rows, \(journaled) pieces journaled")
  }

  @Test func `judging goes on where a stop left it, and journals each piece once`() throws {
    var (upgraded, chance) = try Self.upgraded(20_260_801)
    let ledger = upgraded.ledger
    var (turns, left): (Int, [Int64]) = (0, [])
    try ledger.whileStopped {
      try upgraded.hold()
      var isJudged = false
      while !isJudged {
        let journal = try upgraded.open()
        var steps = 0
        let judged = try journal.judgeNext {
          steps += 1
          return steps < 150
        }
        if judged.hasNews {
          _ = try journal.journalNews(judged, at: MixedLives.end)
        } else {
          try journal.pass(judged, isStored: true)
        }
        isJudged = journal.isJudged
        try journal.close()
        turns += 1
        left.append(try JournalReader.open(ledger.folder).unjudgedCount())
      }
    }
    #expect(turns > 3 && left == left.sorted(by: >) && left.last == 0, "\(left)")
    _ = try upgraded.expectRows(try ledger.reader(), &chance, "in \(turns) turns")
    let uuids = try ledger.events().map(\.notificationUUID)
    #expect(Set(uuids).count == uuids.count)
    let times = try ledger.events().map(\.receivedAt)
    #expect(times == times.sorted())
  }

  @Test func `what is judged is judged again once another program wrote the journal`() throws {
    let ledger = try TestLedger()
    for day in 0...1 { try EvidenceFact.transaction(on: day).tell(ledger) }
    #expect(try JournalReader.open(ledger.folder).heldEvidenceCount() == 1)
    func isJudged(after change: String? = nil) throws -> Bool {
      if let change {
        let file = try SQLiteConnection.open(ledger.folder.journal, .write)
        try file.execute(change)
        try file.checkpointTruncate()
        file.close()
      }
      let reader = try JournalReader.open(ledger.folder)
      let (isKnown, count) = (try reader.isJudged(), try reader.unjudgedCount())
      reader.close()
      let lock = try ledger.folder.lock()
      let journal = try Journal.open(ledger.folder, lock: lock, now: 0)
      // Does not count as another program's.
      try journal.emptyWAL()
      #expect(journal.isJudged == isKnown && count == (isKnown ? 0 : 1))
      try journal.close()
      return isKnown
    }
    try ledger.whileStopped { () throws -> Void in
      #expect(try isJudged())
      #expect(try !isJudged(after: "UPDATE meta SET value = value + 1 WHERE key = 'generation'"))
      #expect(try !isJudged())
      let judged = "UPDATE meta SET value = \(Int64.max) WHERE key = 'evidence_judged_through'"
      #expect(try isJudged(after: judged))
      #expect(try !isJudged(after: "UPDATE meta SET value = 1 WHERE key = 'evidence_judged_by'"))
    }
    // The rows that this fold made are live meanwhile.
    #expect(Self.wait { ledger.ledger.judging.isComplete })
    #expect(ledger.ledger.judging.streams.value == 1)
  }

  /// A ledger whose writer judges for one step in each turn.
  private func slowly(
    _ upgraded: Upgraded, _ body: (DeterministicLedger) throws -> Void
  ) throws {
    try upgraded.ledger.whileStopped {
      try upgraded.hold()
      for name in try ProjectionList.read(upgraded.ledger.folder).names {
        try FileManager.default.removeItem(atPath: upgraded.ledger.folder.projection(named: name))
      }
      var time: Int64 = 0
      let ledger = try DeterministicLedger.open(upgraded.ledger.folder, now: 0) {
        time += 1_000_000_000
        return time
      }
      try body(ledger)
      ledger.stop()
    }
  }

  private final class Answers: Sendable {
    private let outcomes = Mutex<[String]>([])
    var all: [String] { outcomes.withLock { $0 } }
    func add(_ outcome: String) { outcomes.withLock { $0.append(outcome) } }
  }

  @Test func `no rows become live before all is judged, and notifications pass`() throws {
    let (upgraded, _) = try Self.upgraded(20_260_901)
    let body = try SharedAuthority.sign(Sample.notification(1))
    let received = try upgraded.ledger.receive(body, at: MixedLives.end)
    let folder = upgraded.ledger.folder
    try slowly(upgraded) { slow in
      let built = try #require(try Rebuild.build(folder) { _, _ in true })
      let answers = Answers()
      slow.ledger.perform(.adoptCurrent) { answers.add("\($0)") }
      slow.ledger.submit(received) { answers.add($0.name) }
      slow.work()
      #expect(answers.all == ["notJudged", "accepted"])
      var turns = 0
      while !slow.ledger.judging.isComplete, turns < 100_000 {
        #expect(!slow.hasProjection)
        if turns < 3 { slow.work() } else { slow.recoverProjection() }
        turns += 1
      }
      #expect(turns > 3)
      try slow.prepareProjection { true }
      #expect(slow.hasProjection)
      let reader = try LedgerReader(slow.ledger)
      #expect(try reader.foldedThrough() == slow.ledger.seq)
      #expect(slow.ledger.seq > built.events)
    }
  }

  // MARK: A shared journal

  private static func wait(_ isReached: () -> Bool) -> Bool {
    let deadline = Deadline(milliseconds: 60_000)
    while !isReached(), !deadline.hasPassed { WakeupEvent().wait(milliseconds: 20) }
    return isReached()
  }

  @Test func `on a shared journal each piece is journaled once, and every copy is judged`() throws {
    var (upgraded, chance) = try Self.upgraded(20_261_001)
    let (server, own) = (SharedJournalServer(), upgraded.ledger.folder)
    try upgraded.ledger.whileStopped {
      try upgraded.hold()
      let before = try JournalReader.open(own).head().seq
      let isUploaded = try CopyUpload.run(own, to: InMemorySharedJournal(server), now: 0) { _, _ in
        true
      }
      #expect(isUploaded)
      let access = SharedAccess(openDuties: { InMemoryDutyTable(server) }) {
        InMemorySharedJournal(server)
      }
      let scratch = try Scratch()
      let folders = [own] + (1...2).map { DataFolder(path: "\(scratch.path)/\($0)") }
      let ledgers = try folders.map { try Ledger.start($0, now: 0, shared: access) { _ in } }
      defer { for ledger in ledgers { ledger.stop() } }
      #expect(Self.wait { ledgers.allSatisfy { $0.judging.isComplete && $0.hasProjection } })
      let head = server.content.head.seq
      let journaled = ledgers.reduce(0) { $0 + $1.judging.journaled.value }
      #expect(journaled > 0 && head - before == journaled)
      #expect(Self.wait { ledgers.allSatisfy { $0.foldedHead.seq == head } })
      // Whoever has nothing left to judge leaves the duty to the next.
      #expect(Self.wait { ledgers.allSatisfy { !$0.duties.leases(.evidence) } })
      for ledger in ledgers {
        let reader = try LedgerReader(ledger)
        _ = try upgraded.expectRows(reader, &chance, ledger.folder.path)
      }
    }
  }
}
