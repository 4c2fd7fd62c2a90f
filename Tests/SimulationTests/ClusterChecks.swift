import Entitlements
import JournalStore
import LedgerEngine
import LedgerQueries
import SignedData
import Support

/// What the checks remember of a history.
struct Seen {
  /// The journal, as it was last read.
  var journal: [StoredEvent] = []
  var places: [String: Int64] = [:]
  var folds: [StreamKey: [FoldEvent]] = [:]
  /// Items that came through the door at least once.
  var sent: Set<Int> = []
  /// Answers that were not held to the journal yet.
  var answers: [(item: Int, entry: OutcomeLog.Entry)] = []
  var accepted: [String: Int64] = [:]
  /// How often an event was answered as one that is there.
  var repeats: [Int64: Int64] = [:]
  /// Whether the process is another one than at the last check.
  var isFresh = true
  var reader: LedgerReader?
  /// Streams of which something came since their rows were checked.
  var changed: Set<StreamKey> = []
  var chance = Chance(seed: 1)
}

extension SimulatedCluster {
  /// The promises, as far as they can be told after one step.
  func check() throws {
    guard let ledger else { throw Broken("nothing runs") }
    if seen.isFresh || seen.reader == nil {
      seen.reader = nil
      seen.reader = try LedgerReader(ledger.ledger, durations: [:])
      try checkAgain()
      seen.isFresh = false
    }
    try readOn()
    try checkAnswers()
    try checkRows()
  }

  private func journal() throws -> JournalReader {
    guard let reader = seen.reader else { throw Broken("there is no reader") }
    return reader.journal
  }

  /// After a start: what was there is there, to the bit (promises 1, 2, 5).
  private func checkAgain() throws {
    let found = try journal().events(after: 0, limit: seen.journal.count)
    guard found == seen.journal else { throw Broken("a start changed what was journaled") }
    seen.changed = Set(seen.folds.keys)
  }

  /// New events: dense, chained, ours, sent, once (promises 3, 4, 5).
  private func readOn() throws {
    for event in try journal().events(after: Int64(seen.journal.count), limit: 1_000) {
      let previous = seen.journal.last
      guard event.seq == Int64(seen.journal.count) + 1 else { throw Broken("seq \(event.seq)") }
      guard event.hash == PlainChain.hash(after: previous?.hash, event) else {
        throw Broken("the chain breaks at seq \(event.seq)")
      }
      guard event.receivedAt >= previous?.receivedAt ?? .min else {
        throw Broken("the receive time falls at seq \(event.seq)")
      }
      guard seen.places[event.notificationUUID] == nil else {
        throw Broken("seq \(event.seq) is journaled twice")
      }
      try checkOrigin(event)
      seen.journal.append(event)
      seen.places[event.notificationUUID] = event.seq
    }
  }

  private func checkOrigin(_ event: StoredEvent) throws {
    for place in seen.sent {
      guard case .event(let new, let stream, let fold) = mail.items[place].kind,
        new.body == event.body
      else { continue }
      guard new.notificationUUID == event.notificationUUID, new.source == event.source,
        new.notificationType == event.notificationType, new.signedDate == event.signedDate,
        new.bodySHA256 == event.bodySHA256, SHA256.hash(event.body) == event.bodySHA256,
        stream == event.streamKey
      else { throw Broken("seq \(event.seq) is not as it was sent") }
      if let stream, var fold {
        fold.seq = event.seq
        seen.folds[stream, default: []].append(fold)
        seen.changed.insert(stream)
      }
      return
    }
    throw Broken("seq \(event.seq) was never sent")
  }

  /// An answer of 200 means that it is journaled, and synced (promise 1).
  private func checkAnswers() throws {
    for (item, entry) in seen.answers {
      let item = mail.items[item]
      switch entry.outcome {
      case .accepted(let seq):
        if entry.wasUnsynced { throw Broken("\(item.name) was answered before it was synced") }
        try checkAccepted(item, seq)
        if seen.journal[Int(seq) - 1].body != item.event?.body {
          throw Broken("\(item.name) was taken for another")
        }
        if seen.accepted.updateValue(seq, forKey: item.name) != nil {
          throw Broken("\(item.name) was new twice")
        }
      case .duplicate(let seq):
        try checkAccepted(item, seq)
        seen.repeats[seq, default: 0] += 1
      case .conflict(let seq):
        try checkAccepted(item, seq)
        try checkQuarantined(item)
      case .quarantined:
        guard case .foreign = item.kind else { throw Broken("\(item.name) is in quarantine") }
        try checkQuarantined(item)
      case .unavailable: break
      case .receiveTimeBehind, .skipped: throw Broken("\(item.name): \(entry.outcome)")
      }
    }
    seen.answers.removeAll()
  }

