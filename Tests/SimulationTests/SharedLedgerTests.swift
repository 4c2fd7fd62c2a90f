import AppStore
import Audit
import Ledger
import Platform
import Queries
import SignedData
import Store
import Support
import Synchronization
import Testing

/// Ledgers whose folders are copies of one shared journal.
@Suite struct SharedLedgerTests {
  /// Some ledgers, and what they share.
  final class Bench {
    let scratch: Scratch
    let server = SharedJournalServer()
    let fixtures: Fixtures
    let receiver: Receiver
    private var time: Int64 = 0

    init() throws {
      scratch = try Scratch()
      fixtures = try Fixtures.shared.get()
      receiver = try Receiver(fixtures.configuration)
    }

    func folder(_ name: String) -> DataFolder { DataFolder(path: "\(scratch.path)/\(name)") }

    /// - Parameter roots: nil for those of the fixtures.
    func open(
      _ name: String, isShared: Bool = true, holdMilliseconds: Int64 = 60_000,
      trusting roots: TrustRoots? = nil
    ) throws -> DeterministicLedger {
      let server = server
      let access = SharedAccess(
        trustRoots: roots ?? fixtures.configuration.trustRoots,
        holdMilliseconds: holdMilliseconds, pollMilliseconds: 3_600_000
      ) { InMemorySharedJournal(server) }
      return try DeterministicLedger.open(
        folder(name), now: Fixtures.start, clock: { 0 }, shared: isShared ? access : nil)
    }

    /// Posts a body, and returns what became of it.
    func post(_ item: Int, to ledger: DeterministicLedger, at time: Int64) -> Outcome? {
      guard
        let received = try? receiver.receive(
          body: fixtures.items[item].body, at: Fixtures.start + time)
      else { return nil }
      return submit(received, to: ledger)
    }

    func submit(_ received: Receiver.Received, to ledger: DeterministicLedger) -> Outcome? {
      let found = Mutex<Outcome?>(nil)
      let outcome = FirstOutcome()
      ledger.ledger.submit(received) { outcome.set($0) }
      ledger.work()
      found.withLock { $0 = outcome.value }
      return found.withLock { $0 }
    }

    func claim(_ id: String, _ account: String, _ ledger: DeterministicLedger) -> Outcome? {
      submit(
        Receiver.Received(
          NewStatement(
            .claim(originalTransactionId: id), of: CustomerName(.account, account),
            environment: .production,
            bundleId: TestLedger.bundleId, token: "test", receivedAt: Fixtures.start)),
        to: ledger)
    }

    func follow(_ ledger: DeterministicLedger) {
      ledger.ledger.refresh { _ in }
      ledger.work()
    }

    func export(_ name: String) throws -> [UInt8] {
      var lines: [UInt8] = []
      _ = try Export.run(
        folder(name), write: { lines += $0 }, progress: { _, _ in true })
      return lines
    }

    func digest(_ ledger: DeterministicLedger) throws -> String {
      try ledger.prepareProjection { true }
      return try LedgerReader(ledger.ledger).digest() ?? ""
    }
  }

  final class FirstOutcome: Sendable {
    private let held = Mutex<Outcome?>(nil)
    var value: Outcome? { held.withLock { $0 } }
    func set(_ outcome: Outcome) { held.withLock { $0 = outcome } }
  }

  @Test func `the same posts give the same chain, export and rows with a shared journal`() throws {
    let bench = try Bench()
    let (own, shared) = (
      try bench.open("own", isShared: false), try bench.open("shared")
    )
    for item in bench.fixtures.items.indices {
      let time = Int64(item)
      #expect(bench.post(item, to: own, at: time) == bench.post(item, to: shared, at: time))
    }
    #expect(own.ledger.seq > 20 && own.ledger.foldedHead == shared.ledger.foldedHead)
    #expect(try bench.digest(own) == bench.digest(shared))
    own.stop()
    shared.stop()
    #expect(try bench.export("own") == bench.export("shared"))
    let notes = try ["own", "shared"].map { name in
      try JournalReader.open(bench.folder(name)).allNotes()
    }
    #expect(notes[0] == notes[1] && !notes[0].isEmpty)
  }

