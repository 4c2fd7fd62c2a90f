import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import Store

/// What the worker reads and stores: the ledger's files, and how far each sink is.
struct DeliveryFiles {
  let store: SinkStore
  let reader: LedgerReader
  let maker: MessageMaker
  let customers: CustomerFollower

  /// - Parameter opened: what is stored into; nil to open it.
  /// - Throws: what SQLite or the file system reports.
  init(
    _ ledger: Ledger, _ customers: CustomerFollower, _ opened: SinkStore? = nil
  ) throws(LedgerError) {
    self.customers = customers
    reader = try LedgerReader(ledger, isPassing: true)
    if let opened {
      store = opened
    } else {
      store = try SinkStore(ledger.folder, journalId: try reader.journal.journalId())
    }
    maker = try MessageMaker(reader, store, customers)
  }

  // MARK: Where a sink goes on

  /// The record of a sink that is new in the configuration: it begins where that says.
  ///
  /// - Parameter begin: where the journal was when the configuration was read.
  func newRecord(
    _ sink: Configuration.Sink, from begin: SinkMachine.Mark, at now: Int64
  ) throws(LedgerError) -> SinkRecord {
    var record = SinkRecord(SinkRecord.ID(sink.name), begin, since: now)
    if store.lostNames.contains(sink.name) {
      record.lose("its place in the journal was lost with sinks.sqlite", at: now)
    } else if sink.from != .now {
      if let mark = try mark(sink.from, at: now) {
        record.mark = mark
      } else {
        record.lose("its `from` is no place in this journal", at: now)
      }
    }
    if record.isLost { DeliveryStatus.logLost(record.id.name, record.reason) }
    return record
  }

  /// A sink as it was stored; one whose place is none of this journal is lost.
  func checked(_ stored: SinkRecord, at now: Int64) throws(LedgerError) -> SinkRecord {
    var record = stored
    if !record.isLost, try reader.journal.hash(at: record.seq) != record.hash {
      record.lose("the journal has another history", at: now)
    }
    // It was down when it was stored; now it is tried anew.
    if record.state == SinkMachine.Condition.on.rawValue, record.reason != nil {
      (record.since, record.reason) = (now, nil)
    }
    if record.isLost { DeliveryStatus.logLost(record.id.name, record.reason) }
    return record
  }

  /// The place that an operator names; nil if this journal has none such.
  func mark(named text: String, at now: Int64) throws(LedgerError) -> SinkMachine.Mark? {
    if text.hasPrefix("received:"), let time = Int64(text.dropFirst(9)) {
      let seq = max(0, try reader.journal.firstSeq(receivedFrom: time) - 1)
      return try mark(seq, clock: time - 1)
    }
    if text == "now" { return try mark(.now, at: now) }
    if text == "start" { return try mark(.start, at: now) }
    let parts = text.split(separator: "-", maxSplits: 1).map(String.init)
    guard let first = parts.first, let seq = Int64(first), seq >= 0 else { return nil }
    guard parts.count == 2 else { return try mark(seq) }
    guard let hash = Hexadecimal.decode(parts[1]), hash.count == 4 else { return nil }
    return try mark(.after(seq: seq, hash: hash), at: now)
  }

  private func mark(
    _ start: Configuration.Sink.Start, at now: Int64
  ) throws(LedgerError) -> SinkMachine.Mark? {
    switch start {
    case .now:
      let customerClock = customers.reserve()
      var mark = try mark(try reader.journal.head().seq, clock: now)
      mark?.customerClock = customerClock
      return mark
    case .start: return try mark(0)
    case .after(let seq, let hash): return try mark(seq, hash)
    }
  }

  /// The place after an event whose hash begins so; nil if there is none.
  ///
  /// - Parameter clock: nil for the time until which everything is done with the event.
  private func mark(
    _ seq: Int64, _ beginning: [UInt8] = [], clock: Int64? = nil
  ) throws(LedgerError) -> SinkMachine.Mark? {
    guard let hash = try reader.journal.hash(at: seq), hash.starts(with: beginning) else {
      return nil
    }
    let received = try reader.journal.receivedAt(seq) ?? 1
    let time = clock ?? received - 1
    return SinkMachine.Mark(
      seq: seq, hash: hash, clock: time, customerClock: min(time, customers.reserve()))
  }

