import AppStore
import Configuration
import JournalStore
import LedgerEngine
import SignedData
import StrictJSON
import Synchronization

/// The pieces of the journal that verifying threads take in turn.
final class ChainWork: Sendable {
  let head: Int64
  private let size: Int64
  private let progress: @Sendable (Int64, Int64) -> Bool
  private let state = Mutex((next: Int64(1), done: Int64(0), isStopped: false))

  /// - Parameters:
  ///   - head: how many there are, counted from 1.
  ///   - size: how many are a piece.
  init(
    head: Int64, size: Int64 = 1000, progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) {
    self.head = head
    self.size = size
    self.progress = progress
  }

  /// The next piece, nil when all are taken or the work was stopped.
  func take() -> ClosedRange<Int64>? {
    state.withLock { state in
      guard state.next <= head, !state.isStopped else { return nil }
      let piece = state.next...min(head, state.next + size - 1)
      state.next = piece.upperBound + 1
      return piece
    }
  }

  func finish(_ piece: ClosedRange<Int64>) {
    let done = state.withLock { state in
      state.done += Int64(piece.count)
      return state.done
    }
    if !progress(done, head) { state.withLock { $0.isStopped = true } }
  }

  var done: Int64 { state.withLock { $0.done } }
  var isStopped: Bool { state.withLock { $0.isStopped } }
}

/// One thread's part of verifying the journal: place, chain, body, columns and signatures of every
/// event (promises 3 and 5).
final class ChainCheck {
  /// How far it looks.
  enum Depth {
    /// Places, hashes, and bodies against their hashes.
    case chain
    /// Columns against bodies too: a backup is held to what was proven when it came in.
    case columns
    /// Every signature too.
    case signatures(TrustRoots)
  }

  private let journal: JournalReader
  private let readsBodies: Bool
  /// Nil where signatures are not asked for.
  private let proof: NotificationProof?
  private let findings: Verify.Findings
  private let bodyHash = BodyHash()
  /// Of the piece at hand: they count once it was read whole.
  private var found: [Verify.Finding] = []

  init(
    _ folder: DataFolder, _ depth: Depth, _ findings: Verify.Findings
  ) throws(VerifyError) {
    journal = try VerifyError.store { () throws(StoreError) in try JournalReader.open(folder) }
    self.findings = findings
    switch depth {
    case .chain: (readsBodies, proof) = (false, nil)
    case .columns: (readsBodies, proof) = (true, nil)
    case .signatures(let roots):
      readsBodies = true
      do throws(ConfigurationError) {
        proof = try NotificationProof(roots)
      } catch {
        throw .configuration(error)
      }
    }
  }

  func run(_ work: ChainWork) throws(VerifyError) {
    while let piece = work.take() {
      try VerifyError.store { () throws(StoreError) in try checkReadable(piece) }
      work.finish(piece)
    }
  }

  /// Of some events alone: each against the hash that is stored before it.
  ///
  /// - Parameter seqs: their places; the work counts them from 1.
  func run(_ work: ChainWork, of seqs: [Int64]) throws(VerifyError) {
    while let piece = work.take() {
      try VerifyError.store { () throws(StoreError) in
        for number in piece { try checkAlone(seqs[Int(number - 1)]) }
      }
      work.finish(piece)
    }
  }

  private func checkAlone(_ seq: Int64) throws(StoreError) {
    // A place that somebody made up may be the least or the greatest number there is.
    guard (1..<Int64.max).contains(seq) else {
      return findings.add(5, seq, "is no place in the journal")
    }
    try checkReadable(seq...seq)
    if try journal.hash(at: seq - 1) == nil { findings.add(5, seq - 1, "missing") }
  }

  /// What cannot be read is found one by one, and the rest is checked all the same.
  private func checkReadable(_ piece: ClosedRange<Int64>) throws(StoreError) {
    found.removeAll()
    do throws(StoreError) {
      try check(piece)
      for finding in found { findings.add(finding) }
    } catch {
      guard case .corrupt = error else { throw error }
      guard piece.count > 1 else {
        return findings.add(
          Verify.Finding(
            promise: 5, seq: piece.lowerBound, what: "cannot be read: the file is damaged"))
      }
      for seq in piece { try checkReadable(seq...seq) }
    }
  }

  private func add(_ promise: Int, _ seq: Int64?, _ what: String) {
    found.append(Verify.Finding(promise: promise, seq: seq, what: what))
  }

