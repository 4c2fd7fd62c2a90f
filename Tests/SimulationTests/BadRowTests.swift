import AppStore
import Ledger
import Platform
import Queries
import SignedData
import Store
import Support
import Testing

/// Rows of a shared journal that no program of ours wrote: they end no daemon, and are loud.
@Suite struct BadRowTests {
  /// Two ledgers that have the same first event.
  private let bench: SharedLedgerTests.Bench
  private let pair: Pair

  private final class Pair {
    var all: [DeterministicLedger] = []
    var first: DeterministicLedger { all[0] }
    var second: DeterministicLedger { all[1] }

    func stop() {
      for ledger in all { ledger.stop() }
      all = []
    }
  }

  init() throws {
    bench = try SharedLedgerTests.Bench()
    pair = Pair()
    pair.all = try ["first", "second"].map { [bench] name in try bench.open(name) }
    #expect(bench.post(0, to: pair.first, at: 0) == .accepted(seq: 1))
    bench.follow(pair.second)
    for ledger in pair.all { try ledger.prepareProjection { true } }
  }

  /// The event at the head, with another uuid and body.
  private func forged(
    after head: JournalPosition, like event: PackedEvent, body: [UInt8]
  ) -> PackedEvent {
    var envelope = event.envelope
    envelope.notificationUUID = NotificationUUID(high: 1, low: UInt64(head.seq))
    envelope.receivedAt = head.receivedAt ?? 0
    func make(_ hash: [UInt8]) -> PackedEvent {
      PackedEvent(
        seq: head.seq + 1, envelope: envelope, bodySHA256: SHA256.hash([1]), hash: hash,
        dictionary: nil, body: body)
    }
    return make(make([]).link.hash(after: head.hash))
  }

  private func add(_ event: PackedEvent) {
    bench.server.change { content in
      content.events.append(event)
      (content.head.seq, content.head.hash) = (event.seq, event.hash)
      content.head.receivedAt = event.receivedAt
    }
  }

  @Test func `a broken event and a bad note are followed, and all go on`() throws {
    let content = bench.server.content
    add(forged(after: content.head, like: content.events[0], body: [1, 0xFF]))
    bench.server.change { content in
      let body = Array("no JSON".utf8)
      let note = Note(
        version: content.head.notes + 1, subject: "account/1", sha256: SHA256.hash(body),
        body: body)
      content.notes.append(note)
      (content.head.notes, content.head.notesHash) = (
        note.version, note.chain(after: content.head.notesHash)
      )
    }
    bench.follow(pair.second)
    #expect(bench.post(1, to: pair.first, at: 1) == .accepted(seq: 3))
    bench.follow(pair.second)
    for ledger in pair.all {
      #expect(ledger.ledger.failure == nil && ledger.ledger.copy?.isReady == true)
      let faults = ledger.ledger.copy?.faults
      #expect(faults?.brokenEvents == 1 && faults?.skippedNotes == 1)
      #expect(ledger.ledger.foldedHead.seq == 3)
    }
    #expect(try bench.digest(pair.first) == bench.digest(pair.second))
    // One starts again with it, and a new one follows it.
    pair.stop()
    pair.all = try ["first", "third"].map { try bench.open($0) }
    for ledger in pair.all { bench.follow(ledger) }
    #expect(try bench.digest(pair.first) == bench.digest(pair.second))
    #expect(bench.post(2, to: pair.second, at: 2) == .accepted(seq: 4))
  }

  @Test(arguments: ["hash", "head", "notes"])
  func `what does not continue the copy is a state, named at once, and reads go on`(
    kind: String
  ) throws {
    let good = bench.server.content
    switch kind {
    case "hash":
      let event = forged(after: good.head, like: good.events[0], body: [])
      var head = good.head
      head.hash[0] ^= 1
      add(forged(after: head, like: event, body: []))
    case "head": bench.server.change { $0.head = .origin }
    default: bench.server.change { $0.head.notesHash[0] ^= 1 }
    }
    bench.follow(pair.second)
    #expect(bench.post(1, to: pair.first, at: 1) == .unavailable("shared_journal"))
    for ledger in pair.all {
      #expect(ledger.ledger.failure == nil && ledger.ledger.copy?.isReady == false)
      guard ledger.ledger.copy?.failure?.code == .sharedBroken else {
        Issue.record("\(String(describing: ledger.ledger.copy?.failure))")
        continue
      }
      #expect(ledger.ledger.foldedHead.seq == 1)
    }
    // It starts with it, too.
    pair.stop()
    pair.all = try ["first", "second"].map { try bench.open($0) }
    #expect(pair.all.allSatisfy { $0.ledger.copy?.isReady == false && $0.ledger.failure == nil })
    bench.server.change { $0 = good }
    bench.follow(pair.second)
    #expect(pair.second.ledger.copy?.isReady == true)
    #expect(bench.post(1, to: pair.first, at: 1) == .accepted(seq: 2))
  }
}
