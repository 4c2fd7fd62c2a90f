import AppStore
import Entitlements
import Ledger
import Platform
import SignedData
import Store
import StrictJSON

/// One thread's part of verifying the journal: seq, chain, body, columns and signatures of every
/// event (promises 3 and 5).
final class ChainCheck {
  /// What is checked of each event.
  enum Depth {
    /// Seqs, hashes, and bodies against their hashes.
    case chain
    /// Also columns against bodies. Enough for a backup, whose signatures were proven on receipt.
    case columns
    /// Also every signature.
    case signatures(TrustRoots)
  }

  private let journal: JournalReader
  private let readsBodies: Bool
  /// Nil if signatures are not to be checked.
  private let proof: NotificationProof?
  private let bodies: EventProof
  private let run: CheckRun
  private let bodyHash = BodyHash()
  /// Findings of the current batch. They are dropped if it cannot be read to its end, because the
  /// batch is then checked again event by event.
  private var batchFindings: [Finding] = []
  /// The seq from which on a V1 event must be filed as this build does.
  private var v1FiledFrom = Int64.max
  /// The events of the current batch that this copy marked when it followed them.
  private var faulty: (broken: Set<Int64>, unproven: Set<Int64>) = ([], [])
  /// Whether such events are no findings: a backup has them as its folder has.
  private let acceptsFaulty: Bool
  /// The owner's statements of the current batch.
  private var statements: [(seq: Int64, mac: [UInt8])] = []

  init(_ run: CheckRun) throws(LedgerError) {
    self.run = run
    journal = try JournalReader.open(run.folder)
    proof = try run.proof()
    switch run.depth {
    case .chain: (readsBodies, acceptsFaulty) = (false, false)
    case .columns: (readsBodies, acceptsFaulty) = (true, true)
    case .signatures: (readsBodies, acceptsFaulty) = (true, false)
    }
    bodies = try EventProof(proof)
  }

  /// Checks the batches of the whole journal until none is left.
  func run(_ work: ChainWork) throws(LedgerError) {
    while let batch = work.nextBatch() {
      try checkReadable(batch)
      work.finish(batch)
    }
  }

  /// Checks some events alone, each against the stored hash of the event before it.
  ///
  /// - Parameter seqs: the events; the work counts them from 1.
  func run(_ work: ChainWork, of seqs: [Int64]) throws(LedgerError) {
    while let batch = work.nextBatch() {
      for number in batch { try checkAlone(seqs[Int(number - 1)]) }
      work.finish(batch)
    }
  }

  private func checkAlone(_ seq: Int64) throws(LedgerError) {
    // A forged seq may be the least or the greatest number, where seq - 1 and seq + 1 overflow.
    guard (1..<Int64.max).contains(seq) else {
      return run.add(5, seq, "is not a valid seq")
    }
    try checkReadable(seq...seq)
    if try journal.hash(at: seq - 1) == nil { run.add(5, seq - 1, "missing") }
  }

  /// Checks a batch. If it cannot be read, its events are checked one by one, so that only those
  /// that are damaged are left out.
  private func checkReadable(_ batch: ClosedRange<Int64>) throws(LedgerError) {
    batchFindings.removeAll()
    statements.removeAll()
    do throws(LedgerError) {
      try check(batch)
      for finding in batchFindings { run.add(finding.promise, finding.seq, finding.what) }
    } catch {
      guard error.code == .corrupt else { throw error }
      guard batch.count > 1 else {
        return run.add(5, batch.lowerBound, "cannot be read: the file is damaged")
      }
      for seq in batch { try checkReadable(seq...seq) }
    }
  }

  private func add(_ promise: Int, _ seq: Int64?, _ what: String) {
    batchFindings.append(Finding(promise: promise, seq: seq, what: what))
  }

  private func check(_ batch: ClosedRange<Int64>) throws(LedgerError) {
    var expected = batch.lowerBound
    // Nil if the event before the batch is missing; the check of that event's batch reports it.
    var previous = try journal.hash(at: batch.lowerBound - 1)
    var lastReceivedAt = Int64.min
    var renewals: [StoredEvent] = []
    v1FiledFrom = try journal.v1FiledFrom()
    faulty = try journal.faultySeqs(in: batch)
    try journal.forEachRaw(from: batch.lowerBound, through: batch.upperBound) { raw in
      let event = raw.event
      if event.seq != expected {
        add(5, expected, "missing: the next event is seq \(event.seq)")
        previous = nil
      }
      if let previous, !raw.isChained(after: previous) {
        add(5, event.seq, "does not chain: the event or its seq was changed")
      }
      if event.receivedAt < lastReceivedAt {
        add(5, event.seq, "has an earlier receive time than the event before it")
      }
      lastReceivedAt = event.receivedAt
      check(raw)
      if readsBodies, event.source.isSigned, !event.source.namesApp { renewals.append(event) }
      previous = event.hash
      expected = event.seq + 1
      return true
    }
    if expected <= batch.upperBound { add(5, expected, "missing") }
    for item in statements where try !journal.isFound(item.seq, by: item.mac) {
      add(5, item.seq, "is not found by whom it is about")
    }
    for event in renewals where try !journal.hasTransaction(event.streamKey, before: event.seq) {
      add(3, event.seq, "is renewal information of a customer without a transaction before it")
    }
  }

