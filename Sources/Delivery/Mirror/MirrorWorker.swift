import AppStore
import Clients
import Entitlements
import Ledger
import Platform
import Queries
import Store

/// Moves one mirror: fills it, and then writes what changed since the event that it is at. Rows and
/// cursor move in one SQL transaction, so every event has its effect once, whatever is killed.
final class MirrorWorker {
  private let running: RunningMirror
  private let ledger: Ledger
  private let customers: CustomerFollower
  private var reader: LedgerReader?
  private var durations = AppDurations()
  private var tables: MirrorTables?
  private var state: MirrorTables.State?
  /// Accounts were looked through after so many were erased; nil: not since the connection began.
  private var erasures: Int?

  /// Rows and events that are read and copied at once.
  private static let rowBatch = 1_000
  private static let eventBatch = 1_000
  private static let accountBatch: Int64 = 1_000
  /// Milliseconds until a server is given up, and between two looks at what nothing signals.
  private static let dialling: Int64 = 10_000
  private static let idle: Int64 = 1_000

  init(_ running: RunningMirror, _ ledger: Ledger, _ customers: CustomerFollower) {
    (self.running, self.ledger, self.customers) = (running, ledger, customers)
  }

  private var mirror: Configuration.Mirror { running.mirror }

  /// Runs until it is cancelled.
  func run() {
    var failures = 0
    running.thread.work {
      guard !running.isPaused else {
        close()
        running.report(.paused, at: state, head: ledger.foldedHead.seq)
        return .whenWoken(within: Self.idle)
      }
      do throws(LedgerError) {
        try turn()
        failures = 0
        return .whenWoken(within: Self.idle)
      } catch {
        if running.thread.isStopping { return .atOnce }
        if error.code == .mirrorLost {
          running.report(.lost(error.message), at: state, head: ledger.foldedHead.seq)
          // The tables are asked again: whoever filled them may have put them back.
          state = nil
          return .whenWoken(within: Self.idle)
        }
        // Rows that are being built are no fault of the database.
        if error.code == .notReady { failures = 0 } else { close() }
        running.report(.failed(error.description), at: state, head: ledger.foldedHead.seq)
        failures += 1
        var random = SystemRandomNumberGenerator()
        return .after(Backoff.varied(RetryDelay.down.wait(after: failures), by: &random))
      }
    }
    close()
  }

  private func close() {
    tables?.connection.close()
    (tables, state, erasures, reader) = (nil, nil, nil, nil)
  }

  private func turn() throws(LedgerError) {
    let tables = try open()
    if try needsFill(tables) { try fill(tables) }
    while let state, state.seq < ledger.foldedHead.seq {
      guard !running.thread.isStopping else { throw .stopped }
      try move(tables, state)
    }
    try moveCustomers(tables)
    try forgetAccounts(tables)
    running.report(.up, at: state, head: ledger.foldedHead.seq)
  }

  // MARK: Connecting

  private func open() throws(LedgerError) -> MirrorTables {
    if durations != ledger.durations { (reader, state) = (nil, nil) }
    if reader == nil {
      durations = ledger.durations
      reader = try LedgerReader(ledger, limit: running.thread.limit)
    }
    if let tables, tables.connection.isUsable {
      // Also while nothing is to be written: a server that is gone or was restored is noticed.
      if state.map({ $0.seq >= ledger.foldedHead.seq }) ?? true { state = try tables.state() }
      return tables
    }
    let made = MirrorTables(try dial(), schema: mirror.schema)
    (state, erasures) = (try made.state(), nil)
    tables = made
    return made
  }

