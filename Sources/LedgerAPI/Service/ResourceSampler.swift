import JournalStore
public import LedgerEngine
import LedgerQueries
public import Platform
import Synchronization

/// A thread that samples once a second what no request should wait for: sizes of files, free disk
/// space, and, if metrics are requested, the number of rows with each status.
public final class ResourceSampler: Sendable {
  private let ledger: Ledger
  private let durations: @Sendable () -> [String: Int64]
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
  /// The shortest pause between two counts of rows, in nanoseconds, and the shortest pause as a
  /// multiple of the time that a count took: counting uses at most a few percent of a processor.
  private static let countPause: Int64 = 10_000_000_000
  private static let countPauseFactor: Int64 = 20

  private init(
    _ ledger: Ledger, _ durations: @escaping @Sendable () -> [String: Int64],
    _ heartbeat: @escaping @Sendable () -> Void
  ) {
    (self.ledger, self.durations, self.heartbeat) = (ledger, durations, heartbeat)
  }

  /// Takes the first sample, and starts a thread that takes the others.
  ///
  /// - Parameters:
  ///   - durations: returns how long non-renewing products last, in milliseconds, by product id.
  ///   - heartbeat: called after every sample, about once a second, on that thread.
  /// - Throws: `PlatformError` when the kernel refuses the thread.
  public static func start(
    _ ledger: Ledger, durations: @escaping @Sendable () -> [String: Int64],
    heartbeat: @escaping @Sendable () -> Void
  ) throws(PlatformError) -> ResourceSampler {
    let sampler = ResourceSampler(ledger, durations, heartbeat)
    sampler.sample()
    _ = try Thread.start("sampler") {
      sampler.run()
      sampler.stopped.signal()
    }
    return sampler
  }

  /// The latest sample.
  public var readings: ResourceReadings { latest.withLock { $0 } }

  /// Requests that the rows are counted again soon. Until then `readings` has the earlier count.
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
    var nextCount = Int64.min
    while !isStopping {
      wakeup.wait(milliseconds: Int32(Self.interval))
      sample()
      guard !isStopping, Clock.monotonicNanoseconds() >= nextCount,
        isCountRequested.exchange(false, ordering: .relaxed)
      else { continue }
      let time = countByStatus()
      nextCount =
        Clock.monotonicNanoseconds() + max(Self.countPause, Self.countPauseFactor * time)
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

  /// Counts the rows in short steps, with pauses in between.
  ///
  /// - Returns: nanoseconds of work, without the pauses.
  private func countByStatus() -> Int64 {
    var work: Int64 = 0
    var result: RowCount.Result?
    var isReadable = true
    do {
      let reader = try LedgerReader(ledger, durations: durations())
      let count = RowCount(reader, at: Clock.now())
      var sampledAt = Clock.monotonicNanoseconds()
      while result == nil, !isStopping {
        let start = Clock.monotonicNanoseconds()
        result = try count.advance()
        let end = Clock.monotonicNanoseconds()
        work += end - start
        guard result == nil else { break }
        // Four times as long as the step took: at most a fifth of a processor.
        wakeup.wait(milliseconds: Int32(clamping: (end - start) / 250_000 + 1))
        if end - sampledAt > Self.interval * 1_000_000 {
          sample()
          sampledAt = end
        }
      }
    } catch {
      isReadable = false
    }
    // If stopping interrupted the count, the earlier count stays.
    if result != nil || !isReadable { latest.withLock { $0.rows = result } }
    return work
  }
}