  /// The numbers of what an event says of requests for refunds and the sink is told.
  ///
  /// - Throws: what SQLite reports.
  func refundNews(
    _ event: MessageEvent, _ filter: MessageFilter
  ) throws(LedgerError) -> [Int64] {
    guard let stream = event.stream, let key = event.streamKey, filter.mayTellRefunds(event)
    else { return [] }
    var isAbout = event.isRefundStatement
    if !isAbout { isAbout = try reader.journal.isAboutRefunds(event.seq, of: key) }
    guard isAbout, try reader.journal.hasRefundRequest(in: stream, through: event.seq) else {
      return []
    }
    return try reader.journal.refundNews(at: event.seq, of: key).enumerated()
      .filter { filter.passes(type: MessageType.of($0.element.news)) }.map { Int64($0.offset + 1) }
  }

  // MARK: What no event causes

  /// The first moments after a time, through another, in order: what time alone changes, and what
  /// was announced after another fold.
  ///
  /// - Throws: `LedgerError.busy` while the rows do not know them, otherwise what SQLite reports.
  func moments(
    _ filter: MessageFilter, after time: Int64, through last: Int64, _ limit: Int
  ) throws(LedgerError) -> [MessageOrder.Moment] {
    var found: [MessageOrder.Moment] = []
    for kind in MessageKind.allCases.reversed() {
      found += try kind.moments(self, filter, after: time, through: last, limit)
    }
    found.sort { ($0.at, $0.stream ?? 0) < ($1.at, $1.stream ?? 0) }
    return Array(found.prefix(limit))
  }

  /// The first of what customers have by name after a moment; to a sink that is not told of it, one
  /// in place of all.
  ///
  /// - Throws: what SQLite reports.
  func changes(
    _ filter: MessageFilter, after customerClock: Int64
  ) throws(LedgerError) -> [MessageOrder.Moment] {
    let through = customers.through
    guard through > customerClock else { return [] }
    guard filter.wantsCustomers else {
      let all = SinkMachine.Place.moment(.customer, at: through, id: 0)
      return [.init(all, at: through, stream: nil, isWanted: false)]
    }
    let changes = try customers.changes(after: customerClock, limit: MessageOrder.momentLimit)
    return changes.map { at, app, cause in
      MessageOrder.Moment(
        .moment(.customer, at: at, id: cause.stream), at: at,
        stream: cause.stream == 0 ? nil : cause.stream,
        isWanted: filter.passes(app, type: MessageKind.customer.type), behind: cause)
    }
  }

  /// The first moments at which time alone changes something.
  ///
  /// - Throws: as `moments`.
  func turns(
    after time: Int64, through last: Int64, _ limit: Int
  ) throws(LedgerError) -> [Turn] {
    let turns: [Turn]?
    do throws(LedgerError) {
      turns = try reader.turns(after: time, through: last, limit: limit)
    } catch {
      throw [.notReady, .ambiguous].contains(error.code) ? .busy : error
    }
    guard let turns else { throw .busy }
    return turns
  }
}

extension SinkRecord {
  init(
    _ id: ID, _ mark: SinkMachine.Mark, _ condition: SinkMachine.Condition = .on, since now: Int64,
    last: Int64? = nil, only: String? = nil
  ) {
    self.init(
      id, seq: mark.seq, hash: mark.hash, clock: mark.clock, customerClock: mark.customerClock,
      state: condition.rawValue, since: now, last: last, only: only)
  }

  var mark: SinkMachine.Mark {
    get { SinkMachine.Mark(seq: seq, hash: hash, clock: clock, customerClock: customerClock) }
    set {
      (seq, hash) = (newValue.seq, newValue.hash)
      (clock, customerClock) = (newValue.clock, newValue.customerClock)
    }
  }

  var isLost: Bool { state == SinkMachine.Condition.lost.rawValue }

  mutating func lose(_ reason: String, at now: Int64) {
    (state, since) = (SinkMachine.Condition.lost.rawValue, now)
    self.reason = reason
  }
}
