import Entitlements
import JournalStore
import Platform

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
  private static let batchSize: Int64 = 256
  /// Batches that are queued for each thread, so that none is idle while rows are written.
  private static let queueDepth = 3
  /// Rows per SQL transaction: the more, the fewer index pages are written several times.
  private static let rowCount = 4096
  /// Bytes of states at which rows are written even if they are fewer: it bounds memory where
  /// histories are long.
  private static let rowBytes = 16 << 20

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
  ) throws(StoreError) -> Bool {
    guard let build = projection.build else { return true }
    var workers: [Worker] = []
    defer { for worker in workers { worker.end() } }
    for number in 0..<max(1, threads) {
      workers.append(try Worker.start(folder, through: build.through, number: number))
    }
    return try FullFold(projection, workers, lastStream: try journal.lastStreamId())
      .run(from: build.nextStream, progress)
  }

  /// Hands out batches to the threads in turn and collects them in the same order, so that rows are
  /// written in the order of streams.
  private func run(
    from first: Int64, _ progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Bool {
    let size = Self.batchSize
    let count = max(0, (lastStream - first + size) / size)
    var requested: Int64 = 0
    var rows: [PackedStream] = []
    var bytes = 0
    var events: Int64 = 0
    var shouldContinue = true
    for batch in 0..<count where shouldContinue {
      while requested < min(count, batch + Int64(workers.count * Self.queueDepth)) {
        let start = first + requested * size
        worker(requested).request(start...min(lastStream, start + size - 1))
        requested += 1
      }
      let folded = try worker(batch).nextResult()
      rows += folded.rows
      events += folded.events
      if let build = projection.build {
        shouldContinue = progress(build.events + events, build.through)
      }
      bytes += folded.rows.reduce(0) { $0 + $1.stream.state.count }
      let isFull = rows.count >= Self.rowCount || bytes >= Self.rowBytes
      guard isFull || batch == count - 1 || !shouldContinue else { continue }
      try projection.add(built: rows, before: folded.next, events: events)
      try projection.checkpointIfNeeded()
      rows.removeAll(keepingCapacity: true)
      (bytes, events) = (0, 0)
    }
    return shouldContinue
  }

  private func worker(_ batch: Int64) -> Worker { workers[Int(batch) % workers.count] }
}

/// One thread of a full fold, with a journal reader of its own.
private final class Worker: Sendable {
  struct Folded: Sendable {
    var rows: [PackedStream] = []
    var events: Int64 = 0
    /// The stream after the last of the batch.
    let next: Int64
  }

  private let requests = BoundedQueue<ClosedRange<Int64>>(capacity: 16)
  private let results = BoundedQueue<Result<Folded, StoreError>>(capacity: 16)
  private let ended = WakeupEvent()
  private let seq: Int64

  private init(through seq: Int64) { self.seq = seq }

  static func start(
    _ folder: DataFolder, through seq: Int64, number: Int
  ) throws(StoreError) -> Worker {
    let worker = Worker(through: seq)
    do throws(PlatformError) {
      _ = try Thread.start("fold \(number)") {
        Niceness.background.apply()
        worker.serve(folder)
        worker.ended.signal()
      }
    } catch {
      throw .platform(attempt: "start a thread that folds", code: 11)
    }
    return worker
  }

  /// Queues a range of streams; results come in the order of requests.
  func request(_ streams: ClosedRange<Int64>) { _ = requests.enqueue(streams) }

  /// Waits for the next result.
  func nextResult() throws(StoreError) -> Folded {
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
    do throws(StoreError) {
      let (journal, packer) = (try JournalReader.open(folder), StatePacker())
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
  ) throws(StoreError) -> Folded {
    var folded = Folded(next: streams.upperBound + 1)
    var done: [(stream: Int64, state: StreamState, broken: String?)] = []
    var current: (stream: Int64, state: StreamState, broken: String?)?
    try journal.forEachPayload(ofStreams: streams, through: seq) { stream, payload in
      if current?.stream != stream {
        if let current { done.append(current) }
        current = (stream, StreamState(), nil)
      }
      if let event = try? JournaledNotification.foldEvent(payload) {
        current?.state.evolve(event)
      } else if current?.broken == nil {
        current?.broken = ProjectionFolder.unreadable(payload.seq)
      }
      folded.events += 1
    }
    if let current { done.append(current) }
    for (stream, state, broken) in done {
      guard let key = try journal.streamKey(stream) else { continue }
      folded.rows.append(packer.pack(FoldedStream(key, state, broken: broken)))
    }
    return folded
  }
}
