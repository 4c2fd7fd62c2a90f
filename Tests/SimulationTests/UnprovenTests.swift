import AppStore
import AppStoreSimulator
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// What another daemon appends is proven again before it is folded (promise 3, T4).
@Suite struct UnprovenTests {
  private let bench: SharedLedgerTests.Bench
  /// Signs for the attacker, whom nobody else trusts.
  private let other: SimulatedAuthority
  private let others: TrustRoots

  init() throws {
    bench = try SharedLedgerTests.Bench()
    other = try SimulatedAuthority.make()
    others = try TrustRoots(files: [other.root, SharedAuthority.root])
  }

  /// A purchase that gives access for ever.
  private func purchase(_ id: String, uuid: Int, signer: SimulatedAuthority?) throws -> [UInt8] {
    let time = JSONValue.integer(Fixtures.start)
    let transaction = JSONValue.object([
      ("transactionId", .string(id)), ("originalTransactionId", .string(id)),
      ("bundleId", .string(TestLedger.bundleId)), ("productId", .string("lifetime")),
      ("type", .string("Non-Consumable")), ("purchaseDate", time),
      ("originalPurchaseDate", time), ("signedDate", time), ("environment", .string("Production")),
      ("inAppOwnershipType", .string("PURCHASED")), ("quantity", .integer(1)),
    ])
    let notification = JSONValue.object([
      ("notificationType", .string("ONE_TIME_CHARGE")), ("version", .string("2.0")),
      ("notificationUUID", .string("90000000-0000-4000-8000-00000000000\(uuid)")),
      ("signedDate", time),
      (
        "data",
        .object([
          ("bundleId", .string(TestLedger.bundleId)),
          ("appAppleId", .integer(TestLedger.appAppleId)), ("environment", .string("Production")),
          ("transaction", transaction),
        ])
      ),
    ])
    return try signer.map { try $0.sign(notification: notification) }
      ?? SharedAuthority.sign(notification)
  }

  private func received(_ body: [UInt8], trusting roots: TrustRoots) throws -> Receiver.Received {
    var configuration = bench.fixtures.configuration
    configuration.trustRoots = roots
    return try Receiver(configuration).receive(body: body, at: Fixtures.start)
  }

  private func row(_ id: String, _ ledger: DeterministicLedger) throws -> Bool {
    try ledger.prepareProjection { true }
    let key = StreamKey(
      environment: .production, bundleId: TestLedger.bundleId, originalTransactionId: id)
    let journal = try JournalReader.open(ledger.ledger.folder)
    let folded = try ProjectionFolder.refolded(key, through: .max, journal).row.eventCount > 0
    let list = try LedgerReader(ledger.ledger)
    let digest = try list.digest()
    #expect(digest != nil)
    return folded
  }

  @Test func `what a daemon with another trust root appends gives no access elsewhere`() throws {
    let attacker = try bench.open("attacker", trusting: others)
    let forged = try received(
      try purchase("6660", uuid: 1, signer: other), trusting: others)
    #expect(bench.submit(forged, to: attacker) == .accepted(seq: 1))
    #expect(try row("6660", attacker))
    let honest = try bench.open("honest")
    bench.follow(honest)
    #expect(honest.ledger.copy?.faults.unprovenEvents == 1)
    #expect(honest.ledger.copy?.isReady == true && honest.ledger.foldedHead.seq == 1)
    #expect(try !row("6660", honest))
    // The same bytes under the same hash, and the chain goes on.
    #expect(bench.post(0, to: honest, at: 1) == .accepted(seq: 2))
    let genuine = try received(
      try purchase("6660", uuid: 2, signer: nil), trusting: bench.fixtures.configuration.trustRoots)
    #expect(bench.submit(genuine, to: honest) == .accepted(seq: 3))
    #expect(try row("6660", honest))
    let journal = try JournalReader.open(honest.ledger.folder)
    #expect(try journal.hash(at: 1) == bench.server.content.events[0].hash)
    #expect(try journal.faultySeqs(in: 1...3).unproven == [1])
    let key = StreamKey(
      environment: .production, bundleId: TestLedger.bundleId, originalTransactionId: "6660")
    #expect(try journal.payloads(of: key).map(\.seq) == [3])
    let listed = try journal.events(matching: EventFilter(), after: 0, limit: 9).map(\.seq)
    #expect(listed == [2, 3])
    #expect(try journal.messageEvents(after: 0, through: 3, limit: 9).map(\.seq) == [2, 3])
    #expect(honest.ledger.liveProjection.state == .following)
    bench.follow(attacker)
    #expect(attacker.ledger.copy?.faults == CopyFaults.none)
  }

