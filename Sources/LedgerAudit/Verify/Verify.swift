public import Configuration
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
    /// `SetDigest` of the live rows; nil where there are none.
    public var digest: String?
    /// Whether the rows were folded again and compared: another fold's can only be counted.
    public var comparesProjection = true
    /// Whether the whole chain was walked, and not one customer's events alone.
    public var isWhole = true
    /// Whether only places, hashes and bodies were looked at.
    public var isChainAlone = false
    /// How the journal compares with anchors; nil where it was held to none.
    public var anchors: AnchorsOutcome?
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
  ///   - anchors: what the journal must have as its beginning; nil for none.
  ///   - isChainAlone: whether to leave out signatures, columns, rows and quarantine.
  ///   - progress: events checked and the head, now and then; false stops.
  public static func run(
    _ folder: DataFolder, _ configuration: Configuration, anchors: AnchorsFile? = nil,
    isChainAlone: Bool = false, threads: Int,
    progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(VerifyError) -> Report {
    let findings = Findings()
    var report = Report()
    try readable(findings) { () throws(VerifyError) in
      report = try check(
        folder, configuration, isChainAlone, threads: threads, findings, progress)
    }
    if let anchors, !report.isStopped {
      try readable(findings) { () throws(VerifyError) in
        report.anchors = try AnchorsCheck.run(anchors, folder, findings)
      }
    }
    (report.findings, report.findingCount) = findings.sorted
    return report
  }

  private static func check(
    _ folder: DataFolder, _ configuration: Configuration, _ isChainAlone: Bool, threads: Int,
    _ findings: Findings, _ progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) throws(VerifyError) -> Report {
    let journal = try VerifyError.store { () throws(StoreError) in
      try JournalReader.open(folder)
    }
    try step(findings) { () throws(StoreError) in
      for fault in try journal.schemaFaults() { findings.add(5, nil, "the file: \(fault)") }
    }
    let (head, last) = try VerifyError.store { () throws(StoreError) in
      try places(journal, findings)
    }
    let work = ChainWork(head: last, progress: progress)
    let depth: ChainCheck.Depth =
      isChainAlone ? .chain : .signatures(configuration.trustRoots)
    let rest = Rest()
    try eachThread(isChainAlone ? threads : threads + 1) { () throws(VerifyError) in
      if !isChainAlone && rest.isFirst() {
        try rest.check(folder, configuration, head: head, findings) { work.isStopped }
      } else {
        try ChainCheck(folder, depth, findings).run(work)
      }
    }
    var report = Report(
      events: work.done, isChainAlone: isChainAlone, isStopped: work.isStopped)
    report.comparesProjection = false
    guard !work.isStopped, !isChainAlone else { return report }
    let rows = rest.rows
    (report.rows, report.digest, report.comparesProjection) = (
      rows.rows, rows.digest, rows.isCompared
    )
    return report
  }

  /// Places are dense: what lies past as many as there are is named, and not walked up to.
  ///
  /// - Returns: the last place there is, and the last one to walk to.
  private static func places(
    _ journal: JournalReader, _ findings: Findings
  ) throws(StoreError) -> (head: Int64, last: Int64) {
    // Of one moment, also while a daemon appends.
    try journal.beginSnapshot()
    defer { journal.endSnapshot() }
    let head = try journal.head().seq
    let count = try journal.eventCount()
    if head < count {
      findings.add(5, head, "is the last place, and there are \(count) events")
    }
    for seq in try journal.places(after: count, limit: maximumFindings) {
      findings.add(5, seq, "its place leaves a gap before it: there are \(count) events")
    }
    return (head, min(head, count))
  }

  /// What one thread checks beside those that walk the chain.
  private final class Rest: Sendable {
    private let isTaken = Atomic(false)
    private let outcome = Mutex(ProjectionCheck.Outcome())

    var rows: ProjectionCheck.Outcome { outcome.withLock { $0 } }

    /// True for one thread, and no other.
    func isFirst() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

    func check(
      _ folder: DataFolder, _ configuration: Configuration, head: Int64, _ findings: Findings,
      until isStopped: () -> Bool
    ) throws(VerifyError) {
      let journal = try VerifyError.store { () throws(StoreError) in
        try JournalReader.open(folder)
      }
      try step(findings, 7, "the rows' file") { () throws(StoreError) in
        let rows = try ProjectionCheck.run(folder, journal, head: head, findings, until: isStopped)
        outcome.withLock { $0 = rows }
      }
      guard !isStopped() else { return }
      try step(findings) { () throws(StoreError) in
        try QuarantineCheck.run(journal, configuration, findings)
      }
      try step(findings) { () throws(StoreError) in
        for fault in try journal.pageFaults() { findings.add(5, nil, "the file: \(fault)") }
      }
    }
  }

  /// A step of the store that a damaged file ends, and no other step.
  static func step(
    _ findings: Findings, _ promise: Int = 5, _ file: String = "journal.sqlite",
    _ body: () throws(StoreError) -> Void
  ) throws(VerifyError) {
    try readable(findings, promise, file) { () throws(VerifyError) in
      try VerifyError.store(body)
    }
  }

  /// What a damaged file ends is a finding: also SQL that fails, since in a file as it was made it
  /// does not.
  static func readable(
    _ findings: Findings, _ promise: Int = 5, _ file: String = "journal.sqlite",
    _ body: () throws(VerifyError) -> Void
  ) throws(VerifyError) {
    do throws(VerifyError) {
      try body()
    } catch {
      switch error {
      case .store(.corrupt), .store(.sql):
        findings.add(promise, nil, "\(file) is damaged: not all of it can be read")
      default: throw error
      }
    }
  }

  static func eachThread(
    _ count: Int, _ body: @escaping @Sendable () throws(VerifyError) -> Void
  ) throws(VerifyError) {
    let failure = Mutex<VerifyError?>(nil)
    let failures = Failures(failure: failure)
    var threads: [Thread] = []
    var refused = false
    while threads.count < max(1, count), !refused {
      do throws(PlatformError) {
        threads.append(
          try Thread.start("verify \(threads.count + 1)") {
            do throws(VerifyError) { try body() } catch { failures.note(error) }
          })
      } catch {
        refused = true
      }
    }
    // Gone before the process can end: OpenSSL keeps something for each.
    for thread in threads { thread.join() }
    if refused { throw .store(.platform(attempt: "start a thread", code: 11)) }
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
      add(Finding(promise: promise, seq: seq, what: what))
    }

    func add(_ finding: Finding) {
      state.withLock { state in
        state.count += 1
        state.kept.append(finding)
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
  /// Anchors that were asked for cannot be read.
  case anchors(AnchorError)

  static func store<Value>(_ step: () throws(StoreError) -> Value) throws(VerifyError) -> Value {
    do throws(StoreError) {
      return try step()
    } catch {
      throw .store(error)
    }
  }
}
