import Entitlements
import JournalStore
public import LedgerEngine
import LedgerQueries
public import Platform
import Synchronization

/// A thread that looks once a second at what no request should wait for: sizes of files, room on
/// the disk, and, where somebody asks for metrics, how many rows have which status.
public final class ResourceSampler: Sendable {
  /// What was seen last.
  public struct Readings: Sendable {
    /// Bytes; 0 where there is no such file.
    public var journalBytes: Int64 = 0
    public var walBytes: Int64 = 0
    /// Nil where the disk could not be asked.
    public var disk: DiskSpace?
    /// Nil until they were counted once, and where the live rows could not be read.
    var rows: RowCount.Result?

    public init() {}
  }

  private let ledger: Ledger
  private let durations: @Sendable () -> [String: Int64]
  private let beat: @Sendable () -> Void
  private let readings = Mutex(Readings())
  private let isAsked = Atomic<Bool>(false)
  private let isEnding = Atomic<Bool>(false)
  private let bell = WakeupEvent()
  private let ending = WakeupEvent()

  private static let interval: Int64 = 1000
  /// How long, in milliseconds, stopping waits for a look that is under way.
  private static let patience: Int32 = 2000
  /// Nanoseconds between two counts of rows, and how many times the time a count took: so it never
  /// takes more than some hundredths of a processor.
  private static let rest: Int64 = 10_000_000_000
  private static let restFactor: Int64 = 20

  private init(
    _ ledger: Ledger, _ durations: @escaping @Sendable () -> [String: Int64],
    _ beat: @escaping @Sendable () -> Void
  ) {
    (self.ledger, self.durations, self.beat) = (ledger, durations, beat)
  }

  /// Looks once, and goes on looking on a thread of its own.
  ///
  /// - Parameters:
  ///   - durations: how long non-renewing products last, as configured at the time.
  ///   - beat: called about once a second, on that thread.
  public static func start(
    _ ledger: Ledger, durations: @escaping @Sendable () -> [String: Int64],
    beat: @escaping @Sendable () -> Void
  ) throws(PlatformError) -> ResourceSampler {
    let watch = ResourceSampler(ledger, durations, beat)
    watch.look()
    _ = try Thread.start("watch") {
      watch.run()
      watch.ending.ring()
    }
    return watch
  }

  public var seen: Readings { readings.withLock { $0 } }

  /// Has the rows counted again soon; what was counted before is shown meanwhile.
  public func requestRowCount() { isAsked.store(true, ordering: .relaxed) }

  /// Call before the ledger stops: it may hold a reader of the rows.
  public func stop() {
    isEnding.store(true, ordering: .sequentiallyConsistent)
    bell.ring()
    ending.wait(milliseconds: Self.patience)
  }

  private var isOver: Bool { isEnding.load(ordering: .sequentiallyConsistent) }

  private func run() {
    var due = Int64.min
    while !isOver {
      bell.wait(milliseconds: Int32(Self.interval))
      look()
      guard !isOver, Clock.monotonicNanoseconds() >= due,
        isAsked.exchange(false, ordering: .relaxed)
      else { continue }
      let took = countByStatus()
      due = Clock.monotonicNanoseconds() + max(Self.rest, Self.restFactor * took)
    }
  }

  private func look() {
    let folder = ledger.folder
    let journal = (try? DurableFile.size(folder.journal)) ?? nil
    let wal = (try? DurableFile.size(folder.journalWAL)) ?? nil
    let disk = try? DiskSpace.of(folder.path)
    readings.withLock { readings in
      readings.journalBytes = journal ?? 0
      readings.walBytes = wal ?? 0
      readings.disk = disk
    }
    beat()
  }

  /// - Returns: nanoseconds of work, without the pauses.
  private func countByStatus() -> Int64 {
    var took: Int64 = 0
    var result: RowCount.Result?
    var isFound = true
    do {
      let reader = try LedgerReader(ledger, durations: durations())
      let count = RowCount(reader, at: Clock.now())
      var looked = Clock.monotonicNanoseconds()
      while result == nil, !isOver {
        let begun = Clock.monotonicNanoseconds()
        result = try count.advance()
        let ended = Clock.monotonicNanoseconds()
        took += ended - begun
        guard result == nil else { break }
        // Four times as long as it took: a fifth of a processor at most.
        bell.wait(milliseconds: Int32(clamping: (ended - begun) / 250_000 + 1))
        if ended - looked > Self.interval * 1_000_000 {
          look()
          looked = ended
        }
      }
    } catch {
      isFound = false
    }
    // Cut off by the end: what was there stays.
    if result != nil || !isFound { readings.withLock { $0.rows = result } }
    return took
  }
}

extension ResourceSampler.Readings {
  /// Rows by environment and status, and the rows whose fold failed; nil while nobody counted.
  public var rowCounts:
    (at: Int64, rows: [(environment: String, status: String, count: Int64)], broken: Int64)?
  {
    guard let rows else { return nil }
    var counts: [String: [String: Int64]] = [:]
    for (app, statuses) in rows.byStatus {
      for (status, count) in statuses {
        counts[app.environment, default: [:]][status.rawValue, default: 0] += count
      }
    }
    let sorted = counts.sorted { $0.key < $1.key }.flatMap { environment, statuses in
      statuses.sorted { $0.key < $1.key }.map {
        (environment: environment, status: $0.key, count: $0.value)
      }
    }
    return (rows.at, sorted, rows.broken.values.reduce(0, +))
  }
}
