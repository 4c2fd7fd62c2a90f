public import AppStore
public import Entitlements
public import Platform
public import Store
import StrictJSON
import Synchronization

/// The running ledger: one data folder, one writer thread, and the queue in front of it.
///
/// Keeps promises 1 (an answer leaves after the sync) and 10 (one writer).
public final class Ledger: Sendable {
  /// The queue limit; past it, requests get 503. A queued notification is on the disk after at most
  /// two more syncs, so senders learn quickly that a slow disk cannot keep up.
  public static let queueLength = 2 * Journal.batchLimit

  /// The projection that readers of this process open.
  public let liveProjection: LiveProjection
  public let folder: DataFolder
  /// What counts for an app of which no durations were put in force.
  public let configuredDurations: Durations
  /// The dictionary that the journal packs bodies with.
  public let dictionary = SharedDictionary()
  /// Measurements of the writer.
  public let meter = WriterMeter()
  /// How far held evidence is judged by this program's fold.
  public let judging = JudgingStatus()
  /// How the folder stands to its shared journal; nil if it is a journal of its own.
  public let copy: CopyStatus?
  /// What this daemon does for all daemons of the shared journal.
  public let duties: Duties
  let shared: SharedAccess?
  /// Whether each read waits until the rows have all that the shared journal has.
  public var readsAreFresh: Bool { shared?.readsAreFresh ?? false }
  package let jobs = BoundedQueue<LedgerJob>(capacity: Ledger.queueLength)
  /// The parts of receipts, each with the time when it arrived. They are in no other queue, because
  /// one receipt may have more of them than that takes.
  package let parts = BoundedQueue<(submitted: Submitted, at: Int64)>(capacity: Ledger.queueLength)
  private let state = Mutex(State())
  private let projectionReady = WakeupEvent()
  private let writer = ServiceThread("writer")
  private let maintenance = ServiceThread("projection")

  private struct State {
    var head = Head.empty
    var foldedHead = Head.empty
    var commitObservers: [@Sendable () -> Void] = []
    var failure: LedgerError?
    /// The start's projection is live, or cannot become live for now.
    var hasProjection = false
    var durations = AppDurations()
    var formerDurations: [StreamKey: [String: Int64]]?
    var erasures = 0
    var isReceivedAhead = false
    var refreshes: [@Sendable (Bool) -> Void] = []
  }

  /// Makes a ledger without a writer thread: `start` starts one.
  package init(folder: DataFolder, shared: SharedAccess? = nil, durations: Durations = [:]) {
    self.folder = folder
    configuredDurations = durations
    self.shared = shared
    copy = shared.map { _ in CopyStatus() }
    duties = Duties(isShared: shared?.openDuties != nil)
    liveProjection = LiveProjection(folder: folder)
  }

  /// Opens a folder's journal, or makes one, and starts the writer. Returns once notifications can
  /// be accepted. The projection follows: at once if it only has to be caught up.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970, for the record of migrations.
  ///   - durations: the configured ones; they count for apps of which none were put in force.
  ///   - shared: the shared journal that the folder is, or becomes, a copy of.
  ///   - onFailure: called once, on the writer's thread, when the journal can no longer be written.
  ///     The process should end then, so that the next start repairs the files.
  /// - Throws: `LedgerError.locked` if another daemon holds the folder, `LedgerError.system` if no
  ///   thread can be started; else why the journal cannot be opened.
  public static func start(
    _ folder: DataFolder, now: Int64, durations: Durations = [:],
    shared: SharedAccess? = nil, onFailure: @escaping @Sendable (LedgerError) -> Void
  ) throws(LedgerError) -> Ledger {
    let ledger = Ledger(folder: folder, shared: shared, durations: durations)
    let opened = BoundedQueue<Result<Void, LedgerError>>(capacity: 1)
    do throws(LedgerError) {
      try ledger.writer.start {
        LedgerWriter.run(ledger, now: now, opened: opened, onFailure: onFailure)
      }
    } catch {
      throw .system("start the writer", 11)
    }
    try opened.dequeue()?.get()
    if let open = shared?.openDuties {
      // Without the thread this daemon has no duties; the others do.
      let (copy, judging) = (ledger.copy, ledger.judging)
      try? ledger.duties.start(
        as: Self.holderName(), isReady: { copy?.isReady ?? true },
        isDone: { $0 == .evidence && judging.isComplete }, open)
    }
    ledger.startProjection()
    return ledger
  }

  /// A name that no other daemon has. It begins with that of the host, by which people find it.
  private static func holderName() -> String {
    var random = SystemRandomNumberGenerator()
    return hostName() + "-" + String(random.next(), radix: 16)
  }

