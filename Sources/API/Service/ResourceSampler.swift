import Ledger
import Platform
import Queries
import Store
import Synchronization

/// A thread that samples once a second what no request should wait for: sizes of files, free disk
/// space, and, if metrics are requested, the number of rows with each status.
final class ResourceSampler: Sendable {
  private let ledger: Ledger
  private let rows: RowCounts
  private let posted: PostedTimes
  private let heartbeat: @Sendable () -> Void
  private let latest = Mutex(ResourceReadings())
  /// Once at the start, so that the first scrape finds what is true for long.
  private let isCountRequested = Atomic<Bool>(true)
  private let thread = ServiceThread("sampler")

  /// Milliseconds between two samples.
  private static let interval: Int64 = 1000
  /// How long, in milliseconds, `stop` waits for a sample that is being taken.
  private static let stopTimeout: Int32 = 2000

  private init(
    _ ledger: Ledger, _ rows: RowCounts, _ posted: PostedTimes,
    _ heartbeat: @escaping @Sendable () -> Void
  ) {
    (self.ledger, self.rows, self.posted) = (ledger, rows, posted)
    self.heartbeat = heartbeat
  }

  /// Takes the first sample, and starts a thread that takes the others.
  ///
  /// - Parameters:
  ///   - rows: counted if metrics were requested, and once at the start.
  ///   - posted: completed by what came before the start, once the rows are live.
  ///   - heartbeat: called after every sample, about once a second, on that thread.
  /// - Throws: `LedgerError` when the kernel refuses the thread.
  static func start(
    _ ledger: Ledger, _ rows: RowCounts, _ posted: PostedTimes,
    heartbeat: @escaping @Sendable () -> Void
  ) throws(LedgerError) -> ResourceSampler {
    let sampler = ResourceSampler(ledger, rows, posted, heartbeat)
    sampler.sample()
    try sampler.thread.start { sampler.run() }
    return sampler
  }

  /// The latest sample.
  var readings: ResourceReadings { latest.withLock { $0 } }

  /// Requests that the rows are counted again soon.
  func requestRowCount() { isCountRequested.store(true, ordering: .relaxed) }

  /// Stops the thread. Call it before the ledger stops, because the thread may hold a reader of the
  /// projection.
  func stop() { thread.stop(within: Self.stopTimeout) }

  private func run() {
    // Those after it are recorded as they come.
    let last = ledger.seq
    var isPostedKnown = false
    while !thread.isStopping {
      if !isPostedKnown { isPostedKnown = readPosted(through: last) }
      thread.wait(milliseconds: Self.interval)
      sample()
      guard !thread.isStopping, isCountRequested.exchange(false, ordering: .relaxed),
        let reader = try? LedgerReader(ledger, limit: thread.limit)
      else { continue }
      _ = rows.counts(reader, at: Clock.now())
      let shared = try? reader.sharedPurchaseCount()
      latest.withLock { $0.sharedPurchases = shared ?? $0.sharedPurchases }
    }
  }

  /// Reads when Apple posted the events through a seq.
  ///
  /// - Returns: false if they cannot be read now.
  private func readPosted(through seq: Int64) -> Bool {
    guard let reader = try? LedgerReader(ledger, limit: thread.limit),
      let hours = reader.hours(), hours.through >= seq
    else { return false }
    return (try? posted.add(hours.counts, reader.journal)) != nil
  }

  /// Reads the sizes of files and the free disk space.
  private func sample() {
    let folder = ledger.folder
    let journal = (try? DurableFile.size(folder.journal)) ?? nil
    let wal = (try? DurableFile.size(folder.journalWAL)) ?? nil
    let disk = try? DiskSpace.of(folder.path)
    latest.withLock { readings in
      readings.journalBytes = journal ?? 0
      readings.walBytes = wal ?? 0
      readings.disk = disk
    }
    heartbeat()
  }
}
