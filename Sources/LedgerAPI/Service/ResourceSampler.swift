import JournalStore
public import LedgerEngine
public import LedgerQueries
public import Platform
import Synchronization

/// A thread that samples once a second what no request should wait for: sizes of files, free disk
/// space, and, if metrics are requested, the number of rows with each status.
public final class ResourceSampler: Sendable {
  private let ledger: Ledger
  private let durations: @Sendable () -> [String: Int64]
  private let rows: RowCounts
  private let heartbeat: @Sendable () -> Void
  private let latest = Mutex(ResourceReadings())
  private let isCountRequested = Atomic<Bool>(false)
  private let isStopRequested = Atomic<Bool>(false)
  private let wakeup = WakeupEvent()
  private let stopped = WakeupEvent()

  /// Milliseconds between two samples.
  private static let interval: Int64 = 1000
  /// How long, in milliseconds, `stop` waits for a sample that is being taken.
  private static let stopTimeout: Int32 = 2000

  private init(
    _ ledger: Ledger, _ rows: RowCounts, _ durations: @escaping @Sendable () -> [String: Int64],
    _ heartbeat: @escaping @Sendable () -> Void
  ) {
    (self.ledger, self.rows, self.durations, self.heartbeat) = (ledger, rows, durations, heartbeat)
  }

  /// Takes the first sample, and starts a thread that takes the others.
  ///
  /// - Parameters:
  ///   - rows: counted if metrics were requested.
  ///   - durations: returns how long non-renewing products last, in milliseconds, by product id.
  ///   - heartbeat: called after every sample, about once a second, on that thread.
  /// - Throws: `PlatformError` when the kernel refuses the thread.
  public static func start(
    _ ledger: Ledger, _ rows: RowCounts, durations: @escaping @Sendable () -> [String: Int64],
    heartbeat: @escaping @Sendable () -> Void
  ) throws(PlatformError) -> ResourceSampler {
    let sampler = ResourceSampler(ledger, rows, durations, heartbeat)
    sampler.sample()
    _ = try Thread.start("sampler") {
      sampler.run()
      sampler.stopped.signal()
    }
    return sampler
  }

  /// The latest sample.
  public var readings: ResourceReadings { latest.withLock { $0 } }

  /// Requests that the rows are counted again soon.
  public func requestRowCount() { isCountRequested.store(true, ordering: .relaxed) }

  /// Stops the thread. Call it before the ledger stops, because the thread may hold a reader of the
  /// projection.
  public func stop() {
    isStopRequested.store(true, ordering: .sequentiallyConsistent)
    wakeup.signal()
    stopped.wait(milliseconds: Self.stopTimeout)
  }

  private var isStopping: Bool { isStopRequested.load(ordering: .sequentiallyConsistent) }

  private func run() {
    while !isStopping {
      wakeup.wait(milliseconds: Int32(Self.interval))
      sample()
      guard !isStopping, isCountRequested.exchange(false, ordering: .relaxed),
        let reader = try? LedgerReader(ledger, durations: durations())
      else { continue }
      _ = rows.counts(reader, at: Clock.now())
      let shared = try? reader.sharedPurchaseCount()
      latest.withLock { $0.sharedPurchases = shared ?? $0.sharedPurchases }
    }
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
