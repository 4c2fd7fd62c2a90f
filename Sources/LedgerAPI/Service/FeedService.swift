import HTTPServer
import JournalStore
import LedgerEngine
import LedgerQueries
import Platform
import Synchronization

/// The thread that answers the feed: at once, or when there is something new.
///
/// A request that waits holds no thread: it is a place in a list, which the writer's commits wake.
final class FeedService: Sendable {
  private struct Waiter: Sendable {
    var question: Feed.Question
    /// Nanoseconds of the clock that never steps.
    let deadline: Int64
    let send: @Sendable (HTTPResponse) -> Void
  }

  private struct State {
    var waiters: [Waiter] = []
    var thread: Thread?
    var isStopped = false
  }

  private let ledger: Ledger
  private let durations: @Sendable () -> [String: Int64]
  private let wakeup = WakeupEvent()
  private let state = Mutex(State())

  /// Requests that may wait.
  private static let capacity = 1000

  init(_ ledger: Ledger, durations: @escaping @Sendable () -> [String: Int64]) {
    (self.ledger, self.durations) = (ledger, durations)
    let wakeup = wakeup
    ledger.onCommit { wakeup.signal() }
  }

  /// Queues a request.
  ///
  /// - Parameters:
  ///   - seconds: how long to wait for an event.
  ///   - send: gets the answer, on the thread of the feed.
  /// - Returns: false if too many wait.
  func ask(
    _ question: Feed.Question, seconds: Int64, send: @escaping @Sendable (HTTPResponse) -> Void
  ) -> Bool {
    let deadline = Clock.monotonicNanoseconds() + seconds * 1_000_000_000
    let isQueued = state.withLock { state in
      guard !state.isStopped, state.waiters.count < Self.capacity else { return false }
      if state.thread == nil {
        state.thread = try? Thread.start("feed") {
          Niceness.reactor.apply()
          self.run()
        }
      }
      guard state.thread != nil else { return false }
      state.waiters.append(Waiter(question: question, deadline: deadline, send: send))
      return true
    }
    if isQueued { wakeup.signal() }
    return isQueued
  }

  /// Answers what waits, and ends the thread.
  func stop() {
    let thread = state.withLock { state in
      state.isStopped = true
      defer { state.thread = nil }
      return state.thread
    }
    wakeup.signal()
    thread?.join()
    let left = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in left { waiter.send(Problem.response(.unavailable("shutting_down"))) }
  }

  private func run() {
    var reader: LedgerReader?
    while !state.withLock({ $0.isStopped }) {
      wakeup.clear()
      let waiting = state.withLock { state in
        defer { state.waiters = [] }
        return state.waiters
      }
      let head = ledger.foldedHead.seq
      var kept: [Waiter] = []
      for waiter in waiting {
        if let later = answer(waiter, through: head, &reader) { kept.append(later) }
      }
      // Those that are new came after these.
      let next = state.withLock { state in
        state.waiters = kept + state.waiters
        return state.waiters.map(\.deadline).min()
      }
      guard ledger.foldedHead.seq == head || kept.isEmpty else { continue }
      let rest = next.map { max(0, $0 - Clock.monotonicNanoseconds()) / 1_000_000 + 1 }
      wakeup.wait(milliseconds: rest.map { Int32(clamping: $0) } ?? -1)
    }
  }

  /// Answers a request; returns it if it waits on.
  private func answer(
    _ waiter: Waiter, through head: Int64, _ reader: inout LedgerReader?
  ) -> Waiter? {
    do throws(LedgerReader.Failure) {
      let page = try open(&reader).feed(waiter.question, through: head)
      guard let page else {
        waiter.send(Problem.otherHistory)
        return nil
      }
      let isOver = Clock.monotonicNanoseconds() >= waiter.deadline
      guard page.items.isEmpty, !isOver else {
        waiter.send(.json(page.json))
        return nil
      }
      var later = waiter
      later.question.place = .cursor(seq: page.seq, hash: Array(page.hash.prefix(4)))
      return later
    } catch {
      reader = nil
      waiter.send(LedgerHandler.problem(error))
      return nil
    }
  }

  private func open(_ reader: inout LedgerReader?) throws(LedgerReader.Failure) -> LedgerReader {
    if let reader { return reader }
    do throws(StoreError) {
      let opened = try LedgerReader(ledger, durations: durations())
      reader = opened
      return opened
    } catch {
      throw .store(error)
    }
  }
}
