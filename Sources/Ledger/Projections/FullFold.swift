import AppStore
import Entitlements
import Platform
import Store

/// Folds the whole journal into a projection that is being built: stream by stream, on several
/// threads, each row written once.
///
/// Memory holds a few hundred streams whatever the journal's size. The progress is committed with
/// the rows, so an interrupted build continues where it stopped.
struct FullFold: ~Copyable {
  private let projection: Projection
  private let workers: [Worker]
  private let lastStream: Int64

  /// Streams in a batch, which one thread folds.
  private static let batchSize: Int64 = 128
  /// Batches that are requested in advance for each thread, so that none is idle while rows are
  /// written.
  private static let queueDepth = 3
  /// Batches per SQL transaction: the more, the fewer index pages are written several times.
  private static let batchesPerCommit: Int64 = 32

  private init(_ projection: Projection, _ workers: [Worker], lastStream: Int64) {
    self.projection = projection
    self.workers = workers
    self.lastStream = lastStream
  }

  /// Continues the build at `projection.build`, to its end.
  ///
  /// - Parameter progress: called after every batch with the number of events folded and of all
  ///   events; false stops.
  /// - Returns: whether the build is complete.
  static func run(
    _ projection: Projection, _ folder: DataFolder, _ journal: JournalReader, threads: Int,
    progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Bool {
    guard let build = projection.build else { return true }
    var workers: [Worker] = []
    defer { for worker in workers { worker.end() } }
    for number in 0..<max(1, threads) {
      workers.append(
        try Worker.start(
          folder, through: build.through, number: number,
          capacity: max(1, threads) * queueDepth))
    }
    return try FullFold(projection, workers, lastStream: try journal.lastStreamId())
      .run(from: build.nextStream, progress)
  }

  /// Hands out each batch to the thread that has the fewest left, since the threads are not equally
  /// fast, and collects the results in the order of streams, in which rows are written.
  private func run(
    from first: Int64, _ progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Bool {
    let size = Self.batchSize
    let count = max(0, (lastStream - first + size) / size)
    var batch: Int64 = 0
    /// Who folds each batch that was requested.
    var requested: [Worker] = []
    var events = projection.build?.events ?? 0
    let through = projection.build?.through ?? 0
    var shouldContinue = true
    while shouldContinue, batch < count {
      let end = min(count, batch + Self.batchesPerCommit)
      try projection.addBuilt { () throws(LedgerError) in
        guard shouldContinue, batch < end else { return nil }
        while requested.count < min(count, batch + Int64(workers.count * Self.queueDepth)) {
          guard let worker = workers.min(by: { $0.backlog < $1.backlog }) else { return nil }
          let start = first + Int64(requested.count) * size
          worker.request(start...min(lastStream, start + size - 1))
          requested.append(worker)
        }
        let built = try requested[Int(batch)].nextResult()
        batch += 1
        events += built.events
        shouldContinue = progress(events, through)
        return built
      }
      try projection.checkpointIfNeeded()
    }
    return shouldContinue
  }

}

/// One thread of a full fold, with a journal reader of its own.
private final class Worker: Sendable {
  private let requests: BoundedQueue<ClosedRange<Int64>>
  private let results: BoundedQueue<Result<BuiltStreams, LedgerError>>
  private let ended = WakeupEvent()
  private let seq: Int64

  private init(through seq: Int64, capacity: Int) {
    self.seq = seq
    requests = BoundedQueue(capacity: capacity)
    // And the error that ends the thread.
    results = BoundedQueue(capacity: capacity + 1)
  }

  static func start(
    _ folder: DataFolder, through seq: Int64, number: Int, capacity: Int
  ) throws(LedgerError) -> Worker {
    let worker = Worker(through: seq, capacity: capacity)
    do throws(LedgerError) {
      _ = try Thread.start("fold \(number)") {
        Niceness.background.apply()
        worker.serve(folder)
        worker.ended.signal()
      }
    } catch {
      throw .system("start a thread that folds", 11)
    }
    return worker
  }

  /// The number of requests that it has not begun.
  var backlog: Int { requests.count }

  /// Queues a range of streams; results come in the order of requests.
  func request(_ streams: ClosedRange<Int64>) { _ = requests.enqueue(streams) }

  /// Waits for the next result.
  func nextResult() throws(LedgerError) -> BuiltStreams {
    guard let result = results.dequeue() else { throw .sql("a thread that folds has ended") }
    return try result.get()
  }

  /// Ends the thread. Returns once its reader is closed.
  func end() {
    requests.close()
    results.close()
    ended.wait()
  }

  private func serve(_ folder: DataFolder) {
    do throws(LedgerError) {
      let (journal, packer) = (try JournalReader.open(folder, isPassing: true), StatePacker())
      while let streams = requests.dequeue() {
        if !results.enqueue(.success(try fold(streams, journal, packer))) { break }
      }
      journal.close()
    } catch {
      _ = results.enqueue(.failure(error))
    }
  }

  private func fold(
    _ streams: ClosedRange<Int64>, _ journal: JournalReader, _ packer: StatePacker
  ) throws(LedgerError) -> BuiltStreams {
    var built = BuiltStreams(before: streams.upperBound + 1)
    var current: (key: StreamKey, stream: StreamFolding)?
    func finish() throws(LedgerError) {
      guard let (key, stream) = current else { return }
      built.rows.append(packer.pack(try stream.folded(key, through: seq, journal)))
    }
    built.hours = try journal.forEachPayload(ofStreams: streams, through: seq) {
      (key, payload) throws(LedgerError) in
      if current?.key != key {
        try finish()
        current = (key, StreamFolding())
      }
      current?.stream.fold(payload)
      built.events += 1
    }
    try finish()
    return built
  }
}
