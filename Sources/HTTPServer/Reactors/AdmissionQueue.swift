/// What is read and waits for its work, oldest first, and who is told at once to come again.
///
/// A reactor works in its own thread, so whoever comes waits for all before it. Without a bound a
/// load above what the machine bears would make every client wait for minutes, and the answer of
/// most would come when nobody listens any more. So there are two, both of time, since a count says
/// nothing on a machine that is slower today than yesterday:
///
/// - at the end of the line: one is not let in where those before it will take longer than
///   `patience`, going by how fast the line moved lately. It learns so at once;
/// - at the head: one that has waited twice as long is not begun where many wait behind it. That is
///   for when the guess was wrong, because the processor was taken away meanwhile; a short line is
///   worked off all the same.
///
/// A line is never closed to the first few: so many are answered within a second on any machine
/// that can be called one, and the guess may have been made while it had other things to do.
package struct AdmissionQueue<Item> {
  /// What waits may take, in nanoseconds, as far as one can tell.
  package let patience: Int64
  /// So many may wait however long that is expected to take.
  package let few: Int
  /// What waits may hold, in bytes: bodies are kept in memory.
  package let room: Int
  private var items: [(item: Item, bytes: Int, since: Int64)] = []
  /// Those before it are gone; the array is cut once they are the greater part.
  private var first = 0
  private var bytes = 0
  /// What one takes, in nanoseconds: a mean in which the newest turn counts for a quarter, and no
  /// single one for more than four times the mean. The guess before the first is a slow machine's.
  private var cost: Int64 = 1_000_000

  package init(patience: Int64, few: Int = 1, room: Int) {
    self.patience = patience
    self.few = few
    self.room = room
  }

  package var count: Int { items.count - first }
  package var isEmpty: Bool { count == 0 }

  /// Lets one in at the end; false where it would wait too long, or has no room.
  ///
  /// - Parameter now: monotonic nanoseconds.
  package mutating func join(_ item: Item, bytes size: Int, at now: Int64) -> Bool {
    guard isEmpty || (size <= room - bytes && (count < few || expected <= patience)) else {
      return false
    }
    items.append((item, size, now))
    bytes += size
    return true
  }

  /// What those that wait will take, in nanoseconds, as far as one can tell.
  private var expected: Int64 { Int64(count) * cost }

  /// The one at the head, and whether it waited too long to be begun.
  package mutating func next(at now: Int64) -> (item: Item, isLate: Bool)? {
    guard first < items.count else { return nil }
    let (item, size, since) = items[first]
    first += 1
    bytes -= size
    if first * 2 >= items.count {
      items.removeFirst(first)
      first = 0
    }
    let isLate = now - since > 2 * patience && count >= few && expected > patience / 4
    return (item, isLate)
  }

  /// Learns that the line moved on by so many in so many nanoseconds, whatever else was done then.
  package mutating func note(_ count: Int, took nanoseconds: Int64) {
    guard count > 0 else { return }
    cost += (min(nanoseconds / Int64(count), 4 * cost) - cost) / 4
    cost = max(cost, 1_000)
  }
}