  private func dial() throws(LedgerError) -> PostgresConnection {
    var password: String?
    if let path = mirror.passwordFile {
      guard let bytes = try? DurableFile.read(path, limit: 4096) else { throw .mirrorPassword }
      password = String(decoding: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
    do throws(PostgresError) {
      return try PostgresConnection.dial(
        mirror.address, password: password, target: .writable,
        by: Deadline(milliseconds: Self.dialling), until: running.thread.cancellation)
    } catch {
      throw .postgres(error)
    }
  }

  private func read<Value>(
    _ body: (LedgerReader) throws(LedgerError) -> Value?
  ) throws(LedgerError) -> Value {
    guard let reader else { throw .rowsNotReady }
    do throws(LedgerError) {
      if let value = try body(reader) { return value }
    } catch {
      throw [.notReady, .ambiguous].contains(error.code) ? .rowsNotReady : error
    }
    throw .rowsNotReady
  }

  private func journal() throws(LedgerError) -> JournalReader {
    guard let reader else { throw .rowsNotReady }
    return reader.journal
  }

  // MARK: Filling

  /// What the rows depend on besides the journal: the rules, and which columns the tables have.
  private func fold(_ layout: Int64) -> String {
    let name = ledger.basis(durations)
    return layout > 1 ? name + " \(layout)" : name
  }

  /// Whether the mirror was never filled, or is of another fold, or the operator says so.
  ///
  /// - Throws: `LedgerError.mirrorLost` for rows that may be another ledger's: one that was
  ///   restored for a trial has the configuration of the one that runs, and must not take its
  ///   mirror over.
  private func needsFill(_ tables: MirrorTables) throws(LedgerError) -> Bool {
    guard let state, let journalId = state.journalId else { return true }
    switch running.start {
    case .fill: return true
    case .unknown: throw .mirrorLost("its place in the journal was lost with sinks.sqlite")
    case .proven: break
    }
    let journal = try journal()
    guard journalId == (try journal.journalId()) else {
      throw .mirrorLost("its tables are of another journal")
    }
    // Another daemon of a shared journal was further, and this copy follows.
    guard ledger.copy == nil || state.seq <= ledger.foldedHead.seq else { throw .rowsNotReady }
    guard try journal.hash(at: state.seq) == state.hash else {
      throw .mirrorLost("its tables are at a place that this journal lacks")
    }
    return state.fold != fold(state.layout)
  }

  /// Copies all rows beside those that are there, and then switches. What came meanwhile follows.
  private func fill(_ tables: MirrorTables) throws(LedgerError) {
    guard let state else { throw .mirrorMoved }
    let head = ledger.foldedHead
    running.report(.filling, at: state, head: head.seq)
    try tables.removeAll(except: state.generation, state.layout)
    let generation = state.generation + 1
    var last: StreamKey?
    while true {
      guard !running.thread.isStopping else { throw .stopped }
      let page = try read { (reader) throws(LedgerError) in
        try reader.mirroredRows(after: last, limit: Self.rowBatch)
      }
      guard let end = page.last else { break }
      var batch = MirrorBatch(layout: state.layout)
      for row in page { batch.add(row, durations: durations) }
      try tables.copy(batch, generation)
      last = end.key
    }
    try fillEvents(tables, state, through: head.seq, generation)
    let filled = MirrorTables.State(
      layout: state.layout, generation: generation, journalId: try journal().journalId(),
      fold: fold(state.layout), seq: head.seq, hash: head.hash)
    try tables.atomically(state) { () throws(LedgerError) in try tables.set(filled) }
    (self.state, erasures) = (filled, nil)
    running.filled()
    try tables.removeAll(except: generation, state.layout)
  }

  private func fillEvents(
    _ tables: MirrorTables, _ state: MirrorTables.State, through last: Int64, _ generation: Int64
  ) throws(LedgerError) {
    var seq: Int64 = 0
    while seq < last {
      guard !running.thread.isStopping else { throw .stopped }
      let events = try journal().eventKeys(after: seq, through: last, limit: Self.eventBatch)
      guard let end = events.last else { return }
      var batch = MirrorBatch(layout: state.layout)
      for event in events { batch.add(event) }
      try tables.copy(batch, generation)
      seq = end.seq
    }
  }

  // MARK: Moving

  /// Writes the next events and the rows of their customers, which may already have later ones.
  private func move(_ tables: MirrorTables, _ state: MirrorTables.State) throws(LedgerError) {
    let head = ledger.foldedHead
    let journal = try journal()
    let events = try journal.eventKeys(
      after: state.seq, through: head.seq, limit: Self.eventBatch)
    guard let end = events.last else { throw .rowsNotReady }
    let hash = try journal.hash(at: end.seq)
    let rows = try read { (reader) throws(LedgerError) in
      try reader.mirroredRows(of: Set(events.compactMap(\.stream)))
    }
    var batch = MirrorBatch(layout: state.layout)
    for event in events { batch.add(event) }
    for row in rows { batch.add(row, durations: durations) }
    var moved = state
    (moved.seq, moved.hash) = (end.seq, hash ?? [])
    do throws(LedgerError) {
      try tables.atomically(state) { () throws(LedgerError) in
        try tables.remove(rows.map(\.key), state)
        try tables.copy(batch, state.generation)
        try tables.set(moved)
      }
    } catch {
      // Whether it was committed is not known: the cursor says so.
      self.state = nil
      throw error
    }
    self.state = moved
    running.report(.up, at: moved, head: head.seq, moved: events.count)
  }

  /// Writes what customers have by name and changed since the last time; all of it if the file in
  /// which it is kept is another one.
  private func moveCustomers(_ tables: MirrorTables) throws(LedgerError) {
    guard let state, state.layout >= MirrorSchema.customers else { return }
    var place = try tables.customers()
    while !running.thread.isStopping {
      guard let next = try customers.entitlements(since: place, limit: Self.rowBatch),
        next.place != place
      else { return }
      var rows: [(entitlement: CustomerEntitlement, of: CustomerKey)] = []
      for entitlement in next.found {
        // Nothing is written of an account that was erased since.
        guard let customer = try reader?.key(of: entitlement.customer) else { continue }
        rows.append((entitlement, customer))
      }
      let isAnother = next.place.file != place.file
      try tables.atomically(state) { () throws(LedgerError) in
        if isAnother { try tables.removeCustomers() }
        try tables.replace(customers: rows, to: next.place)
      }
      place = next.place
    }
  }

  // MARK: Accounts

  /// Removes accounts that were erased: no event says so, as the journal forgets them.
  private func forgetAccounts(_ tables: MirrorTables) throws(LedgerError) {
    let now = ledger.erasures
    guard erasures != now, let state else { return }
    let journal = try journal()
    var last = ""
    while true {
      let names = try tables.accounts(after: last, state, limit: Self.accountBatch)
      guard let end = names.last else { break }
      var gone: [String] = []
      for name in names where try !journal.hasAccount(name) { gone.append(name) }
      if !gone.isEmpty { try tables.remove(accounts: gone, state) }
      last = end
    }
    erasures = now
  }
}
