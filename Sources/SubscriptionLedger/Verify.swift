public import JournalStore
import Platform
import SignedData
import Synchronization

/// Checks every promise on the data at rest, without changing a byte of it.
public enum Verify {
  /// A promise that does not hold, and where that shows first.
  public struct Finding: Sendable, Equatable {
    /// The promise's number.
    public let promise: Int
    /// The place in the journal; nil where it is about something else.
    public let seq: Int64?
    public let what: String
  }

  public struct Report: Sendable {
    public var events: Int64 = 0
    public var rows: Int64 = 0
    /// `RowsDigest` of the live rows; nil where there are none.
    public var digest: String?
    /// Whether the rows were folded again and compared: another fold's can only be counted.
    public var areRowsCompared = true
    /// Lowest place first; at most `maximumFindings`.
    public var findings: [Finding] = []
    /// How many there are, kept or not.
    public var findingCount = 0
    public var isStopped = false
  }

  /// Findings that are kept; the first one is what matters.
  public static let maximumFindings = 1000

  /// Verifies a folder, whether a daemon runs on it or not, with a thread for each processor.
  ///
  /// - Parameters:
  ///   - progress: events checked and the head, now and then; false stops.
  public static func run(
    _ folder: DataFolder, _ configuration: Configuration, threads: Int,
    progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(VerifyError) -> Report {
    let journal = try VerifyError.store { () throws(StoreError) in
      try JournalReader.open(folder)
    }
    let head = try VerifyError.store { () throws(StoreError) in try journal.head().seq }
    let findings = Findings()
    let work = ChainWork(head: head, progress: progress)
    try eachThread(threads) { () throws(VerifyError) in
      try ChainCheck(folder, configuration, findings).run(work)
    }
    var report = Report(events: work.done, isStopped: work.isStopped)
    if !work.isStopped {
      try VerifyError.store { () throws(StoreError) in
        try QuarantineCheck.run(journal, configuration, findings)
        let rows = try RowsCheck.run(folder, journal, head: head, findings)
        (report.rows, report.digest, report.areRowsCompared) =
          (rows.rows, rows.digest, rows.isCompared)
      }
    }
    (report.findings, report.findingCount) = findings.sorted
    return report
  }

  static func eachThread(
    _ count: Int, _ body: @escaping @Sendable () throws(VerifyError) -> Void
  ) throws(VerifyError) {
    let failure = Mutex<VerifyError?>(nil)
    let failures = Failures(failure: failure)
    var threads: [Ledger.Ending] = []
    for number in 1..<max(2, count + 1) {
      let ending = Ledger.Ending()
      do throws(PlatformError) {
        _ = try Thread.start("verify \(number)") {
          do throws(VerifyError) { try body() } catch { failures.note(error) }
          ending.bell.ring()
        }
        threads.append(ending)
      } catch {
        throw .store(.platform(attempt: "start a thread", code: 11))
      }
    }
    for thread in threads { thread.bell.wait() }
    if let first = failures.first { throw first }
  }

  /// The first failure of any thread.
  private final class Failures: Sendable {
    private let failure: Mutex<VerifyError?>
    init(failure: consuming Mutex<VerifyError?>) { self.failure = failure }
    func note(_ error: VerifyError) { failure.withLock { $0 = $0 ?? error } }
    var first: VerifyError? { failure.withLock { $0 } }
  }

  /// What was found, by all threads.
  final class Findings: Sendable {
    private let state = Mutex<(kept: [Finding], count: Int)>(([], 0))

    func add(_ promise: Int, _ seq: Int64?, _ what: String) {
      state.withLock { state in
        state.count += 1
        state.kept.append(Finding(promise: promise, seq: seq, what: what))
        // The lowest places are the ones to keep, whichever thread was first.
        guard state.kept.count >= 2 * maximumFindings else { return }
        state.kept = Array(Self.ordered(state.kept).prefix(maximumFindings))
      }
    }

    var sorted: ([Finding], Int) {
      state.withLock { (Array(Self.ordered($0.kept).prefix(maximumFindings)), $0.count) }
    }

    private static func ordered(_ findings: [Finding]) -> [Finding] {
      findings.sorted { ($0.seq ?? .max, $0.promise) < ($1.seq ?? .max, $1.promise) }
    }
  }
}

/// Why a verification could not be made.
public enum VerifyError: Error, Sendable {
  case store(StoreError)
  case configuration(ConfigurationError)

  static func store<Value>(_ step: () throws(StoreError) -> Value) throws(VerifyError) -> Value {
    do throws(StoreError) {
      return try step()
    } catch {
      throw .store(error)
    }
  }
}
