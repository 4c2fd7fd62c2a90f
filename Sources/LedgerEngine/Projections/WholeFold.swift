import Entitlements
import JournalStore
import Platform

/// Folds the whole journal into a projection that is being built: stream by stream, on several
/// threads, each row written once.
///
/// Memory holds a few hundred streams whatever the journal's size. How far it came commits with the
/// rows, so a build that was cut off goes on where it was.
struct WholeFold: ~Copyable {
  private let projection: Projection
  private let workers: [Worker]
  private let lastStream: Int64

  /// Streams that one thread folds in one go.
  private static let pieceCount: Int64 = 256
  /// Pieces that wait for each thread, so that none is idle while rows are written.
  private static let depth = 3
  /// Rows written in one go: the more, the fewer pages of the indexes are written again and again.
  private static let rowCount = 4096
  /// Bytes of states after which rows are written, however few: long histories do not add up.
  private static let rowBytes = 16 << 20

  private init(_ projection: Projection, _ workers: [Worker], lastStream: Int64) {
    self.projection = projection
    self.workers = workers
    self.lastStream = lastStream
  }

  /// Goes on from where `projection.build` is, to its end.
  ///
  /// - Parameter progress: events in the rows and events in all, after every piece; false stops.
  /// - Returns: whether it came to the end.
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
    return try WholeFold(projection, workers, lastStream: try journal.lastStreamId())
      .run(from: build.nextStream, progress)
  }

  /// Pieces are handed out in turn and taken back in turn, so rows are written in their order.
  private func run(
    from first: Int64, _ progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Bool {
    let size = Self.pieceCount
    let count = max(0, (lastStream - first + size) / size)
    var isAsked: Int64 = 0
    var rows: [ProjectedRow] = []
    var bytes = 0
    var events: Int64 = 0
    var shouldContinue = true
    for piece in 0..<count where shouldContinue {
      while isAsked < min(count, piece + Int64(workers.count * Self.depth)) {
        let start = first + isAsked * size
        worker(isAsked).ask(start...min(lastStream, start + size - 1))
        isAsked += 1
      }
      let folded = try worker(piece).answer()
      rows += folded.rows
      events += folded.events
      if let build = projection.build {
        shouldContinue = progress(build.events + events, build.through)
      }
      bytes += folded.rows.reduce(0) { $0 + $1.state.count }
      let isFull = rows.count >= Self.rowCount || bytes >= Self.rowBytes
      guard isFull || piece == count - 1 || !shouldContinue else { continue }
      try projection.add(built: rows, before: folded.next, events: events)
      try projection.checkpointIfNeeded()
      rows.removeAll(keepingCapacity: true)
      (bytes, events) = (0, 0)
    }
    return shouldContinue
  }

  private func worker(_ piece: Int64) -> Worker { workers[Int(piece) % workers.count] }
}

/// One thread of a whole fold, with a journal reader of its own.
private final class Worker: Sendable {
  struct Folded: Sendable {
    var rows: [ProjectedRow] = []
    var events: Int64 = 0
    /// The stream after the last of these.
    let next: Int64
  }

  private let questions = BoundedQueue<ClosedRange<Int64>>(capacity: 16)
  private let answers = BoundedQueue<Result<Folded, StoreError>>(capacity: 16)
  private let ended = WakeupEvent()
  private let seq: Int64

  private init(through seq: Int64) { self.seq = seq }

  static func start(
    _ folder: DataFolder, through seq: Int64, number: Int
  ) throws(StoreError) -> Worker {
    let worker = Worker(through: seq)
    do throws(PlatformError) {
      _ = try Thread.start("fold \(number)") {
        ProcessLimits.yield(.toAll)
        worker.serve(folder)
        worker.ended.ring()
      }
    } catch {
      throw .platform(attempt: "start a thread that folds", code: 11)
    }
    return worker
  }

  /// Folds the streams of a range; the answers come in the order of the questions.
  func ask(_ streams: ClosedRange<Int64>) { _ = questions.put(streams) }

  func answer() throws(StoreError) -> Folded {
    guard let answer = answers.take() else { throw .sql("a thread that folds has ended") }
    return try answer.get()
  }

  /// Returns once the thread is gone, and its reader with it.
  func end() {
    questions.close()
    answers.close()
    ended.wait()
  }

  private func serve(_ folder: DataFolder) {
    do throws(StoreError) {
      let journal = try JournalReader.open(folder)
      while let streams = questions.take() {
        if !answers.put(.success(try fold(streams, journal))) { break }
      }
      journal.close()
    } catch {
      _ = answers.put(.failure(error))
    }
  }

  private func fold(
    _ streams: ClosedRange<Int64>, _ journal: JournalReader
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
      folded.rows.append(ProjectionFolder.row(key, state, broken))
    }
    return folded
  }
}