  private func check(_ raw: RawEvent) {
    let event = raw.event
    if acceptsFaulty, faulty.broken.contains(event.seq) || faulty.unproven.contains(event.seq) {
      return
    }
    let proven = prove(raw)
    // The proof computed the body's hash, so a proven body is not hashed again.
    guard proven?.bodySHA256 == event.bodySHA256 || raw.isBodyIntact(bodyHash) else {
      return add(
        5, event.seq,
        faulty.broken.contains(event.seq)
          ? "the body is not what its hash says: another daemon wrote it so"
          : "the body was changed or cannot be read")
    }
    guard readsBodies else { return }
    do throws(Refusal) {
      let envelope = try bodies.envelope(
        of: event.body, filed: event.envelope, isFormer: event.seq < v1FiledFrom, known: proven)
      if let column = event.envelope.columnDiffering(from: envelope) {
        add(5, event.seq, "column \(column) differs from the body")
      } else if proof != nil, faulty.unproven.contains(event.seq) {
        add(7, event.seq, "is proven and marked as unproven; start the daemon again")
      }
    } catch {
      if event.source.isSigned {
        add(3, event.seq, "is not proven: \(error.code)")
      } else {
        add(5, event.seq, "the body is not of the source \(event.source)")
      }
    }
    note(event)
  }

  /// Proves the body of a JWS; nil if signatures are not to be checked, or if it is not proven.
  /// `EventProof` proves it again for the reason, once the body is known to match its hash.
  private func prove(_ raw: RawEvent) -> NotificationProof.ProvenJWS? {
    guard let proof, raw.isBodyReadable, raw.event.source.form == .jws else { return nil }
    return try? proof.prove(raw.event.body[...], at: raw.event.receivedAt)
  }

  /// What is checked beside the columns: what the receipt in a V1 body proves, and, with the whole
  /// batch, that a statement is found by whom it is about.
  private func note(_ event: StoredEvent) {
    if event.source.isOwners, let statement = OwnerStatement(body: event.body) {
      statements.append((event.seq, statement.mac))
    }
    guard event.source.form == .v1, proof != nil else { return }
    let receipt = V1Receipt(
      in: event.body, of: event.originalTransactionId, bodies.receipts, at: event.receivedAt)
    for finding in receipt?.findings ?? [] { add(3, event.seq, finding) }
  }
}

extension Check {
  /// Seqs are dense, and every event is what the chain, its body and its signature say.
  ///
  /// - Parameter others: checked on one more thread meanwhile.
  static func chain(beside others: [Check] = []) -> Check {
    Check { (journal, run) throws(LedgerError) in
      let work = ChainWork(head: try checkDensity(journal, run), run.shouldContinue)
      try VerifyThreads.run(run.threads + (others.isEmpty ? 0 : 1)) {
        (thread) throws(LedgerError) in
        if thread == 0, !others.isEmpty {
          try run.run(others)
        } else {
          try ChainCheck(run).run(work)
        }
      }
      run.report { $0.events = work.done }
    }
  }

  /// Checks that seqs are dense. An event behind a gap is a finding, and the chain is walked only
  /// as far as there are events, because a forged seq may be as far away as 2^63 - 1.
  ///
  /// - Returns: the last seq to walk to.
  private static func checkDensity(
    _ journal: JournalReader, _ run: CheckRun
  ) throws(LedgerError) -> Int64 {
    // One snapshot for all three queries, because a daemon may append meanwhile.
    try journal.beginSnapshot()
    defer { journal.endSnapshot() }
    let head = try journal.head().seq
    let count = try journal.eventCount()
    if head < count { run.add(5, head, "is the last seq, but there are \(count) events") }
    for seq in try journal.seqs(after: count, limit: Findings.maximum) {
      run.add(5, seq, "leaves a gap before it: there are only \(count) events")
    }
    return min(head, count)
  }
}

extension JournalReader {
  /// Whether an event before a seq carries a transaction of the stream. The app of renewal
  /// information follows from it alone (promise 3). That its event is proven is checked there.
  func hasTransaction(_ stream: StreamKey?, before seq: Int64) throws(LedgerError) -> Bool {
    guard let stream else { return false }
    return try hasPayload(of: stream, through: seq - 1) { payload in
      let event = try? JournaledNotification.foldEvent(payload)
      return event?.transactions.isEmpty == false
    }
  }
}
