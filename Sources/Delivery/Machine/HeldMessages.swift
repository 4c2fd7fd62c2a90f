/// The messages of a sink that were refused, and those that wait behind one of the same customer.
struct HeldMessages {
  typealias Ordinal = SinkMachine.Ordinal

  private var entries: [Ordinal: SinkMachine.HeldMessage] = [:]
  /// The held messages of each customer, ascending; only the first is tried.
  private var streams: [Int64: [Ordinal]] = [:]
  /// When which message is due, ascending. An entry whose time is no longer the message's is void.
  private var timers: [(at: Int64, ordinal: Ordinal)] = []

  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }
  var all: some Sequence<SinkMachine.HeldMessage> { entries.values }

  /// Those that are first in order.
  func first(_ count: Int) -> [SinkMachine.HeldMessage] {
    entries.keys.sorted().prefix(count).compactMap { entries[$0] }
  }

  func hasStream(_ stream: Int64) -> Bool { streams[stream] != nil }

  func message(_ ordinal: Ordinal) -> SinkMachine.Message? { entries[ordinal]?.message }

  subscript(ordinal: Ordinal) -> SinkMachine.HeldMessage? { entries[ordinal] }

  func message(at place: SinkMachine.Place) -> SinkMachine.Message? {
    entries.values.first { $0.message.place == place }?.message
  }

  /// Adds a message, or replaces it.
  mutating func add(_ held: SinkMachine.HeldMessage) {
    let ordinal = held.message.ordinal
    let isNew = entries.updateValue(held, forKey: ordinal) == nil
    if isNew, let stream = held.message.stream {
      var ordinals = streams[stream] ?? []
      ordinals.insert(ordinal, at: ordinals.firstIndex { $0 > ordinal } ?? ordinals.endIndex)
      streams[stream] = ordinals
    }
    if isFirst(held.message) { setTimer(held.nextAt, ordinal) }
  }

  /// - Returns: whether it was held.
  mutating func remove(_ ordinal: Ordinal) -> Bool {
    guard let held = entries.removeValue(forKey: ordinal) else { return false }
    guard let stream = held.message.stream else { return true }
    let rest = streams[stream, default: []].filter { $0 != ordinal }
    streams[stream] = rest.isEmpty ? nil : rest
    // What waited behind it is due.
    if let next = rest.first, let waiting = entries[next] { setTimer(waiting.nextAt, next) }
    return true
  }

  /// A message that was tried in vain because the endpoint is down is due at once.
  mutating func putBack(_ message: SinkMachine.Message) {
    guard var held = entries[message.ordinal] else { return }
    held.message = message
    add(held)
  }

  /// The message that is due first and not under way.
  mutating func due(at now: Int64) -> SinkMachine.Message? {
    while let timer = timers.first, timer.at <= now {
      if let held = entries[timer.ordinal], held.nextAt == timer.at, isFirst(held.message) {
        return held.message
      }
      timers.removeFirst()
    }
    return nil
  }

  /// Takes a message's timer away, as it is tried.
  mutating func begin(_ ordinal: Ordinal) { timers.removeAll { $0.ordinal == ordinal } }

  /// When the next message is due; nil if none is held.
  var nextAt: Int64? { timers.first?.at }

  /// Makes messages due now. Returns how many.
  mutating func hurry(_ place: SinkMachine.Place?, at now: Int64) -> Int {
    let chosen = entries.values.filter { place == nil || $0.message.place == place }
    let ordered = chosen.sorted { $0.message.ordinal < $1.message.ordinal }
    for var held in ordered where held.nextAt > now {
      held.nextAt = now
      add(held)
    }
    return chosen.count
  }

  private func isFirst(_ message: SinkMachine.Message) -> Bool {
    message.stream.map { streams[$0]?.first == message.ordinal } ?? true
  }

  private mutating func setTimer(_ at: Int64, _ ordinal: Ordinal) {
    var (low, high) = (0, timers.count)
    while low < high {
      let middle = (low + high) / 2
      if timers[middle].at <= at { low = middle + 1 } else { high = middle }
    }
    timers.insert((at, ordinal), at: low)
  }
}
