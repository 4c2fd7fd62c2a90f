import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import Support

/// What the checks have observed so far.
struct Observations {
  /// The journal as it was last read.
  var journal: [StoredEvent] = []
  var seqs: [NotificationUUID: Int64] = [:]
  var folds: [StreamKey: [FoldEvent]] = [:]
  /// Items that were received at least once.
  var sent: Set<Int> = []
  /// Answers that were not compared with the journal yet.
  var answers: [(item: Int, entry: OutcomeLog.Entry)] = []
  var accepted: [String: Int64] = [:]
  /// How often each event was answered as a duplicate, by seq.
  var repeats: [Int64: Int64] = [:]
  /// Whether the process was started after the last check.
  var isFresh = true
  var reader: LedgerReader?
  /// Streams with new events since their rows were checked.
  var changed: Set<StreamKey> = []
  var chance = SplitMix64(seed: 1)
}

extension SimulatedCluster {
  /// Checks the promises that can be checked after each step.
  func check() throws {
    guard let ledger else { throw Violation("no ledger is running") }
    if observed.isFresh || observed.reader == nil {
      observed.reader = nil
      observed.reader = try LedgerReader(ledger.ledger)
      try checkPreserved()
      observed.isFresh = false
    }
    try checkNewEvents()
    try checkAnswers()
    try checkRows()
  }

  private func journal() throws -> JournalReader {
    guard let reader = observed.reader else { throw Violation("there is no reader") }
    return reader.journal
  }

  /// After a start: the journal has every earlier event unchanged (promises 1, 2, 5).
  private func checkPreserved() throws {
    let found = try journal().events(after: 0, limit: observed.journal.count)
    guard found == observed.journal else { throw Violation("a start changed what was journaled") }
    observed.changed = Set(observed.folds.keys)
  }

  /// New events are dense and chained, and each was sent and is journaled once (promises 3, 4, 5).
  private func checkNewEvents() throws {
    for event in try journal().events(after: Int64(observed.journal.count), limit: 1_000) {
      let previous = observed.journal.last
      guard event.seq == Int64(observed.journal.count) + 1 else {
        throw Violation("seq \(event.seq)")
      }
      guard event.hash == PlainChain.hash(after: previous?.hash, event) else {
        throw Violation("the chain breaks at seq \(event.seq)")
      }
      guard event.receivedAt >= previous?.receivedAt ?? .min else {
        throw Violation("the receive time falls at seq \(event.seq)")
      }
      guard observed.seqs[event.notificationUUID] == nil else {
        throw Violation("seq \(event.seq) is journaled twice")
      }
      try checkOrigin(event)
      observed.journal.append(event)
      observed.seqs[event.notificationUUID] = event.seq
    }
  }

  private func checkOrigin(_ event: StoredEvent) throws {
    for index in observed.sent {
      guard case .event(let new, let received) = fixtures.items[index].kind,
        new.body == event.body
      else { continue }
      guard new.notificationUUID == event.notificationUUID, new.source == event.source,
        new.notificationType == event.notificationType, new.signedDate == event.signedDate,
        new.bodySHA256 == event.bodySHA256, SHA256.hash(event.body) == event.bodySHA256,
        received.stream == event.streamKey
      else { throw Violation("seq \(event.seq) is not as it was sent") }
      if let stream = received.stream, let fold = received.foldEvent(seq: event.seq) {
        observed.folds[stream, default: []].append(fold)
        observed.changed.insert(stream)
      }
      return
    }
    throw Violation("seq \(event.seq) was never sent")
  }

  /// An answer of 200 means that the event is journaled and synced (promise 1).
  private func checkAnswers() throws {
    for (item, entry) in observed.answers {
      let item = fixtures.items[item]
      switch entry.outcome {
      case .accepted(let seq):
        if entry.wasUnsynced { throw Violation("\(item.name) was answered before it was synced") }
        try checkAccepted(item, seq)
        if observed.journal[Int(seq) - 1].body != item.event?.body {
          throw Violation("\(item.name) was mistaken for another")
        }
        if observed.accepted.updateValue(seq, forKey: item.name) != nil {
          throw Violation("\(item.name) was accepted twice")
        }
      case .duplicate(let seq):
        try checkAccepted(item, seq)
        observed.repeats[seq, default: 0] += 1
      case .held, .noPurchases:
        throw Violation("\(item.name) is no evidence")
      case .conflict(let seq):
        try checkAccepted(item, seq)
        try checkQuarantined(item)
      case .quarantined, .quarantineFull:
        guard case .foreign = item.kind else { throw Violation("\(item.name) is in quarantine") }
        try checkQuarantined(item)
      case .refused(.unavailable): break
      case .skipped, .refused:
        throw Violation("\(item.name): \(entry.outcome)")
      }
    }
    observed.answers.removeAll()
  }

  private func checkAccepted(_ item: Fixtures.Item, _ seq: Int64) throws {
    guard let event = item.event, observed.seqs[event.notificationUUID] == seq else {
      throw Violation("\(item.name) was answered \(seq) and is not there")
    }
  }

  private func checkQuarantined(_ item: Fixtures.Item) throws {
    let digest: [UInt8]
    switch item.kind {
    case .event(let event, _): digest = event.bodySHA256
    case .foreign(let quarantined): digest = quarantined.bodySHA256
    case .refused: throw Violation("\(item.name) was not refused")
    }
    let count = try journal().quarantined(limit: 1_000).count { $0.bodySHA256 == digest }
    guard count == 1 else { throw Violation("\(item.name) is \(count) times in quarantine") }
  }

  // MARK: Projection

