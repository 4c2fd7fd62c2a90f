/// A bounded queue whose items belong to owners that are served in turns: however many items one
/// owner has, an item of another waits for at most one of each.
public struct FairQueue<Item> {
  private struct OwnerQueue {
    var items: [(item: Item, bytes: Int)?] = []
    /// The index of the oldest item that is left.
    var first = 0
    var bytes = 0

    var count: Int { items.count - first }

    mutating func append(_ item: Item, bytes size: Int) {
      items.append((item, size))
      bytes += size
    }

    mutating func removeFirst() -> (item: Item, bytes: Int)? {
      guard first < items.count, let oldest = items[first].take() else { return nil }
      first += 1
      bytes -= oldest.bytes
      // Shortened when the smaller part is left, so that removing costs the same on average.
      if first * 2 >= items.count {
        items.removeFirst(first)
        first = 0
      }
      return oldest
    }
  }

  /// The most items that one owner may have, and the most bytes in them.
  private let share: (items: Int, bytes: Int)
  /// How many full shares the queue holds.
  private let shares: Int
  private var queues: [String: OwnerQueue] = [:]
  /// The owners that have items, the next to be served first.
  private var turns: [String] = []
  /// How many items of an owner are being served.
  private var served: [String: Int] = [:]
  /// The number of items.
  public private(set) var count = 0
  private var bytes = 0

  public init(share: Int, byteShare: Int, shares: Int) {
    self.share = (share, byteShare)
    self.shares = shares
  }

  /// Adds an item behind those of the same owner.
  ///
  /// - Parameters:
  ///   - size: the bytes that it holds.
  ///   - isForced: whether it is added however many there are.
  /// - Returns: false if that would be more than the owner's share or than the queue holds; then
  ///   nothing was added.
  public mutating func enqueue(
    _ item: Item, of owner: String, bytes size: Int = 0, isForced: Bool = false
  ) -> Bool {
    var queue = queues[owner] ?? OwnerQueue()
    let isWithinShare = queue.count < share.items && size <= share.bytes - queue.bytes
    let isWithinCapacity = count < share.items * shares && size <= share.bytes * shares - bytes
    guard isForced || isWithinShare && isWithinCapacity else { return false }
    if queue.count == 0 { turns.append(owner) }
    // Taken out first: the array would be copied if both had it.
    queues[owner] = nil
    queue.append(item, bytes: size)
    queues[owner] = queue
    count += 1
    bytes += size
    return true
  }

  /// Removes the oldest item of the owner whose turn it is, passing over those of whom enough are
  /// being served.
  ///
  /// - Parameter most: how many of one owner may be served at a time. The caller says with `finish`
  ///   when one was.
  public mutating func dequeue(serving most: Int = .max) -> (item: Item, owner: String)? {
    guard let turn = turns.firstIndex(where: { served[$0] ?? 0 < most }),
      var queue = queues.removeValue(forKey: turns[turn])
    else { return nil }
    let owner = turns.remove(at: turn)
    let oldest = queue.removeFirst()
    if queue.count > 0 {
      queues[owner] = queue
      turns.append(owner)
    }
    count -= 1
    bytes -= oldest?.bytes ?? 0
    guard let oldest else { return nil }
    served[owner, default: 0] += 1
    return (oldest.item, owner)
  }

  /// Says that an item of an owner was served.
  public mutating func finish(_ owner: String) {
    let left = (served[owner] ?? 1) - 1
    served[owner] = left > 0 ? left : nil
  }
}
