/// Requests that wait for their work, oldest first, with admission control.
///
/// A reactor works on its own thread, so a request waits for all requests before it. Without a
/// bound, a load above what the machine can do would make every client wait for minutes, and most
/// responses would come after the client has given up. The two bounds are times, as in CoDel,
/// because a number of requests says nothing about a machine that is slower today than yesterday:
///
/// - At the tail: a request is not admitted if the requests before it are expected to take longer
///   than `targetDelay`, judged by how fast the queue moved lately. Its client learns so at once.
/// - At the head: a request that has waited twice as long is not started if many wait behind it.
///   This is for a wrong estimate, after the processor was taken away; a short queue is still
///   processed in full.
///
/// The first `minimumDepth` requests are always admitted: any machine that this is made for answers
/// that many within a second, and the estimate may date from a time when it was busy with other
/// work.
package struct AdmissionQueue<Item> {
  private struct Entry {
    let item: Item
    let bytes: Int
    let enqueuedAt: Int64
  }

  /// As many items are admitted however long they are expected to wait.
  let minimumDepth: Int
  /// What the waiting items may hold in all, in bytes, because bodies stay in memory.
  let byteCapacity: Int
  /// The longest time, in nanoseconds, that an item may be expected to wait.
  let targetDelay: Int64
  private var entries: [Entry] = []
  /// The index of the oldest entry. Entries before it are gone; the array is shortened when they
  /// are the greater part.
  private var first = 0
  private var bytes = 0
  /// The time one item takes, in nanoseconds: a moving average in which the newest batch counts for
  /// a quarter, limited to four times the average so far. It starts with the time of a slow
  /// machine.
  private var serviceTime: Int64 = 1_000_000

  package init(minimumDepth: Int = 1, byteCapacity: Int, targetDelay: Int64) {
    self.minimumDepth = minimumDepth
    self.byteCapacity = byteCapacity
    self.targetDelay = targetDelay
  }

  package var count: Int { entries.count - first }
  package var isEmpty: Bool { count == 0 }

  /// Adds an item at the tail.
  ///
  /// - Parameter now: monotonic nanoseconds.
  /// - Returns: false if the item would wait too long or exceed the byte capacity; it is then not
  ///   added.
  package mutating func enqueue(_ item: Item, bytes size: Int, at now: Int64) -> Bool {
    let isShort = count < minimumDepth || expectedDelay <= targetDelay
    guard isEmpty || (size <= byteCapacity - bytes && isShort) else { return false }
    entries.append(Entry(item: item, bytes: size, enqueuedAt: now))
    bytes += size
    return true
  }

  /// The expected time, in nanoseconds, to process all that wait.
  private var expectedDelay: Int64 { Int64(count) * serviceTime }

  /// Removes the item at the head, and says whether it waited too long to be started.
  package mutating func dequeue(at now: Int64) -> (item: Item, isLate: Bool)? {
    guard first < entries.count else { return nil }
    let entry = entries[first]
    first += 1
    bytes -= entry.bytes
    if first * 2 >= entries.count {
      entries.removeFirst(first)
      first = 0
    }
    let isLate =
      now - entry.enqueuedAt > 2 * targetDelay && count >= minimumDepth
      && expectedDelay > targetDelay / 4
    return (entry.item, isLate)
  }

  /// Updates the estimate: the queue moved on by `count` items in `nanoseconds`, including whatever
  /// else the thread did meanwhile.
  package mutating func recordService(count: Int, nanoseconds: Int64) {
    guard count > 0 else { return }
    serviceTime += (min(nanoseconds / Int64(count), 4 * serviceTime) - serviceTime) / 4
    serviceTime = max(serviceTime, 1_000)
  }
}