  /// The rows are the fold of the journal's events in any order, and are never older than an answer
  /// (promises 6, 7). Reads of one customer lack nothing in any state of the projection, and lists
  /// nothing in any state in which they are answered.
  private func checkRows() throws {
    guard let reader = observed.reader, let ledger else { return }
    guard ledger.hasProjection || mayLackRows else {
      throw Violation("the projection is \(ledger.ledger.liveProjection.state)")
    }
    for key in observed.changed { try checkAnswer(key, reader) }
    try checkLists(reader)
    guard ledger.hasProjection else { return }
    let rows = try reader.projection()
    for key in observed.changed { try checkRow(key, rows) }
    observed.changed.removeAll()
  }

  /// Times at which answers are compared. The last is past every time that the columns of a
  /// projection were evaluated for.
  private static let times = [Int64(0), 3, 6, 40, 1_000].map {
    Fixtures.start + $0 * 7 * 86_400_000
  }

  private func checkRow(_ key: StreamKey, _ rows: ProjectionReader) throws {
    let events = observed.folds[key] ?? []
    var state = StreamState()
    for event in events.shuffled(using: &observed.chance) { state.evolve(event) }
    guard try rows.isIndexed(key), let row = try rows.row(of: key) else {
      throw Violation("\(key) has no row")
    }
    let stored = try rows.streams(withOriginalTransactionId: key.originalTransactionId)
      .first { $0.key == key }
    guard stored == FoldedStream(key, state), row == stored?.projected else {
      throw Violation("the row of \(key) is not the fold of its events")
    }
    var plain = PlainRow(events: events, t: 0)
    for time in Self.times {
      plain.t = time
      let shown = row.row.entitlement(at: time)
      guard shown?.summary == plain.summary else {
        throw Violation(
          "\(key) at \(time)\nis    \(shown?.summary ?? "-")\nplain \(plain.summary ?? "-")")
      }
    }
  }

  private func checkAnswer(_ key: StreamKey, _ reader: LedgerReader) throws {
    let events = observed.folds[key] ?? []
    var plain = PlainRow(events: events, t: 0)
    for time in Self.times {
      plain.t = time
      let answer = try reader.entitlement(
        key.originalTransactionId, environment: key.environment, bundleId: key.bundleId,
        LedgerReader.Question(now: time))
      guard answer?.eventCount == Int64(events.count),
        answer?.entitlement.summary == plain.summary
      else {
        throw Violation(
          "\(key) is answered with \(answer?.eventCount ?? 0) of \(events.count) events")
      }
    }
  }

  /// A list by each status, at a time before and at a time after the columns were evaluated.
  private func checkLists(_ reader: LedgerReader) throws {
    for time in Self.times.suffix(2) {
      var found: [String: Int64] = [:]
      for status in LedgerReader.Filter.statusNames {
        var filter = LedgerReader.Filter()
        filter.setStatuses(status)
        do throws(LedgerError) {
          let page = try reader.list(
            filter, after: nil, limit: 100, LedgerReader.Question(now: time))
          for row in page.rows { found["\(row.key) \(status)"] = row.eventCount }
        } catch {
          let isUnreadable = ProjectionState(rawValue: error.detail)?.isReadable == false
          guard error.code == .notReady, isUnreadable, mayLackRows else {
            throw Violation("a list cannot be read: \(error) (\(error.detail))")
          }
          return
        }
      }
      var expected: [String: Int64] = [:]
      for (key, events) in observed.folds {
        let summary = PlainRow(events: events, t: time).summary
        guard let status = summary?.split(separator: " ").first else { continue }
        expected["\(key) \(status)"] = Int64(events.count)
      }
      guard found == expected else {
        throw Violation("the lists at \(time)\nare \(found)\nnot \(expected)")
      }
    }
  }

  // MARK: The end

  /// At the end everything that Apple sent is journaled or quarantined (promise 2), nothing else
  /// is, and a deleted projection is built again with the same digest (promise 7).
  func checkEnd() throws {
    for item in schedule.posts.map({ fixtures.items[$0.item] }) {
      switch item.kind {
      case .event(let event, _):
        guard let seq = observed.seqs[event.notificationUUID] else {
          throw Violation("\(item.name) is lost")
        }
        if observed.journal[Int(seq) - 1].body != event.body { try checkQuarantined(item) }
      case .foreign: try checkQuarantined(item)
      case .refused: break
      }
    }
    try checkRepeats()
    let digest = try observed.reader?.digest()
    if observed.chance.once(in: 8) || schedule.steps.count % 8 == 0 {
      observed.reader = nil
      ledger?.stop()
      ledger = nil
      try deleteRows(schedule.posts.count % 2 == 0)
    }
    try restart()
    guard try observed.reader?.digest() == digest else {
      throw Violation("the rebuilt rows are different")
    }
  }

  /// The journal counts at most as many redeliveries as there were; a crash may lose counts.
  private func checkRepeats() throws {
    for key in observed.folds.keys {
      for (seq, counted) in try journal().redeliveries(of: key) {
        let known = observed.repeats[seq] ?? 0
        guard counted.count <= known else {
          throw Violation("seq \(seq) has \(known) redeliveries, and \(counted.count) are counted")
        }
      }
    }
  }
}

/// A second implementation of the chain, from the contract of `journal_v1`.
enum PlainChain {
  static func hash(after previous: [UInt8]?, _ event: StoredEvent) -> [UInt8] {
    var bytes = Array("subledger.journal.v1".utf8) + [0]
    bytes += previous ?? [UInt8](repeating: 0, count: 32)
    bytes += number(event.seq, 8) + number(event.receivedAt, 8)
    for text in [event.notificationUUID.description, event.source.rawValue] {
      bytes += number(Int64(text.utf8.count), 4) + Array(text.utf8)
    }
    return SHA256.hash(bytes + SHA256.hash(event.body))
  }

  private static func number(_ value: Int64, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (Int64($0) * 8)) }
  }
}
