public import Configuration
import JournalStore
public import LedgerEngine
import Observability
import Platform
public import StrictJSON

/// What an operator sees first: what came over the last hours, how customers stand, what is in
/// quarantine, when each app was last heard of. Counted by a thread of its own, so that no question
/// holds a reactor up, and answered within about a second with what is counted by then.
public final class Overview: Sendable {
  public struct Question: Sendable {
    /// How many hours back, the one under way included: 1 to 168.
    public var hours: Int64
    public var now: Int64
    public var environment: String?
    public var bundleId: String?
    public var token: Configuration.ReadToken

    public init(
      hours: Int64, now: Int64, environment: String? = nil, bundleId: String? = nil,
      token: Configuration.ReadToken
    ) {
      self.hours = hours
      self.now = now
      self.environment = environment
      self.bundleId = bundleId
      self.token = token
    }

    /// The beginning of the first hour.
    var since: Int64 { (now / JournalReader.hour - hours + 1) * JournalReader.hour }

    /// Whether something of this app is asked for and may be shown; what does not say of which app
    /// it is, to those alone who may see everything.
    func covers(_ environment: String?, _ bundleId: String?) -> Bool {
      if let wanted = self.environment, wanted != environment { return false }
      if let wanted = self.bundleId, wanted != bundleId { return false }
      if token.bundleIds == nil && token.environments == nil { return true }
      return token.covers(environment: environment ?? "", bundleId: bundleId ?? "")
    }
  }

  private struct Asked: Sendable {
    let question: Question
    let configuration: Configuration
    let answer: @Sendable (JSONValue?) -> Void
  }

  private let asked = BoundedQueue<Asked>(capacity: 64)
  private let ending = WakeupEvent()

  /// How long one answer is waited for, and how long is counted at once while nobody asks, in
  /// nanoseconds.
  private static let patience: Int64 = 800_000_000
  private static let slice: Int64 = 50_000_000
  /// How long, in milliseconds, stopping waits for a piece that is being counted.
  private static let stopPatience: Int32 = 2000

  public init(_ ledger: Ledger, _ arrivals: Arrivals) {
    let (asked, ending) = (asked, ending)
    let started = try? Thread.start("overview") {
      ProcessLimits.yield(.toAll)
      Self.serve(asked, ledger, arrivals)
      ending.ring()
    }
    if started == nil {
      asked.close()
      ending.ring()
    }
  }

  deinit { asked.close() }

  /// - Parameters:
  ///   - configuration: the one that holds for this question.
  ///   - answer: called once, on another thread; nil: not now.
  public func ask(
    _ question: Question, _ configuration: Configuration,
    answer: @escaping @Sendable (JSONValue?) -> Void
  ) {
    let one = Asked(question: question, configuration: configuration, answer: answer)
    if !asked.put(one) { answer(nil) }
  }

  /// Ends the thread, which holds a reader of the journal. Call before the ledger stops.
  public func stop() {
    asked.close()
    ending.wait(milliseconds: Self.stopPatience)
  }

  private static func serve(_ asked: BoundedQueue<Asked>, _ ledger: Ledger, _ arrivals: Arrivals) {
    var count: OverviewCount?
    // What is not counted to its end goes on while nobody asks.
    var isWhole = true
    var since = Int64.max
    var durations: [String: Int64] = [:]
    while let batch = asked.takeAll(within: isWhole ? -1 : 0) {
      do throws(StoreError) {
        if let last = batch.last?.configuration.nonRenewingDurations, last != durations {
          (durations, count) = (last, nil)
        }
        let counting: OverviewCount
        if let count {
          counting = count
        } else {
          counting = OverviewCount(try LedgerReader(ledger, durations: durations))
          count = counting
        }
        if !batch.isEmpty { since = batch.map(\.question.since).min() ?? since }
        isWhole = try counting.advance(
          since: since, now: Clock.now(),
          until: Clock.monotonicNanoseconds() + (batch.isEmpty ? slice : patience))
        for one in batch {
          one.answer(
            try OverviewAnswer(counting, arrivals, one.configuration).json(to: one.question))
        }
      } catch {
        Log.write(.error, "overview", [("code", .string("store"))])
        (count, isWhole) = (nil, true)
        for one in batch { one.answer(nil) }
      }
    }
  }
}
