import Synchronization

/// Hands the events of the journal to verifying threads in batches.
final class ChainWork: Sendable {
  let head: Int64
  private let batchSize: Int64
  private let progress: @Sendable (Int64, Int64) -> Bool
  private let state = Mutex((next: Int64(1), done: Int64(0), isStopped: false))

  /// - Parameters:
  ///   - head: how many events there are, counted from 1.
  ///   - batchSize: how many events a batch has.
  ///   - progress: called with the events done and `head` after each batch; false stops the work.
  init(
    head: Int64, batchSize: Int64 = 1000, _ progress: @escaping @Sendable (Int64, Int64) -> Bool
  ) {
    self.head = head
    self.batchSize = batchSize
    self.progress = progress
  }

  /// The next batch; nil if all were handed out or the work was stopped.
  func nextBatch() -> ClosedRange<Int64>? {
    state.withLock { state in
      guard state.next <= head, !state.isStopped else { return nil }
      let batch = state.next...min(head, state.next + batchSize - 1)
      state.next = batch.upperBound + 1
      return batch
    }
  }

  func finish(_ batch: ClosedRange<Int64>) {
    let done = state.withLock { state in
      state.done += Int64(batch.count)
      return state.done
    }
    if !progress(done, head) { state.withLock { $0.isStopped = true } }
  }

  var done: Int64 { state.withLock { $0.done } }
}
