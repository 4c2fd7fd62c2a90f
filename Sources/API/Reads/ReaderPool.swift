import Ledger
import Platform
import Queries
import Synchronization

/// The threads that read journal and projection for requests, so that no reactor waits for a file.
///
/// Short and long reads have threads of their own: what is long cannot delay what is short. Tokens
/// take turns, and of the threads for long reads one token leaves one to others, so that its long
/// reads, however many, delay nobody else's. Each read has a limit of processor time, past which it
/// fails, because one that is long delays the others of its token.
final class ReaderPool: Sendable {
  /// What a read may cost.
  enum Length: Int, Sendable, CaseIterable {
    /// One row, or the rows of one customer, as of now.
    case short
    /// Pages, lists, and whatever is folded from the journal.
    case long
  }

  /// A read, on a thread of the pool. The reader is nil if the journal cannot be opened.
  typealias Read = @Sendable (LedgerReader?) -> Void

  private struct Workers {
    var waiting = FairQueue<Read>(
      share: ReaderPool.share, byteShare: ReaderPool.byteShare, shares: ReaderPool.shares)
    /// What wakes threads that wait for a read.
    var idle: [WakeupEvent] = []
    var threads: [Thread] = []
  }

  private struct State {
    var workers = Length.allCases.map { _ in Workers() }
    var configuration: Configuration
    /// Grows with every change of it.
    var generation = 0
    var isStopped = false
  }

  /// The reads of one token that may wait, the bytes of their bodies, and of how many tokens.
  private static let (share, byteShare, shares) = (1_000, 8 * 1024 * 1024, 4)

  private let ledger: Ledger
  private let state: Mutex<State>
  private let stopping = Cancellation()
  /// Of processor time that a read may use.
  private let milliseconds: Int64

  /// - Parameter milliseconds: of processor time that a read may use.
  init(_ ledger: Ledger, _ configuration: Configuration, milliseconds: Int64) {
    (self.ledger, self.milliseconds) = (ledger, milliseconds)
    state = Mutex(State(configuration: configuration))
  }

  /// Replaces the configuration: reads that begin after this call use the new one.
  func adopt(_ configuration: Configuration) {
    state.withLock { state in
      state.configuration = configuration
      state.generation += 1
    }
  }

  /// Queues a read.
  ///
  /// - Parameters:
  ///   - owner: the name of the token that it is for.
  ///   - size: the bytes that it keeps in memory until it is performed.
  ///   - isForced: whether it is queued even if many wait: for the answer to what is journaled.
  /// - Returns: false if too many wait; then `read` is never called.
  func enqueue(
    _ length: Length, of owner: String, bytes size: Int = 0, isForced: Bool = false,
    _ read: @escaping Read
  ) -> Bool {
    let (isQueued, idle) = state.withLock { state -> (Bool, WakeupEvent?) in
      guard !state.isStopped else { return (false, nil) }
      let isQueued = state.workers[length.rawValue].waiting.enqueue(
        read, of: owner, bytes: size, isForced: isForced)
      return (isQueued, isQueued ? state.workers[length.rawValue].idle.popLast() : nil)
    }
    idle?.signal()
    return isQueued
  }

  /// Starts the threads, with the descriptors that they wait by: connections may leave none later.
  ///
  /// - Throws: `LedgerError` when the kernel refuses a thread.
  func start() throws(LedgerError) {
    for length in Length.allCases {
      for _ in 0..<Self.threads {
        let wakeup = WakeupEvent()
        let thread = try Thread.start("reads-\(length)") { [self] in
          (length == .short ? Niceness.reactor : .longRead).apply()
          run(length, wakeup)
        }
        state.withLock { $0.workers[length.rawValue].threads.append(thread) }
      }
    }
  }

  /// Of each kind: one may wait for the disk.
  static let threads = 2

  private func run(_ length: Length, _ wakeup: WakeupEvent) {
    let limit = WorkLimit(until: stopping)
    var opened: (reader: LedgerReader, generation: Int)?
    while let (read, owner, generation) = next(length, wakeup) {
      if opened?.generation != generation { opened = open(limit).map { ($0, generation) } }
      limit.begin(milliseconds: milliseconds)
      read(opened?.reader)
      state.withLock { $0.workers[length.rawValue].waiting.finish(owner) }
    }
  }

  private func open(_ limit: WorkLimit) -> LedgerReader? {
    let configuration = state.withLock { $0.configuration }
    let reader = try? LedgerReader(ledger, limit: limit)
    reader?.receipts = try? ReceiptProof(configuration.trustRoots)
    return reader
  }

  /// Waits for a read: one at a time, so that no other waits for it behind a long one while another
  /// thread is idle. Returns nil once the pool has stopped and none is left.
  private func next(
    _ length: Length, _ wakeup: WakeupEvent
  ) -> (read: Read, owner: String, generation: Int)? {
    while true {
      let (next, generation, isStopped) = state.withLock { state in
        let most = length == .long ? Self.threads - 1 : Self.threads
        let next = state.workers[length.rawValue].waiting.dequeue(serving: most)
        if next == nil, !state.isStopped { state.workers[length.rawValue].idle.append(wakeup) }
        return (next, state.generation, state.isStopped)
      }
      if let next { return (next.item, next.owner, generation) }
      if isStopped { return nil }
      wakeup.wait()
    }
  }

  /// Ends the reads that run and answers those that wait, as far as they are not long; ends the
  /// threads.
  func stop() {
    stopping.request()
    let workers = state.withLock { state in
      state.isStopped = true
      return state.workers
    }
    for group in workers {
      for idle in group.idle { idle.signal() }
      for thread in group.threads { thread.join() }
    }
  }
}