  private func check(_ piece: ClosedRange<Int64>) throws(StoreError) {
    var expected = piece.lowerBound
    // Where the event before is gone, its absence is found by whoever has its piece.
    var previous = try journal.hash(at: piece.lowerBound - 1)
    var received = Int64.min
    try journal.forEachRaw(from: piece.lowerBound, through: piece.upperBound) { raw in
      let event = raw.event
      if event.seq != expected {
        add(5, expected, "missing: the next event is seq \(event.seq)")
        previous = nil
      }
      if let previous, !raw.isChained(after: previous) {
        add(5, event.seq, "does not chain: it or its place was changed")
      }
      if event.receivedAt < received {
        add(5, event.seq, "was received before the event before it")
      }
      received = event.receivedAt
      check(raw)
      previous = event.hash
      expected = event.seq + 1
      return true
    }
    if expected <= piece.upperBound { add(5, expected, "missing") }
  }

  private func check(_ raw: RawEvent) {
    let event = raw.event
    let opened = open(raw)
    // Its proof hashed the body on the way.
    guard opened?.bodySHA256 == event.bodySHA256 || raw.isBodyIntact(bodyHash) else {
      return add(5, event.seq, "the body was changed or cannot be read")
    }
    guard readsBodies else { return }
    guard event.source != "v1" else { return checkV1(event) }
    do throws(Refusal) {
      guard let notification = try read(event, opened) else {
        return add(3, event.seq, "the payload is no JSON")
      }
      if let column = Self.differingColumn(event, notification) {
        add(5, event.seq, "column \(column) differs from the body")
      }
    } catch {
      add(3, event.seq, "is not proven: \(error.code)")
    }
  }

  /// Nil where signatures are not asked for, and where the signature is not good: why is said once
  /// it is known that the body is the one that came in.
  private func open(_ raw: RawEvent) -> NotificationProof.Opened? {
    guard let proof, raw.isBodyReadable, raw.event.source != "v1" else { return nil }
    return try? proof.open(raw.event.body[...], at: raw.event.receivedAt)
  }

  private func read(
    _ event: StoredEvent, _ opened: NotificationProof.Opened?
  ) throws(Refusal) -> Notification? {
    guard let proof else { return try JournaledNotification.notification(event.body[...]) }
    let document: JSONDocument?
    if let opened {
      document = opened.document
    } else {
      document = try proof.open(event.body[...], at: event.receivedAt).document
    }
    return try document.map { (document) throws(Refusal) in
      try proof.notification(document, at: event.receivedAt)
    }
  }

  /// V1 was authentic by a secret that nobody kept: what can be checked again is that the columns
  /// and the derived uuid follow from the body.
  private func checkV1(_ event: StoredEvent) {
    guard let root = try? JSONDocument(parsing: event.body).root,
      let notification = try? V1Notification(root)
    else { return add(5, event.seq, "the body is no V1 notification") }
    let body = V1Body(root)
    let isSame =
      body.bytes == event.body && body.uuid.description == event.notificationUUID
      && notification.environment == event.environment
      && notification.notificationType == event.notificationType && event.subtype == nil
      && notification.bundleId ?? event.bundleId == event.bundleId
      && notification.originalTransactionId == event.originalTransactionId
      && notification.evidenceDate == event.signedDate
    if !isSame { add(5, event.seq, "a column differs from the body") }
  }

  private static func differingColumn(
    _ event: StoredEvent, _ notification: Notification
  ) -> String? {
    let payload = notification.payload
    if event.notificationUUID != payload.notificationUUID.description { return "notification_uuid" }
    if event.source != "v2" { return "source" }
    if event.environment != payload.environment { return "environment" }
    if event.bundleId != payload.bundleId { return "bundle_id" }
    if event.notificationType != payload.notificationType { return "notification_type" }
    if event.subtype != payload.subtype { return "subtype" }
    if event.originalTransactionId != notification.identifier { return "original_transaction_id" }
    return event.signedDate == payload.signedDate ? nil : "signed_date_ms"
  }
}

/// What is in quarantine must be genuine too, or it was put there by somebody else (promise 3).
enum QuarantineCheck {
  static func run(
    _ journal: JournalReader, _ configuration: Configuration, _ findings: Verify.Findings
  ) throws(StoreError) {
    guard let proof = try? NotificationProof(configuration.trustRoots) else { return }
    try run(journal, proof, findings)
  }

  /// - Parameter proof: nil where signatures are not asked for.
  static func run(
    _ journal: JournalReader, _ proof: NotificationProof?, _ findings: Verify.Findings
  ) throws(StoreError) {
    var last: Int64 = 0
    while true {
      let piece = try journal.quarantined(after: last, limit: 200)
      for item in piece {
        last = item.id
        guard SHA256.hash(item.body) == item.bodySHA256 else {
          findings.add(5, nil, "quarantine \(item.id): the body was changed")
          continue
        }
        guard let proof, item.source != "v1" else { continue }
        do throws(Refusal) {
          _ = try proof.open(item.body[...], at: item.receivedAt)
        } catch {
          findings.add(3, nil, "quarantine \(item.id) is not proven: \(error.code)")
        }
      }
      if piece.isEmpty { return }
    }
  }
}