  @Test func `a copy opens only with its shared journal, and detached only without it`() throws {
    let bench = try Bench()
    do {
      let ledger = try bench.open("copy")
      #expect(bench.post(0, to: ledger, at: 0) == .accepted(seq: 1))
      ledger.stop()
    }
    #expect(throws: LedgerError.copyWithoutSharedJournal) {
      _ = try bench.open("copy", isShared: false)
    }
    let folder = bench.folder("copy")
    do {
      let lock = try folder.lock()
      #expect(try Journal.detach(folder, lock: lock, now: 1))
      #expect(try !Journal.detach(folder, lock: lock, now: 1))
    }
    #expect(throws: LedgerError.self) { _ = try bench.open("copy") }
    let detached = try bench.open("copy", isShared: false)
    #expect(bench.post(1, to: detached, at: 1) == .accepted(seq: 2))
    detached.stop()
    #expect(bench.server.content.head.seq == 1)
  }

  @Test func `an uploaded journal becomes a copy that others follow`() throws {
    let bench = try Bench()
    var seq: Int64 = 0
    do {
      let own = try bench.open("own", isShared: false)
      for item in bench.fixtures.items.indices { _ = bench.post(item, to: own, at: Int64(item)) }
      let claimed = bench.claim("1000", "ann", own)
      seq = own.ledger.seq
      #expect(claimed == .accepted(seq: seq))
      own.stop()
    }
    // Interrupted after the first commit, and continued.
    let journal = InMemorySharedJournal(bench.server)
    #expect(
      try !CopyUpload.run(bench.folder("own"), to: journal, now: 1) { _, _ in false })
    #expect(try CopyUpload.run(bench.folder("own"), to: journal, now: 1) { _, _ in true })
    let (first, second) = (try bench.open("own"), try bench.open("other"))
    #expect(first.ledger.seq == seq && second.ledger.seq == seq)
    #expect(bench.claim("1001", "ann", second) == .accepted(seq: seq + 1))
    bench.follow(first)
    #expect(try bench.digest(first) == bench.digest(second))
    let notes = try ["own", "other"].map { try JournalReader.open(bench.folder($0)).allNotes() }
    #expect(notes[0] == notes[1])
  }

  @Test func `without the shared journal posts are answered with 503, and reads go on`() throws {
    let bench = try Bench()
    do {
      let ledger = try bench.open("copy", holdMilliseconds: 0)
      #expect(bench.post(0, to: ledger, at: 0) == .accepted(seq: 1))
      bench.server.setDown(true)
      #expect(bench.post(1, to: ledger, at: 1) == .unavailable("shared_journal"))
      #expect(try JournalReader.open(bench.folder("copy")).head().seq == 1)
      ledger.stop()
    }
    let again = try bench.open("copy", holdMilliseconds: 0)
    #expect(again.ledger.seq == 1 && again.ledger.copy?.isReady == false)
    bench.server.setDown(false)
    #expect(bench.post(1, to: again, at: 2) == .accepted(seq: 2))
    #expect(again.ledger.copy?.isReady == true)
  }

  @Test func `a commit of unknown outcome is found again and answered as accepted`() throws {
    let bench = try Bench()
    let ledger = try bench.open("copy")
    for (item, fault) in zip(
      bench.fixtures.items.indices, SharedJournalServer.Fault.allCases)
    {
      bench.server.plan([fault])
      #expect(
        bench.post(item, to: ledger, at: Int64(item)) == .accepted(seq: Int64(item) + 1), "\(fault)"
      )
    }
    // After a failover that lost what was not said to be durable, everything answered is there.
    bench.server.failOver()
    #expect(bench.server.content.head.seq == 4)
  }

  @Test func `a duplicate of a commit that may be lost is answered after a durable one`() throws {
    let bench = try Bench()
    let (first, second) = (
      try bench.open("first", holdMilliseconds: 0), try bench.open("second")
    )
    #expect(bench.post(5, to: second, at: 0) == .accepted(seq: 1))
    bench.server.plan([.warning])
    #expect(bench.post(0, to: first, at: 0) == .unavailable("shared_journal"))
    #expect(bench.post(0, to: second, at: 1) == .duplicate(seq: 2))
    bench.server.failOver()
    #expect(bench.server.content.head.seq == 2)
  }

  @Test func `what a shared journal forgot is put back at the next start`() throws {
    let bench = try Bench()
    let foreign = try #require(
      bench.fixtures.items.firstIndex { if case .foreign = $0.kind { true } else { false } })
    var digest = ""
    do {
      let ledger = try bench.open("copy")
      #expect(bench.post(0, to: ledger, at: 0) == .accepted(seq: 1))
      #expect(bench.post(1, to: ledger, at: 1) == .accepted(seq: 2))
      #expect(bench.post(foreign, to: ledger, at: 2) == .quarantined("other_app", isNew: true))
      #expect(bench.claim("1000", "ann", ledger) == .accepted(seq: 3))
      digest = try bench.digest(ledger)
      bench.server.forget(commits: 3)
      #expect(bench.server.content.head.seq == 1)
      bench.follow(ledger)
      #expect(ledger.ledger.failure == .sharedDiverged)
      ledger.stop()
    }
    let ledger = try bench.open("copy")
    #expect(bench.server.content.head.seq == 3 && ledger.ledger.seq == 3)
    #expect(ledger.ledger.copy?.regressions.value == 1)
    let reader = try JournalReader.open(bench.folder("copy"))
    #expect(try reader.quarantined(limit: 10).count == 1)
    #expect(try reader.mac(of: CustomerName(.account, "ann")) != nil)
    #expect(try bench.digest(ledger) == digest)
    let names = try FolderListing.names(bench.folder("copy").path)
    #expect(names.contains { $0.hasPrefix("forgotten-") && $0.hasSuffix(".ndjson") })
    #expect(names.contains { $0.hasPrefix("aside-") && !$0.hasSuffix(".pending") })
  }

  /// The chain does not cover dictionaries: the same events can be packed against others.
  @Test func `a copy with the dictionaries of another history is put aside`() throws {
    let bench = try Bench()
    do {
      let ledger = try bench.open("copy")
      #expect(bench.post(0, to: ledger, at: 0) == .accepted(seq: 1))
      ledger.stop()
    }
    bench.server.change { content in
      content.dictionaries = content.dictionaries.map { found in
        let bytes = found.bytes + [0]
        return PackedDictionary(
          id: found.id, headerSHA256: found.headerSHA256, bytes: bytes,
          sha256: SHA256.hash(bytes))
      }
    }
    // Its events were not packed again, so that their bodies are not what their hashes say.
    let ledger = try bench.open("copy")
    #expect(ledger.ledger.seq == 1 && ledger.ledger.copy?.faults.brokenEvents == 1)
    let names = try FolderListing.names(bench.folder("copy").path)
    #expect(names.contains { $0.hasPrefix("aside-") }, "\(names)")
  }

  @Test func `a forgotten account is in no copy and not in the shared journal`() throws {
    let bench = try Bench()
    let (first, second) = (try bench.open("first"), try bench.open("second"))
    #expect(bench.post(0, to: first, at: 0) == .accepted(seq: 1))
    #expect(bench.claim("1000", "customer of the secret name", first) == .accepted(seq: 2))
    bench.follow(second)
    second.ledger.erase(account: "customer of the secret name") { _ in }
    second.work()
    bench.follow(first)
    first.stop()
    second.stop()
    let late = try bench.open("late")
    late.stop()
    let name = Array("customer of the secret name".utf8)
    for folder in ["first", "second", "late"] {
      let bytes = try Scratch.allBytes(in: bench.folder(folder).path)
      #expect(!bytes.contains(name), "\(folder)")
    }
    for note in bench.server.content.notes { #expect(!note.body.contains(name)) }
  }

  @Test func `a duty is taken over when its holder stops`() throws {
    let bench = try Bench()
    let server = bench.server
    func start(_ name: String) throws -> Ledger {
      let access = SharedAccess(openDuties: { InMemoryDutyTable(server) }) {
        InMemorySharedJournal(server)
      }
      return try Ledger.start(bench.folder(name), now: 0, shared: access) { _ in }
    }
    func wait(_ isReached: () -> Bool) -> Bool {
      let deadline = Deadline(milliseconds: 20_000)
      while !isReached(), !deadline.hasPassed { WakeupEvent().wait(milliseconds: 20) }
      return isReached()
    }
    let first = try start("first")
    // Nothing is held, so that there is nothing to judge.
    let lasting = Duty.allCases.filter { $0 != .evidence }
    #expect(wait { first.duties.leased == lasting })
    let second = try start("second")
    first.duties.save([7], of: .recovery)
    #expect(second.duties.leased.allSatisfy { $0 == .evidence })
    first.stop()
    #expect(wait { second.duties.leased == lasting })
    #expect(second.duties.position(.recovery) == [7])
    second.stop()
  }
}
