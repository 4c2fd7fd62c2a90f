import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import Synchronization

/// The daemon's thread that keeps `customers.sqlite` current: what every customer has by name, and
/// what changed of it, for sinks and for queries.
///
/// Each daemon of a shared journal has its own.
final class CustomerFollower: Sendable {
  let ledger: Ledger
  /// Whether a sink wants to know what changes.
  let hasSubscribers: @Sendable () -> Bool
  let thread = ServiceThread("customers", .background)
  /// Whether the wall clock may be believed, also for what no customer has by name.
  let clock = Mutex(ClockWatch())
  private let state = Mutex(State())

  private struct State {
    /// Open while the thread follows.
    var store: CustomerStore?
    var through: Int64 = 0
    var delivered: Int64?
    var looked: Int64 = 0
    /// What was to be told after this moment is told again.
    var again: Int64?
  }

  init(_ ledger: Ledger, hasSubscribers: @escaping @Sendable () -> Bool) {
    (self.ledger, self.hasSubscribers) = (ledger, hasSubscribers)
  }

  /// Takes over what was known of the clock before a restart, as the machine was not started since.
  ///
  /// - Throws: `LedgerError` if the thread cannot be started.
  func start() throws(LedgerError) {
    // A file that cannot be read is put aside when sinks are.
    if let boot = try? Boot.id(), let known = try? SinkStore.clocks(ledger.folder, boot: boot) {
      publish(through: known.customerClock, looked: 0)
      clock.withLock { $0 = ClockWatch(offset: known.offset) }
    }
    ledger.onCommit { [thread] in thread.wake() }
    try thread.start { [self] in CustomerWorker.run(self) }
  }

  func stop() { thread.stop() }

  // MARK: The file

  func open() throws(LedgerError) {
    let (folder, id) = (ledger.folder, try JournalReader.open(ledger.folder).journalId())
    try state.withLock { state throws(LedgerError) in
      state.store?.close()
      state.store = nil
      let store = try CustomerStore(folder, journalId: id)
      store.ask(thread.limit)
      state.store = store
    }
  }

  func close() {
    state.withLock { state in
      state.store?.close()
      state.store = nil
    }
  }

  /// Reads or writes the file, on any thread.
  ///
  /// - Throws: `LedgerError.busy` while it is not open; what `body` throws.
  func store<Value: Sendable>(
    _ body: (CustomerStore) throws(LedgerError) -> Value
  ) throws(LedgerError) -> Value {
    try state.withLock { state throws(LedgerError) in
      guard let store = state.store else { throw .busy }
      return try body(store)
    }
  }

  // MARK: What sinks ask

  /// As of `CustomerStore`; none while nothing is followed.
  ///
  /// - Throws: what SQLite reports.
  func changes(
    after time: Int64, limit: Int
  ) throws(LedgerError) -> [(at: Int64, app: StreamKey, cause: CustomerCause)] {
    try state.withLock { state throws(LedgerError) in
      try state.store?.changes(after: time, limit: limit) ?? []
    }
  }

  /// No change will be told at this moment or before that is not stored; milliseconds since 1970.
  var through: Int64 { state.withLock { $0.through } }

  /// The same, behind this time: what is found from now on is told later.
  func reserve() -> Int64 {
    state.withLock { state in
      state.through = max(state.through, Clock.now())
      return state.through
    }
  }

  /// As of `CustomerStore`; nil while nothing is followed.
  ///
  /// - Throws: what SQLite reports.
  func entitlements(
    since place: CustomerStore.Place, limit: Int
  ) throws(LedgerError) -> (found: [CustomerEntitlement], place: CustomerStore.Place)? {
    try state.withLock { state throws(LedgerError) in
      try state.store?.entitlements(since: place, limit: limit)
    }
  }

  /// - Parameter looked: the moment until which everything that happened was looked at.
  func publish(through time: Int64, looked: Int64) {
    state.withLock { state in
      (state.through, state.looked) = (max(state.through, time), looked)
    }
  }

  /// What happened until this time was looked at and told to every sink; what happened later may
  /// have been.
  ///
  /// - Throws: what SQLite reports.
  func done() throws(LedgerError) -> Int64 {
    try state.withLock { state throws(LedgerError) in
      let first = try state.store?.firstCause(after: state.delivered ?? 0)
      return min(state.looked, (first ?? .max) - 1)
    }
  }

  /// Tells again what happened after a time: another daemon told what happened until then, and may
  /// have found it at another moment. Receivers know by its id what they have.
  func redeliver(after time: Int64) {
    state.withLock { $0.again = min($0.again ?? .max, time) }
    thread.wake()
  }

  /// What `redeliver` asked for and is not done.
  var again: Int64? { state.withLock { $0.again } }

  func endAgain(_ time: Int64) {
    state.withLock { state in if state.again == time { state.again = nil } }
  }

  /// The moment through which every sink was told, and holds nothing; `Int64.max` if there is none;
  /// nil as long as they did not say, or say so to another daemon.
  var delivered: Int64? {
    get { state.withLock { $0.delivered } }
    set { state.withLock { $0.delivered = newValue } }
  }
}

extension Ledger {
  /// What rows depend on: the fold, and how long non-renewing products last.
  func basis(_ durations: AppDurations) -> String {
    let digest = Hexadecimal.encode(Array(SHA256.hash(Array(durations.text.utf8)).prefix(8)))
    return "\(folder.fold.version) \(folder.fold.fingerprint) \(digest)"
  }
}