  /// The name of this host; empty if it is not known.
  public static func hostName() -> String {
    let host = (try? DurableFile.read("/proc/sys/kernel/hostname", limit: 65)) ?? []
    return String(decoding: host.prefix { $0 > 0x20 }, as: UTF8.self)
  }

  /// A notification that was received, and a closure that gets what became of it: on the writer's
  /// thread once it is synced, or at once, on the caller's thread, if the queue is full.
  public typealias Submitted = (
    received: Receiver.Received, completion: @Sendable (Outcome) -> Void
  )

  /// Queues notifications for the writer, and wakes it once.
  public func submit(_ submitted: [Submitted]) {
    let now = Clock.monotonicNanoseconds()
    meter.notifications.submit(submitted.count)
    let count = jobs.enqueue(contentsOf: submitted.map { .submit($0, at: now) })
    refuse(submitted.dropFirst(count), meter.notifications)
  }

  private func refuse(_ submitted: ArraySlice<Submitted>, _ count: AnsweredCount) {
    for item in submitted { item.completion(.unavailable("overload")) }
    count.answer(submitted.count)
  }

  /// Queues the parts of one receipt for the writer: all of them unless the queue is full. The
  /// writer appends some at a time and lets what else is queued pass in between. A receipt is
  /// answered once it has all of them: of one that a crash left with some, the others are appended
  /// when it is sent again.
  public func submit(whole submitted: [Submitted]) {
    let now = Clock.monotonicNanoseconds()
    meter.parts.submit(submitted.count)
    guard parts.enqueue(whole: submitted.map { ($0, now) }) else {
      return refuse(submitted[...], meter.parts)
    }
    _ = jobs.enqueueBeyondCapacity(.appendParts)
  }

  /// Queues one notification for the writer.
  public func submit(
    _ received: Receiver.Received, completion: @escaping @Sendable (Outcome) -> Void
  ) {
    submit([(received, completion)])
  }

  /// Removes notifications from quarantine, in one SQL transaction.
  ///
  /// - Parameters:
  ///   - ids: at most `QuarantineAdmission.batchLimit`.
  ///   - completion: gets how many of them were there; nil if they could not be removed.
  public func dropQuarantined(_ ids: [Int64], completion: @escaping @Sendable (Int?) -> Void) {
    if !jobs.enqueueBeyondCapacity(.drop(ids, completion)) { completion(nil) }
  }

  /// What became of forgetting an account.
  public enum Erased: Sendable, Equatable {
    /// No file of the folder has a byte of it.
    case done(wasKnown: Bool)
    /// Its row is deleted, but a reader still uses a file with its bytes: ask again.
    case inUse
    /// The journal cannot be written.
    case failed
  }

  /// Forgets an account: deletes its name, and the key without which the journal's statements about
  /// it are about nobody.
  public func erase(account: String, completion: @escaping @Sendable (Erased) -> Void) {
    if !jobs.enqueueBeyondCapacity(.erase(account: account, completion)) { completion(.failed) }
  }

  /// Follows the shared journal to where it is now, or later.
  ///
  /// - Parameter completion: gets, on the writer's thread, whether the rows have all that it had.
  ///   At once, with true, if the folder is a journal of its own.
  public func refresh(completion: @escaping @Sendable (Bool) -> Void) {
    guard copy != nil else { return completion(true) }
    let isFirst = state.withLock { state in
      defer { state.refreshes.append(completion) }
      return state.refreshes.isEmpty
    }
    guard isFirst, !jobs.enqueueBeyondCapacity(.refresh) else { return }
    for completion in takeRefreshes() { completion(false) }
  }

  /// Those who wait for one look at the shared journal.
  func takeRefreshes() -> [@Sendable (Bool) -> Void] {
    state.withLock { state in
      defer { state.refreshes = [] }
      return state.refreshes
    }
  }

  /// Queues an order about projections for the writer.
  public func perform(
    _ order: ProjectionOrder, completion: @escaping @Sendable (ProjectionOrder.Outcome) -> Void
  ) {
    if !jobs.enqueueBeyondCapacity(.projection(order, completion)) { completion(.failed) }
  }

  /// How long non-renewing products last, as of the last commit.
  public var durations: AppDurations { state.withLock { $0.durations } }

  /// By which durations rows were evaluated before the start, in milliseconds by app and product;
  /// nil if it found no rows of this program.
  public var formerDurations: [StreamKey: [String: Int64]]? {
    state.withLock { $0.formerDurations }
  }

  func setFormerDurations(_ durations: [StreamKey: [String: Int64]]) {
    state.withLock { $0.formerDurations = durations }
  }