  private func checkAccepted(_ item: Fixtures.Item, _ seq: Int64) throws {
    guard let event = item.event, seen.places[event.notificationUUID] == seq else {
      throw Broken("\(item.name) was answered \(seq) and is not there")
    }
  }

  private func checkQuarantined(_ item: Fixtures.Item) throws {
    let digest: [UInt8]
    switch item.kind {
    case .event(let event, _, _): digest = event.bodySHA256
    case .foreign(let kept): digest = kept.bodySHA256
    case .nothing: throw Broken("\(item.name) was let in")
    }
    let kept = try journal().quarantined(limit: 1_000).count { $0.bodySHA256 == digest }
    guard kept == 1 else { throw Broken("\(item.name) is \(kept) times in quarantine") }
  }

  // MARK: Rows

  /// Rows are what the journal's events come to, in any order, and are never older than an answer
  /// (promises 6, 7). While they are not ready they say so.
  private func checkRows() throws {
    guard let reader = seen.reader else { return }
    let rows: ProjectionReader
    do throws(LedgerReader.Failure) {
      rows = try reader.rows()
    } catch {
      guard mayLackRows else { throw Broken("rows cannot be read: \(error)") }
      return
    }
    for key in seen.changed { try checkRow(key, rows, reader) }
    seen.changed.removeAll()
  }

  private func checkRow(
    _ key: StreamKey, _ rows: ProjectionReader, _ reader: LedgerReader
  ) throws {
    let events = seen.folds[key] ?? []
    var state = StreamState()
    for event in events.shuffled(using: &seen.chance) { state.evolve(event) }
    guard let row = try rows.row(of: key) else { throw Broken("\(key) has no row") }
    guard row.state == state.encoded(), row.lastSeq == state.lastEvent?.seq, row.broken == nil
    else { throw Broken("the row of \(key) is not what its events come to") }
    var plain = PlainRow(events: events, t: 0)
    for weeks in [Int64(0), 3, 6, 40] {
      plain.t = Fixtures.start + weeks * 7 * 86_400_000
      let shown = EntitlementRow(decoding: row.state, lastSeq: row.lastSeq)?
        .entitlement(at: plain.t, durations: [:])
      guard shown?.words == plain.words else {
        throw Broken(
          "\(key) at week \(weeks)\nis    \(shown?.words ?? "-")\nplain \(plain.words ?? "-")")
      }
    }
    let question = LedgerReader.Question(now: plain.t)
    let answer = try reader.entitlement(
      key.originalTransactionId, environment: key.environment, bundleId: key.bundleId, question)
    guard answer?.eventCount == Int64(events.count) else {
      throw Broken("\(key) is answered with \(answer?.eventCount ?? 0) of \(events.count) events")
    }
  }

  // MARK: The end

  /// Whatever happened: what Apple sent is journaled, or kept where it was not for us (promise 2);
  /// nothing else is; and deleted rows come back as they were (promise 7).
  func checkEnd() throws {
    for item in course.posts.map({ mail.items[$0.item] }) {
      switch item.kind {
      case .event(let event, _, _):
        guard let seq = seen.places[event.notificationUUID] else {
          throw Broken("\(item.name) is lost")
        }
        if seen.journal[Int(seq) - 1].body != event.body { try checkQuarantined(item) }
      case .foreign: try checkQuarantined(item)
      case .nothing: break
      }
    }
    try checkRepeats()
    let digest = try seen.reader?.digest()
    if seen.chance.once(in: 8) || course.steps.count % 8 == 0 {
      seen.reader = nil
      ledger?.stop()
      ledger = nil
      try deleteRows(course.posts.count % 2 == 0)
    }
    try restart()
    guard try seen.reader?.digest() == digest else { throw Broken("the rows came back other ones") }
  }

  /// No more is counted than came again; a crash may lose counts.
  private func checkRepeats() throws {
    for key in seen.folds.keys {
      for (seq, counted) in try journal().redeliveries(of: key) {
        let known = seen.repeats[seq] ?? 0
        guard counted.count <= known else {
          throw Broken("seq \(seq) came again \(known) times, and \(counted.count) are counted")
        }
      }
    }
  }
}

/// The chain, computed a second time as the contract of `journal_v1` says.
enum PlainChain {
  static func hash(after previous: [UInt8]?, _ event: StoredEvent) -> [UInt8] {
    var bytes = Array("subledger.journal.v1".utf8) + [0]
    bytes += previous ?? [UInt8](repeating: 0, count: 32)
    bytes += number(event.seq, 8) + number(event.receivedAt, 8)
    for text in [event.notificationUUID, event.source] {
      bytes += number(Int64(text.utf8.count), 4) + Array(text.utf8)
    }
    return SHA256.hash(bytes + SHA256.hash(event.body))
  }

  private static func number(_ value: Int64, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (Int64($0) * 8)) }
  }
}