  @Test func `a genuine body under columns that it does not say is not proven`() throws {
    let first = try bench.open("first")
    #expect(bench.post(0, to: first, at: 0) == .accepted(seq: 1))
    bench.server.change { content in
      let event = content.events[0]
      var envelope = event.envelope
      envelope.originalTransactionId = "6661"
      content.events[0] = PackedEvent(
        seq: 1, envelope: envelope, bodySHA256: event.bodySHA256, hash: event.hash,
        dictionary: event.dictionary, body: event.body)
    }
    let honest = try bench.open("honest")
    #expect(honest.ledger.copy?.faults.unprovenEvents == 1)
    #expect(try !row("6661", honest))
  }

  @Test func `what is proven by roots that were added since is folded at the next start`() throws {
    let attacker = try bench.open("attacker", trusting: others)
    let early = try received(try purchase("6662", uuid: 3, signer: other), trusting: others)
    #expect(bench.submit(early, to: attacker) == .accepted(seq: 1))
    #expect(bench.post(0, to: attacker, at: 1) == .accepted(seq: 2))
    do {
      let late = try bench.open("late")
      #expect(late.ledger.copy?.faults.unprovenEvents == 1)
      #expect(try !row("6662", late))
      late.stop()
    }
    let late = try bench.open("late", trusting: others)
    #expect(late.ledger.copy?.faults == CopyFaults.none)
    #expect(try row("6662", late))
    #expect(try bench.digest(late) == bench.digest(attacker))
  }

  @Test func `held evidence that is not proven is skipped`() throws {
    let first = try bench.open("first")
    #expect(bench.post(0, to: first, at: 0) == .accepted(seq: 1))
    let body = Array(
      """
      {"columns":{"arrival":"asked","body":{"base64":"AGE="},"body_sha256":{"base64":\
      "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3hZr7SLs="},"dictionary_id":null,\
      "notification_uuid":{"base64":"AAAAAAAAAAAAAAAAAAAAAA=="},"received_at_ms":1,\
      "signed_date_ms":1,"source":"transaction","transaction_id":"1"},"stream":\
      {"environment":"Production","bundle_id":"b","original_transaction_id":"1"}}
      """.utf8)
    bench.server.change { content in
      let note = Note(
        version: content.head.notes + 1, subject: "held_evidence/1", sha256: SHA256.hash(body),
        body: body)
      content.notes.append(note)
      content.head.notesHash = note.chain(after: content.head.notesHash)
      content.head.notes += 1
    }
    let honest = try bench.open("honest")
    #expect(honest.ledger.copy?.faults.skippedNotes == 1)
    #expect(try JournalReader.open(honest.ledger.folder).heldEvidenceCount() == 0)
    #expect(bench.post(1, to: honest, at: 1) == .accepted(seq: 2))
  }

  @Test func `a daemon with other roots than the owner says does not start`() throws {
    bench.server.trust(bench.fixtures.configuration.trustRoots.fingerprints)
    let honest = try bench.open("honest")
    #expect(bench.post(0, to: honest, at: 0) == .accepted(seq: 1))
    func refusal() -> LedgerError? {
      do { _ = try bench.open("attacker", trusting: others) } catch { return error as? LedgerError }
      return nil
    }
    for _ in 0..<2 {
      let refusal = try #require(refusal(), "it starts")
      #expect(refusal.code == .sharedOtherRoots && refusal.detail.hasPrefix("here alone: "))
    }
    // One that was away when it started appends nothing, and says why.
    bench.server.trust([])
    try bench.open("attacker", trusting: others).stop()
    bench.server.setDown(true)
    let attacker = try bench.open("attacker", trusting: others)
    bench.server.setDown(false)
    bench.server.trust(bench.fixtures.configuration.trustRoots.fingerprints)
    #expect(bench.post(1, to: attacker, at: 1) == .unavailable("shared_journal"))
    #expect(attacker.ledger.copy?.failure?.code == .sharedOtherRoots)
    #expect(attacker.ledger.copy?.isReady == false && attacker.ledger.failure == nil)
  }
}
