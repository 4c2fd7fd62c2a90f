public import Ledger
import Platform
import Store
import StrictJSON

/// The counts of the console's first page: notifications by hour, rows by status, quarantine, and
/// the last event of each app.
///
/// A thread of its own counts, so that a question never occupies a reactor. It answers within about
/// a second with what is counted by then. Counts are only refreshed when a question arrives:
///
/// - Accepted notifications: through the journal's head at every question. Earlier hours that are
///   asked for the first time are counted backwards in the background; until they are complete,
///   `counted_from` says from when on.
/// - Duplicates, refusals and unavailability: current, but only since this process started.
/// - Quarantine: again if the last count is 2 s old.
/// - Rows by status: `RowCounts`; `counted_at` is the time that they are evaluated for.
///
/// Quarantine is counted so rarely that it takes at most a fiftieth of a processor.
public final class Overview: Sendable {
  /// A question that waits for the thread.
  fileprivate struct Request: Sendable {
    let question: Question
    let configuration: Configuration
    let answer: @Sendable (Answer?) -> Void
  }

  private let requests = BoundedQueue<Request>(capacity: Overview.capacity)
  private let thread = ServiceThread("overview", .background)

  private static let capacity = 1_000
  /// How long counting may delay an answer, nanoseconds.
  private static let answerTimeout: Int64 = 800_000_000
  /// How long is counted in the background before new questions are looked for, nanoseconds.
  private static let backgroundSlice: Int64 = 50_000_000
  /// How long `stop` waits for the thread, milliseconds.
  private static let stopTimeout: Int32 = 2000

  /// Starts the thread.
  public init(_ ledger: Ledger, _ arrivals: Arrivals, _ rows: RowCounts) {
    do throws(LedgerError) {
      try thread.start { [requests, thread] in
        Self.serve(requests, ledger, arrivals, rows, thread.limit)
      }
    } catch {
      requests.close()
    }
  }

  deinit { requests.close() }

  /// Answers a question on another thread.
  ///
  /// - Parameters:
  ///   - configuration: the configuration that this question is answered by.
  ///   - answer: called once with the `overview` object; with nil if too many questions wait, the
  ///     journal cannot be read, or this has stopped.
  public func ask(
    _ question: Question, _ configuration: Configuration,
    answer: @escaping @Sendable (Answer?) -> Void
  ) {
    let request = Request(question: question, configuration: configuration, answer: answer)
    if !requests.enqueue(request) { answer(nil) }
  }

  /// Ends the thread, which has a reader of the journal. Must be called before the ledger stops.
  public func stop() {
    requests.close()
    thread.stop(within: Self.stopTimeout)
  }

  private static func serve(
    _ requests: BoundedQueue<Request>, _ ledger: Ledger, _ arrivals: Arrivals, _ rows: RowCounts,
    _ limit: WorkLimit
  ) {
    var count: OverviewCount?
    // While this is false, counting continues between questions.
    var isComplete = true
    var since = Int64.max
    while let questions = requests.dequeueAll(within: isComplete ? -1 : 0) {
      count = count ?? (try? LedgerReader(ledger, limit: limit)).map(OverviewCount.init)
      do throws(LedgerError) {
        guard let count else { throw .busy }
        if !questions.isEmpty { since = questions.map(\.question.since).min() ?? since }
        if !questions.isEmpty || !isComplete {
          isComplete = try count.advance(
            since: since, now: Clock.now(),
            until: Clock.monotonicNanoseconds()
              + (questions.isEmpty ? backgroundSlice : answerTimeout))
        }
        for request in questions {
          let counts = rows.counts(count.reader, at: Clock.now())
          let maker = OverviewMaker(count, counts, arrivals, request.configuration)
          request.answer(try maker.answer(to: request.question))
        }
      } catch {
        StoreErrors.record(.overview, "overview", error, [("code", .string("store"))])
        (count, isComplete) = (nil, true)
        for request in questions { request.answer(nil) }
      }
    }
  }
}
