import HTTPServer
import Ledger
import Platform
import Queries
import Store
import Synchronization

/// Answers the feed: at once, or when there is something new.
///
/// The pool reads the pages. A request that waits holds no thread: it is a place in a list, which
/// the writer's commits, its deadline and the end of its client wake.
final class FeedService: Sendable {
  /// A request for a page.
  private struct Waiter: Sendable {
    var question: Feed.Question
    let call: Call
    /// When it is answered even if there is nothing, nanoseconds of the clock that never steps; nil
    /// if it does not wait.
    let deadline: Int64?
    /// The journal's last event when it was answered last.
    var head: Int64 = -1

    var owner: String { question.token.name }
    /// Whether it is answered whether or not there is something.
    var isOver: Bool {
      call.sender.hasClientEnded || deadline.map { Clock.monotonicNanoseconds() >= $0 } ?? true
    }
  }

  private struct State {
    var waiters: [Waiter] = []
    /// How many requests of each token wait, in the list or while a page is read for them.
    var counts: [String: Int] = [:]
  }

  private let ledger: Ledger
  private let readers: ReaderPool
  private let thread = ServiceThread("feed", .reactor)
  private let state = Mutex(State())

  /// Requests that may wait, in all and of one token.
  private static let (capacity, share) = (1000, 250)
  /// After how long a page is asked for again that the pool had no place for, milliseconds.
  private static let retryMilliseconds: Int64 = 50

  init(_ ledger: Ledger, _ readers: ReaderPool) {
    (self.ledger, self.readers) = (ledger, readers)
    ledger.onCommit { [thread] in thread.wake() }
  }

  /// Starts the thread.
  ///
  /// - Throws: `LedgerError` when the kernel refuses it.
  func start() throws(LedgerError) { try thread.start { [self] in run() } }

  /// Answers a request through its sender.
  ///
  /// - Parameter seconds: how long to wait for an event.
  /// - Returns: false if too many wait; then it is not answered.
  func ask(_ question: Feed.Question, _ call: Call, seconds: Int64) -> Bool {
    guard seconds > 0 else {
      return read(Waiter(question: question, call: call, deadline: nil))
    }
    let waiter = Waiter(
      question: question, call: call,
      deadline: Clock.monotonicNanoseconds() + seconds * 1_000_000_000)
    guard enter(waiter.owner) else { return false }
    guard read(waiter) else {
      leave(waiter)
      return false
    }
    call.sender.whenClientEnds { [thread] in thread.wake() }
    return true
  }

  /// Counts a request that waits.
  private func enter(_ owner: String) -> Bool {
    state.withLock { state in
      let own = state.counts[owner, default: 0]
      guard !thread.isStopping, own < Self.share,
        state.counts.values.reduce(0, +) < Self.capacity
      else { return false }
      state.counts[owner] = own + 1
      return true
    }
  }

  private func leave(_ waiter: Waiter) {
    guard waiter.deadline != nil else { return }
    state.withLock { state in
      let own = state.counts[waiter.owner, default: 1]
      state.counts[waiter.owner] = own > 1 ? own - 1 : nil
    }
  }

  /// Has the pool read a page for a request, which then is answered or waits on.
  ///
  /// - Returns: false if the pool has no place for it.
  private func read(_ waiter: Waiter) -> Bool {
    readers.enqueue(.long, of: waiter.owner) { [self] reader in
      var waiter = waiter
      if let response = response(to: &waiter, reader) { return answer(waiter, response) }
      let isKept = state.withLock { state in
        if !thread.isStopping { state.waiters.append(waiter) }
        return !thread.isStopping
      }
      guard isKept else { return answer(waiter, Self.stopped) }
      thread.wake()
    }
  }

  private func answer(_ waiter: Waiter, _ response: HTTPResponse) {
    leave(waiter)
    waiter.call.sender.send(response)
  }

  private static var stopped: HTTPResponse { Problem.response(.unavailable("shutting_down")) }

  /// The page that answers a request; nil if it waits on, from where this looked.
  private func response(to waiter: inout Waiter, _ reader: LedgerReader?) -> HTTPResponse? {
    waiter.head = ledger.foldedHead.seq
    do throws(LedgerError) {
      guard let reader else { throw .busy }
      let page = try reader.feed(waiter.question, through: waiter.head)
      guard let page else { return Problem.otherHistory }
      guard page.items.isEmpty, !waiter.isOver else { return .json(page.json) }
      waiter.question.place = .cursor(seq: page.seq, hash: Array(page.hash.prefix(4)))
      return nil
    } catch {
      return LedgerHandler.problem(error, waiter.call.route, reader?.limit)
    }
  }

  private func run() {
    thread.work {
      let head = ledger.foldedHead.seq
      let due = state.withLock { state in
        let first = state.waiters.partition { $0.head < head || $0.isOver }
        defer { state.waiters.removeSubrange(first...) }
        return Array(state.waiters[first...])
      }
      let refused = due.filter { !read($0) }
      let next = state.withLock { state in
        state.waiters += refused
        return state.waiters.compactMap(\.deadline).min()
      }
      let rest = next.map { max(0, $0 - Clock.monotonicNanoseconds()) / 1_000_000 + 1 }
      return .whenWoken(within: refused.isEmpty ? rest ?? -1 : Self.retryMilliseconds)
    }
  }

  /// Answers what waits, and ends the thread. The pool must be stopped afterwards.
  func stop() {
    thread.stop()
    let left = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in left { answer(waiter, Self.stopped) }
  }
}