  func setDurations(_ durations: AppDurations) { state.withLock { $0.durations = durations } }

  /// The journal's head, as of the last commit.
  public var head: Head { state.withLock { $0.head } }

  /// The journal's last seq, as of the last commit.
  public var seq: Int64 { head.seq }

  /// The journal's head as of the last batch that has also been folded: who knows of an event
  /// through its seq and then asks for the row gets it with that event.
  public var foldedHead: Head { state.withLock { $0.foldedHead } }

  /// Calls `observer` whenever `foldedHead` has grown: on the writer's thread, so it must not wait
  /// for anything.
  public func onCommit(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.commitObservers.append(observer) }
  }

  /// How far two clocks may differ without a warning, in milliseconds.
  public static let clockTolerance: Int64 = 300_000

  /// How far the newest event's receive time is ahead of a clock, in milliseconds; 0 within
  /// `clockTolerance`. Receive times never decrease: until the clock reaches it, every new event
  /// gets that time.
  public func receivedAhead(of now: Int64) -> Int64 {
    guard let received = state.withLock({ $0.head.receivedAt }),
      received > now.advanced(orBoundBy: Self.clockTolerance)
    else { return 0 }
    return received.subtracting(orBoundBy: now)
  }

  /// Warns, once until it is over, if the newest event was received in the future, as by a machine
  /// that started with a wrong clock. Called about once a second.
  public func lookAtClock() {
    let ahead = receivedAhead(of: Clock.now())
    let isNew = state.withLock { state in
      defer { state.isReceivedAhead = ahead > 0 }
      return ahead > 0 && !state.isReceivedAhead
    }
    guard isNew else { return }
    Log.write(
      .warning, "received_ahead",
      [
        ("seq", .integer(seq)), ("seconds", .integer(ahead / 1000)),
        (
          "next",
          .string(
            "set the clock if it is behind; else it was ahead, and new events get the last receive "
              + "time until it is reached")
        ),
      ])
  }

  /// Has the writer look whether another program removed, replaced or cut a file of the journal,
  /// which every commit does too: for the time without any. The ledger fails if one did.
  public func checkFiles() {
    if jobs.count == 0 { _ = jobs.enqueueBeyondCapacity(.checkFiles) }
  }

  /// Says in the log that the disk is still full, or that it is over; tries it if no notification
  /// tells. Called about once a second.
  public func lookAtDisk() { meter.lookAtDisk { DiskSpace.takesBytes(folder.path) } }

  /// How many accounts were erased since the start: no event says so.
  public var erasures: Int { state.withLock { $0.erasures } }

  func recordErasure() { state.withLock { $0.erasures += 1 } }

  /// Why the journal can no longer be written; nil while it can.
  public var failure: LedgerError? { state.withLock { $0.failure } }

  /// How many notifications, parts of receipts and orders wait.
  public var waiting: Int { jobs.count + Int(meter.parts.waiting) }

  /// Finishes the queued jobs, closes the files, and returns.
  public func stop() {
    duties.stop()
    // First: what is queued until then is appended.
    parts.close()
    jobs.close()
    liveProjection.changed.signal()
    maintenance.stop()
    writer.stop()
  }

  func setHead(_ head: Head) { state.withLock { $0.head = head } }

  /// Called after each batch, once it is folded.
  func setFoldedHead(_ head: Head) {
    let observers = state.withLock { state in
      let isNew = head.seq > state.foldedHead.seq
      state.foldedHead = head
      return isNew ? state.commitObservers : []
    }
    for observer in observers { observer() }
  }

  func setFailure(_ failure: LedgerError) { state.withLock { $0.failure = failure } }

  /// Catches up or builds the projection on a thread of its own, which then maintains it. Waits up
  /// to two seconds, so that a start that only has to catch up is complete.
  private func startProjection() {
    do throws(LedgerError) {
      try maintenance.start { ProjectionMaintenance(self).run() }
    } catch {
      markProjectionReady()
    }
    projectionReady.wait(milliseconds: 2000)
  }

  func markProjectionReady() {
    let isNew = state.withLock { state in
      defer { state.hasProjection = true }
      return !state.hasProjection
    }
    if isNew { projectionReady.signal() }
  }

  /// Whether the start's projection is live, or cannot become live for now.
  public var hasProjection: Bool { state.withLock { $0.hasProjection || $0.failure != nil } }

  /// Waits until `hasProjection`.
  ///
  /// - Parameter isStopped: called four times a second; true ends the wait.
  public func waitForProjection(unless isStopped: () -> Bool) {
    while !hasProjection, !isStopped() { projectionReady.wait(milliseconds: 250) }
  }
}
