import Synchronization

/// A bounded first-in, first-out queue between threads: many producers, one consumer.
///
/// The bound is what makes overload visible: when the queue is full `enqueue` fails at once, and
/// the caller answers 503 instead of waiting.
public final class BoundedQueue<Item: Sendable>: Sendable {
  private struct State {
    var items: [Item] = []
    var closed = false
  }

  private let state = Mutex(State())
  private let wakeup: WakeupEvent
  /// The most items that the queue holds, but for those of `enqueueBeyondCapacity`.
  public let capacity: Int

  /// An empty, open queue.
  public init(capacity: Int) {
    self.capacity = capacity
    wakeup = WakeupEvent()
  }

  /// Adds an item at the end.
  ///
  /// - Returns: false if the queue is full or closed; then nothing was added.
  public func enqueue(_ item: Item) -> Bool { enqueue(contentsOf: [item]) == 1 }

  /// Adds the first of these items, as many as fit, and wakes the consumer once.
  ///
  /// - Returns: how many items were added; 0 if the queue is closed.
  public func enqueue(contentsOf items: [Item]) -> Int {
    let (count, wasEmpty) = state.withLock { state in
      let count = state.closed ? 0 : min(items.count, max(0, capacity - state.items.count))
      state.items += items.prefix(count)
      return (count, count > 0 && state.items.count == count)
    }
    if wasEmpty { wakeup.signal() }
    return count
  }

  /// Adds all of these items, even if they are more than the capacity, unless the queue is full.
  ///
  /// - Returns: false if the queue is full or closed; then nothing was added.
  public func enqueue(whole items: [Item]) -> Bool {
    let (isAdded, wasEmpty) = state.withLock { state in
      guard !state.closed, state.items.count < capacity else { return (false, false) }
      let wasEmpty = state.items.isEmpty
      state.items += items
      return (true, wasEmpty)
    }
    if wasEmpty { wakeup.signal() }
    return isAdded
  }

  /// Adds an item at the end, also to a full queue: for the few orders that must not be lost among
  /// many other items.
  ///
  /// - Returns: false if the queue is closed; then nothing was added.
  public func enqueueBeyondCapacity(_ item: Item) -> Bool {
    let (isAdded, wasEmpty) = state.withLock { state in
      if !state.closed { state.items.append(item) }
      return (!state.closed, state.items.count == 1)
    }
    if isAdded && wasEmpty { wakeup.signal() }
    return isAdded
  }

  /// Waits for items and removes all of them, oldest first.
  ///
  /// - Parameter milliseconds: the timeout; a negative value means none.
  /// - Returns: an empty array after the timeout; nil once the queue is closed and empty.
  public func dequeueAll(within milliseconds: Int32 = -1) -> [Item]? {
    var hasWaited = false
    while true {
      let (items, closed) = state.withLock { state in
        let items = state.items
        state.items.removeAll(keepingCapacity: true)
        return (items, state.closed)
      }
      if !items.isEmpty { return items }
      if closed { return nil }
      if hasWaited { return [] }
      wakeup.wait(milliseconds: milliseconds)
      hasWaited = milliseconds >= 0
    }
  }

  /// Waits for the oldest item and removes it. For one consumer, like `dequeueAll`.
  ///
  /// - Returns: nil once the queue is closed and empty.
  public func dequeue() -> Item? {
    while true {
      let (item, closed) = state.withLock { state in
        (state.items.isEmpty ? nil : state.items.removeFirst(), state.closed)
      }
      if let item { return item }
      if closed { return nil }
      wakeup.wait()
    }
  }

  /// Closes the queue: `enqueue` fails from now on, and the consumer gets what is queued, then nil.
  public func close() {
    state.withLock { $0.closed = true }
    wakeup.signal()
  }

  public var isClosed: Bool { state.withLock { $0.closed } }

  /// How many items are queued now.
  public var count: Int { state.withLock { $0.items.count } }
}
