import Synchronization

/// A bounded queue between threads: many may put, one takes all that waits.
///
/// Bounded because foreground work is: past `capacity` `put` says so, and the caller answers 503.
public final class BoundedQueue<Item: Sendable>: Sendable {
  private struct State {
    var items: [Item] = []
    var closed = false
  }

  private let state = Mutex(State())
  private let bell: WakeupEvent
  public let capacity: Int

  public init(capacity: Int) {
    self.capacity = capacity
    bell = WakeupEvent()
  }

  /// Adds an item; false when the box is full or closed, and nothing was added.
  public func put(_ item: Item) -> Bool { put(contentsOf: [item]) == 1 }

  /// Adds the first of these items, as many as there is room for, and wakes the taker once.
  ///
  /// - Returns: how many were added; 0 when the box is closed.
  public func put(contentsOf items: [Item]) -> Int {
    let (count, wakes) = state.withLock { state in
      let count = state.closed ? 0 : min(items.count, capacity - state.items.count)
      state.items += items.prefix(count)
      return (count, count > 0 && state.items.count == count)
    }
    if wakes { bell.ring() }
    return count
  }

  /// Waits for items and takes them all, oldest first; nil once closed and empty.
  ///
  /// - Parameter milliseconds: after so long without an item none is the answer; negative: never.
  public func takeAll(within milliseconds: Int32 = -1) -> [Item]? {
    var isOver = false
    while true {
      let (items, closed) = state.withLock { state in
        let items = state.items
        state.items.removeAll(keepingCapacity: true)
        return (items, state.closed)
      }
      if !items.isEmpty { return items }
      if closed { return nil }
      if isOver { return [] }
      bell.wait(milliseconds: milliseconds)
      isOver = milliseconds >= 0
    }
  }

  /// Waits for the oldest item and takes it; nil once closed and empty. For one taker, as
  /// `takeAll`.
  public func take() -> Item? {
    while true {
      let (item, closed) = state.withLock { state in
        (state.items.isEmpty ? nil : state.items.removeFirst(), state.closed)
      }
      if let item { return item }
      if closed { return nil }
      bell.wait()
    }
  }

  /// No further items are taken in; the taker gets what waits, then nil.
  public func close() {
    state.withLock { $0.closed = true }
    bell.ring()
  }

  public var isClosed: Bool { state.withLock { $0.closed } }

  public var count: Int { state.withLock { $0.items.count } }
}
