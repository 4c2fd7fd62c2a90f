import Store

/// Puts what is sent to a sink in one order: events by seq, and among them, by time, the moments at
/// which time alone changes something.
///
/// A moment comes after the events that were received by then and before all others, so a customer
/// gets what happened in the order in which it did, also after an outage. Receive times never
/// decrease along the journal: once an event is read, no event before its receive time can follow.
/// One that is before the clock of the mark came with a clock that was behind: moments from its
/// receive time on are told again.
///
/// What customers have by name has moments of its own, which follow those of its causes. It is told
/// once these are, whatever the clock says: a clock that was ahead gives moments that are.
struct MessageOrder {
  /// An event of the journal; not every one is for the sink.
  struct Event: Sendable {
    let seq: Int64
    let hash: [UInt8]
    let stream: Int64?
    let receivedAt: Int64
    let isWanted: Bool
    /// The numbers of what it says of requests for refunds and is wanted.
    var news: [Int64] = []

    fileprivate var places: [SinkMachine.Place] {
      ((isWanted ? [0] : []) + news).map { .event(seq: seq, news: $0) }
    }
  }

  /// A moment of a customer; not every one is for the sink.
  struct Moment: Sendable, Hashable {
    let place: SinkMachine.Place
    /// Milliseconds since 1970.
    let at: Int64
    /// Nil where it waits for nothing.
    let stream: Int64?
    let isWanted: Bool
    /// What it is told behind: an event, and what time alone changes until a moment; 0 for none.
    private let (causeSeq, causeAt): (Int64, Int64)

    init(
      _ place: SinkMachine.Place, at: Int64, stream: Int64?, isWanted: Bool = true,
      behind cause: CustomerCause? = nil
    ) {
      (self.place, self.at, self.stream, self.isWanted) = (place, at, stream, isWanted)
      causeSeq = cause?.seq ?? 0
      causeAt = cause?.reason == .time ? cause?.at ?? 0 : 0
    }

    fileprivate func isBehind(_ seq: Int64, _ clock: Int64) -> Bool {
      causeSeq <= seq && causeAt <= clock
    }
  }

  /// How far the clock may be told. Milliseconds since 1970.
  struct Sweep: Sendable, Equatable {
    /// Up to here nothing new can be received, whether or not there is a later event.
    let through: Int64
    let now: Int64
  }

  /// What is fed at once.
  struct Batch {
    var messages: [SinkMachine.NewMessage] = []
    var through: SinkMachine.Mark
    /// Whether moments are left that could be fed now.
    var hasMore = false
  }

  /// Moments that are read at once, unless more are at the same millisecond.
  static let momentLimit = 200

  /// - Parameters:
  ///   - events: those that follow `fed`, in order.
  ///   - reachesHead: whether no event follows them yet.
  ///   - sweep: nil: no moment is told, and the clock of the mark stays where it is.
  ///   - changes: the first of what customers have by name after `fed`, in order.
  ///   - moments: the first ones after a time, through another, in order of time.
  /// - Throws: what `moments` throws.
  static func batch<Failure: Error>(
    _ events: [Event], reachesHead: Bool, from fed: SinkMachine.Mark, _ sweep: Sweep?,
    limit first: Int = momentLimit, changes: [Moment] = [],
    moments: (_ after: Int64, _ through: Int64, _ limit: Int) throws(Failure) -> [Moment]
  ) throws(Failure) -> Batch {
    var fed = fed
    // An event of a clock that was behind may change what time alone does from then on.
    if let first = events.first { fed.clock = min(fed.clock, first.receivedAt - 1) }
    let bound = bound(events, reachesHead, fed, sweep)
    var (found, end, limit): ([Moment], Int64, Int) = ([], bound, first)
    while bound > fed.clock {
      found = try moments(fed.clock, bound, limit)
      guard found.count == limit, let last = found.last?.at else { break }
      if found[0].at < last {
        // Those at the last millisecond may not all be there.
        found.removeAll { $0.at == last }
        end = last - 1
        break
      }
      limit *= 2
    }
    let isWhole = end == bound
    let included = isWhole ? events : Array(events.prefix { $0.receivedAt <= end })
    let (seq, clock) = (included.last?.seq ?? fed.seq, sweep == nil ? .max : bound)
    var changed = isWhole ? Array(changes.prefix { $0.isBehind(seq, clock) }) : []
    // Those of one moment are told together: no place is between them.
    if let next = changes.dropFirst(changed.count).first { changed.removeAll { $0.at == next.at } }
    var batch = merged(included, found, changed, end, fed)
    batch.hasMore = !isWhole || changed.count >= first
    return batch
  }

  /// The time through which moments can be told, as no earlier event can follow.
  private static func bound(
    _ events: [Event], _ reachesHead: Bool, _ fed: SinkMachine.Mark, _ sweep: Sweep?
  ) -> Int64 {
    guard let sweep else { return fed.clock }
    let before = events.last.map { $0.receivedAt - 1 }
    let bound = reachesHead ? max(sweep.through, before ?? .min) : before ?? fed.clock
    return max(fed.clock, min(sweep.now, bound))
  }

  private static func merged(
    _ events: [Event], _ moments: [Moment], _ changes: [Moment], _ end: Int64,
    _ fed: SinkMachine.Mark
  ) -> Batch {
    var batch = Batch(through: fed)
    var mark = fed
    var rest = (moments + changes).sorted { ($0.at, $0.stream ?? 0) < ($1.at, $1.stream ?? 0) }[...]
    func tell(before time: Int64) {
      while let moment = rest.first, moment.at < time {
        rest.removeFirst()
        // Done are all moments of this millisecond only with the last of them.
        let done = rest.first?.at == moment.at ? moment.at - 1 : moment.at
        if case .moment(.customer, _, _) = moment.place {
          mark.customerClock = done
        } else {
          mark.clock = done
        }
        guard moment.isWanted else { continue }
        batch.messages.append(
          SinkMachine.NewMessage(
            place: moment.place, stream: moment.stream, receivedAt: moment.at, after: mark))
      }
    }
    for event in events {
      tell(before: event.receivedAt)
      let before = mark
      (mark.seq, mark.hash) = (event.seq, event.hash)
      mark.clock = max(mark.clock, min(end, event.receivedAt - 1))
      let places = event.places
      // The event is done with the last of them.
      batch.messages += places.enumerated().map { index, place in
        SinkMachine.NewMessage(
          place: place, stream: event.stream, receivedAt: event.receivedAt,
          after: index == places.count - 1 ? mark : before)
      }
    }
    tell(before: .max)
    mark.clock = max(mark.clock, end)
    mark.customerClock = max(mark.customerClock, changes.last?.at ?? 0)
    batch.through = mark
    return batch
  }
}
