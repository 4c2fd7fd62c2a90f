/// The messages of a sink that were read from the journal and are not done, in their order.
struct MessageWindow {
  typealias Message = SinkMachine.Message

  private enum State { case waiting, underWay, done }
  private struct Entry {
    var message: Message
    var state: State
  }

  /// Ascending by ordinal.
  private var entries: [Entry] = []
  private var first = 0
  /// Messages that are not to be read again: held or dead ones after the mark.
  private var skipped: Set<SinkMachine.Place> = []

  var count: Int { entries.count - first }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ message: Message) {
    entries.append(Entry(message: message, state: .waiting))
  }

  /// Leaves out places after a mark when they are fed.
  mutating func skip(_ places: [SinkMachine.Place], after mark: SinkMachine.Mark) {
    skipped = Set(places.filter { $0.isAfter(mark) })
  }

  /// Whether a place is not to be fed; asked once for each place, as it is passed for good.
  mutating func skips(_ place: SinkMachine.Place) -> Bool { skipped.remove(place) != nil }

  var waiting: some Sequence<Message> {
    entries[first...].lazy.filter { $0.state == .waiting }.map(\.message)
  }

  /// Those of the streams that are wanted. Copies no other: there may be a thousand.
  func waiting(ofAny isWanted: (_ stream: Int64) -> Bool) -> [Message] {
    entries.indices[first...].filter { index in
      guard entries[index].state == .waiting else { return false }
      return entries[index].message.stream.map(isWanted) ?? false
    }.map { entries[$0].message }
  }

  /// When the oldest message that is not done was received; nil if there is none.
  var oldestReceivedAt: Int64? {
    isEmpty ? nil : entries[first].message.receivedAt
  }

  func waiting(_ ordinal: Int64) -> Message? {
    index(of: ordinal).flatMap { entries[$0].state == .waiting ? entries[$0].message : nil }
  }

  func waiting(at place: SinkMachine.Place) -> Message? { waiting.first { $0.place == place } }

  mutating func begin(_ ordinal: Int64) {
    if let index = index(of: ordinal) { entries[index].state = .underWay }
  }

  mutating func putBack(_ message: Message) {
    guard let index = index(of: message.ordinal) else { return }
    entries[index] = Entry(message: message, state: .waiting)
  }

  mutating func end(_ ordinal: Int64) {
    if let index = index(of: ordinal) { entries[index].state = .done }
  }

  /// Drops what is done at the beginning. Returns the mark behind it; nil if nothing is.
  mutating func advance() -> SinkMachine.Mark? {
    var reached: SinkMachine.Mark?
    while first < entries.count, entries[first].state == .done {
      reached = entries[first].message.after
      first += 1
    }
    if first == entries.count || first > 4096 {
      entries.removeFirst(first)
      first = 0
    }
    return reached
  }

  mutating func removeAll() {
    entries = []
    first = 0
  }

  private func index(of ordinal: Int64) -> Int? {
    var (low, high) = (first, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].message.ordinal < ordinal { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].message.ordinal == ordinal ? low : nil
  }
}
