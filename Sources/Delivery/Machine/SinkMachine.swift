import Ledger
import Platform

/// What one sink has delivered, and what it may send now: a value without clock, files or network,
/// so that every history of it can be played in a test.
///
/// Messages enter in the order of the journal (`feed`), leave by `next`, and end by `finish`. The
/// mark is the place up to which everything is delivered, held or dead: it never passes a message
/// that is none of these (promise 12).
///
/// Two kinds of failure are told apart. While the *endpoint* is down, nothing moves but a single
/// probe now and then. A *message* that is refused while others pass is held, is tried again for
/// three days, and only later messages of the same customer wait for it.
struct SinkMachine {
  /// A place in the order of messages, given by `feed`. Kept across restarts for held messages.
  typealias Ordinal = Int64

  struct Settings: Sendable, Equatable {
    var order = Configuration.Sink.Order.customer
    var concurrency = 8
    /// Messages that may be held.
    var heldLimit = 100_000
  }

  /// What the operator, or the receiver by 410, decided.
  enum Condition: String, Sendable {
    case on, paused, gone
    /// The place in the journal is not known; nothing is sent.
    case lost
  }

  /// A place in the journal, and in time.
  struct Mark: Sendable, Equatable {
    /// Events up to here are done.
    var seq: Int64
    /// hash[seq], which ties the place to this history of the journal.
    var hash: [UInt8]
    /// What time alone changed until here is done; milliseconds since 1970.
    var clock: Int64
    /// What customers have by name is done until here, a moment of `CustomerStore`: these are in
    /// order, and need not be of the wall clock.
    var customerClock: Int64 = 0
  }

  /// The endpoint does not answer.
  struct Outage: Sendable, Equatable {
    struct Probe: Sendable, Equatable {
      let ordinal: Ordinal
      let isOldest: Bool
    }

    let since: Int64
    /// The message that may be what is wrong; nil if that is unlikely.
    var suspect: Ordinal?
    /// The only customer whose messages failed; nil if there are several.
    var customer: Int64?
    var failure: Failure
    var probes = 0
    var probeAt: Int64 = 0
    /// Whether the receiver said when to come again.
    var hasRetryAfter = false
    var isOthersTurn = false
    /// The last probe that was not the oldest message.
    var lastOther: Ordinal = 0
    var probing: Probe?

    var isOneCustomers: Bool { customer != nil }

    init(since: Int64, suspect: Message?, failure: Failure) {
      (self.since, self.failure) = (since, failure)
      (self.suspect, customer) = (suspect?.ordinal, suspect?.customer)
    }
  }

  /// What a sink was when it was last stored.
  struct Stored: Sendable {
    var condition = Condition.on
    var mark: Mark
    var held: [HeldMessage] = []
    /// Dead messages after the mark.
    var dead: [Place] = []
    /// The last ordinal of those that are dead: no other message may get one of theirs.
    var lastDead: Ordinal = 0
  }

  /// What changed since it was last stored, besides the mark.
  struct Changes: Sendable {
    /// Held messages that are new, changed or gone.
    var held: Set<Ordinal> = []
    var dead: [DeadMessage] = []
    var conditionChanged = false
    /// Attempts that ended.
    var outcomes = 0

    var isEmpty: Bool { held.isEmpty && dead.isEmpty && !conditionChanged }
  }

  private(set) var settings: Settings
  private(set) var condition: Condition
  /// Up to here everything is delivered, held or dead.
  private(set) var mark: Mark
  /// Up to here messages were fed.
  private(set) var fed: Mark
  /// Messages that were fed and are neither done nor held, in their order.
  private(set) var window = MessageWindow()
  private(set) var held = HeldMessages()
  private(set) var outage: Outage?
  /// Requests that may be under way at the same time.
  private(set) var limit: Int
  private var raisedAt: Int64 = 0
  /// When `next` was asked last.
  private var askedAt: Int64 = 0
  /// The streams of messages under way.
  private var busy: Set<Int64> = []
  private var underWay: [Ordinal: Message] = [:]
  /// Refusals without a success between them, and the customers of the first two of them.
  private var refusals = 0
  private var refusedCustomers: Set<Int64> = []
  private var lastOrdinal: Ordinal
  private var random: SplitMix
  /// What must be stored.
  private(set) var changes = Changes()

  init(_ stored: Stored, _ settings: Settings, seed: UInt64, limit: Int? = nil) {
    self.settings = settings
    (condition, mark, fed) = (stored.condition, stored.mark, stored.mark)
    self.limit = limit ?? settings.concurrency
    random = SplitMix(state: seed)
    lastOrdinal = stored.held.map(\.message.ordinal).reduce(stored.lastDead, max)
    for held in stored.held { self.held.add(held) }
    window.skip(stored.held.map(\.message.place) + stored.dead, after: mark)
  }

  /// Replaces the settings, as after a reload.
  mutating func adopt(_ settings: Settings) {
    // A sink that is ramping up goes on from where it is.
    if limit == self.settings.concurrency { limit = settings.concurrency }
    self.settings = settings
    limit = min(limit, settings.concurrency)
  }

  // MARK: Entering

  /// How many messages can be fed now.
  var capacity: Int {
    guard condition == .on, !isFull else { return 0 }
    return max(0, Self.windowLimit - window.count)
  }

  /// Whether so many messages are held that no other may be.
  var isFull: Bool { held.count >= settings.heldLimit }

  /// Adds messages in their order. Those that are held or dead already are left out; of those that
  /// were fed before, what is held.
  ///
  /// - Parameter mark: what is fed when the last of them is; also if there is none.
  mutating func feed(_ messages: [NewMessage], through mark: Mark) {
    for new in messages where !window.skips(new.place) {
      if !new.place.isAfter(fed), held.message(at: new.place) != nil { continue }
      lastOrdinal += 1
      window.append(
        Message(
          ordinal: lastOrdinal, place: new.place, stream: stream(new), receivedAt: new.receivedAt,
          after: new.after))
    }
    fed = mark
    holdFollowing()
    advance()
  }

  /// The customer whose messages wait for each other; nil where none do.
  private func stream(_ new: NewMessage) -> Int64? {
    switch settings.order {
    case .customer: new.stream
    case .none: nil
    case .total: 0
    }
  }

  // MARK: Leaving

  /// The next message to send at this time; nil if none may be sent now. Call `finish` with what
  /// became of it.
  mutating func next(at now: Int64) -> Message? {
    if now < askedAt - Self.correction {
      // What waits for a time of a clock that was ahead waits no longer.
      _ = retry(nil, at: now)
      outage?.probeAt = now
      raisedAt = now
    }
    askedAt = now
    guard condition == .on, let message = candidate(at: now) else { return nil }
    underWay[message.ordinal] = message
    if let stream = message.stream { busy.insert(stream) }
    window.begin(message.ordinal)
    held.begin(message.ordinal)
    return message
  }

  private mutating func candidate(at now: Int64) -> Message? {
    if outage != nil { return probe(at: now) }
    guard underWay.count < limit else { return nil }
    if let due = held.due(at: now), underWay[due.ordinal] == nil { return due }
    return isFull || isHeldUp ? nil : window.waiting.first { isFree($0) }
  }

  /// Whether a held message holds up all the others.
  private var isHeldUp: Bool { settings.order == .total && !held.isEmpty }

  /// Whether no message of the same customer is under way or held.
  private func isFree(_ message: Message) -> Bool {
    message.stream.map { !busy.contains($0) && !held.hasStream($0) } ?? true
  }

  /// One message while the endpoint is down: the oldest and one of another customer take turns.
  private mutating func probe(at now: Int64) -> Message? {
    guard var outage, underWay.isEmpty else { return nil }
    defer { self.outage = outage }
    let found = probes(at: now, after: outage.lastOther)
    // As long as one customer's messages failed alone, another's show at once whether it is theirs.
    if outage.isOneCustomers, !outage.hasRetryAfter,
      let other = found.first(where: { $0.customer != outage.customer })
    {
      outage.probing = .init(ordinal: other.ordinal, isOldest: false)
      return other
    }
    guard now >= outage.probeAt, let oldest = found.first else { return nil }
    let other = outage.isOthersTurn ? found.dropFirst().first : nil
    outage.isOthersTurn.toggle()
    if let other { outage.lastOther = other.ordinal }
    outage.probing = .init(ordinal: (other ?? oldest).ordinal, isOldest: other == nil)
    return other ?? oldest
  }

  /// The oldest message that may be sent, and one of another customer: the first after an ordinal,
  /// so that they take turns, because more than one may be what is wrong.
  private mutating func probes(at now: Int64, after last: Ordinal) -> [Message] {
    let due = held.due(at: now)
    guard !isHeldUp else { return due.map { [$0] } ?? [] }
    var seen: Set<Int64> = []
    let free = window.waiting.filter { seen.insert($0.customer).inserted && isFree($0) }
    guard let oldest = [due, free.first].compactMap({ $0 }).min(by: { $0.ordinal < $1.ordinal })
    else { return [] }
    let others = free + (due.map { [$0] } ?? [])
    let other =
      others.first { $0.ordinal > last && $0.customer != oldest.customer }
      ?? others.first { $0.customer != oldest.customer }
    return [oldest] + (other.map { [$0] } ?? [])
  }

  /// When `next` should be asked again, if nothing else happens; nil: when something happens.
  var wakeAt: Int64? {
    guard condition == .on else { return nil }
    if let outage { return underWay.isEmpty ? outage.probeAt : nil }
    return held.nextAt
  }

  var underWayCount: Int { underWay.count }

  /// Whether a message waits for the answer to others.
  var isBusy: Bool { condition == .on && outage == nil && window.waiting.contains { _ in true } }

  /// Takes back what `next` gave, as it could not be sent for a reason that is ours.
  mutating func takeBack(_ ordinal: Ordinal) {
    guard let message = endAttempt(ordinal) else { return }
    if outage?.probing?.ordinal == ordinal { outage?.probing = nil }
    putBack(message)
  }

  /// Leaves out what `next` gave, as it need not be sent any more: that says nothing about the
  /// receiver.
  mutating func cancel(_ ordinal: Ordinal) {
    guard let message = endAttempt(ordinal) else { return }
    if outage?.probing?.ordinal == ordinal { outage?.probing = nil }
    changes.outcomes += 1
    remove(message)
    advance()
  }

  // MARK: Ending

  /// What became of a message that `next` gave.
  mutating func finish(_ ordinal: Ordinal, _ outcome: Outcome, at now: Int64) {
    guard var message = endAttempt(ordinal) else { return }
    message.attempts += 1
    changes.outcomes += 1
    if outcome == .delivered {
      remove(message)
      succeed(message, at: now)
    } else {
      putBack(message)
      switch outcome {
      case .endpoint(let failure, let wait): fail(message, failure, wait: wait, at: now)
      case .refused(let failure) where outage != nil: fail(message, failure, wait: nil, at: now)
      case .refused(let failure): refuse(message, failure, at: now)
      case .gone: set(.gone, at: now)
      case .delivered: break
      }
    }
    advance()
  }

  /// A message under way, which no longer is.
  private mutating func endAttempt(_ ordinal: Ordinal) -> Message? {
    guard let message = underWay.removeValue(forKey: ordinal) else { return nil }
    if let stream = message.stream { busy.remove(stream) }
    return message
  }

  private mutating func succeed(_ message: Message, at now: Int64) {
    refusals = 0
    refusedCustomers = []
    guard let outage else {
      if limit < settings.concurrency, now - raisedAt >= Self.rampMilliseconds {
        (limit, raisedAt) = (min(settings.concurrency, limit * 2), now)
      }
      return
    }
    self.outage = nil
    (limit, raisedAt) = (1, now)
    changes.conditionChanged = true
    // Another customer's message passed: the one that failed before is what is wrong.
    if let suspect = outage.suspect.flatMap({ window.waiting($0) ?? held.message($0) }),
      suspect.customer != message.customer
    {
      refuse(suspect, outage.failure, at: now)
    }
  }

  /// An attempt failed because the endpoint is down, as far as that can be told.
  private mutating func fail(_ message: Message, _ failure: Failure, wait: Int64?, at now: Int64) {
    guard var outage else {
      beginOutage(Outage(since: now, suspect: message, failure: failure), wait, at: now)
      return
    }
    if message.customer != outage.customer, outage.isOneCustomers {
      outage.customer = nil
      outage.suspect = nil
    }
    if let probing = outage.probing, probing.ordinal == message.ordinal {
      outage.probing = nil
      outage.probes += 1
      outage.failure = failure
      if probing.isOldest { outage.suspect = message.ordinal }
      schedule(&outage, wait, at: now)
    } else if let wait {
      outage.probeAt = max(outage.probeAt, now + wait)
      outage.hasRetryAfter = true
    }
    self.outage = outage
    // Those who could show whose fault it is may be behind messages of this customer alone.
    if outage.isOneCustomers, window.count >= Self.windowLimit, settings.order == .customer,
      window.waiting(message.ordinal) != nil, probes(at: now, after: 0).count == 1
    {
      refuse(message, failure, at: now)
    }
  }

  private mutating func beginOutage(_ outage: Outage, _ wait: Int64?, at now: Int64) {
    var outage = outage
    schedule(&outage, wait, at: now)
    self.outage = outage
    changes.conditionChanged = true
  }

  private mutating func schedule(_ outage: inout Outage, _ wait: Int64?, at now: Int64) {
    outage.probeAt = now + max(wait ?? 0, varied(RetryDelay.down.wait(after: outage.probes + 1)))
    outage.hasRetryAfter = wait != nil
  }

  private mutating func varied(_ milliseconds: Int64) -> Int64 {
    Backoff.varied(milliseconds, by: &random)
  }

  /// Holds a message that was refused, or gives it up after the last attempt.
  private mutating func refuse(_ message: Message, _ failure: Failure, at now: Int64) {
    var message = message
    message.refusals += 1
    message.failure = failure
    message.firstAt = message.firstAt ?? now
    refusals += 1
    if refusedCustomers.count < 2 { refusedCustomers.insert(message.customer) }
    if let delay = RetryDelay.afterRefusals(message.refusals) {
      hold(message, nextAt: now + varied(delay))
    } else {
      die(message, at: now)
    }
    if refusals >= Self.refusalLimit, refusedCustomers.count > 1, outage == nil {
      beginOutage(Outage(since: now, suspect: nil, failure: failure), nil, at: now)
    }
  }

  /// Later messages of the same customer are held behind it.
  private mutating func hold(_ message: Message, nextAt: Int64) {
    window.end(message.ordinal)
    held.add(HeldMessage(message: message, nextAt: nextAt))
    changes.held.insert(message.ordinal)
    holdFollowing()
  }

  private mutating func holdFollowing() {
    guard settings.order == .customer, !held.isEmpty else { return }
    for message in window.waiting(ofAny: held.hasStream) where !isFull {
      window.end(message.ordinal)
      held.add(HeldMessage(message: message, nextAt: 0))
      changes.held.insert(message.ordinal)
    }
  }

  private mutating func die(_ message: Message, at now: Int64) {
    remove(message)
    changes.dead.append(DeadMessage(message: message, diedAt: now))
  }

  /// A message that is no longer to be sent: what waits behind it may.
  private mutating func remove(_ message: Message) {
    window.end(message.ordinal)
    if held.remove(message.ordinal) { changes.held.insert(message.ordinal) }
  }

  private mutating func putBack(_ message: Message) {
    window.putBack(message)
    held.putBack(message)
  }

  private mutating func advance() {
    let reached = window.advance()
    mark = window.isEmpty ? fed : reached ?? mark
  }

  // MARK: The operator

  /// Changes what the sink does. Messages under way end as they end.
  mutating func set(_ condition: Condition, at now: Int64) {
    guard self.condition != condition || condition == .on && outage != nil else { return }
    self.condition = condition
    changes.conditionChanged = true
    if condition == .on { (outage, limit, raisedAt) = (nil, 1, now) }
  }

  /// Begins at another place: what was fed is forgotten, what is held stays.
  mutating func resume(at mark: Mark, now: Int64) {
    window.removeAll()
    (self.mark, fed) = (mark, mark)
    window.skip(held.all.map(\.message.place), after: mark)
    set(.on, at: now)
    changes.conditionChanged = true
  }

  /// Goes back to the time of now, if the clock was ahead of it: what time alone changes from then
  /// on is told, and what was told before its time is told again.
  mutating func goBack(to now: Int64) {
    guard condition == .on, fed.clock > now + Self.correction else { return }
    var mark = mark
    mark.clock = min(mark.clock, now)
    resume(at: mark, now: now)
  }

  /// Gives a message up that is held or waits. Returns whether there is one that is not under way.
  mutating func skip(_ place: Place, at now: Int64) -> Bool {
    guard var message = held.message(at: place) ?? window.waiting(at: place),
      underWay[message.ordinal] == nil
    else { return false }
    message.failure = .skipped
    die(message, at: now)
    advance()
    return true
  }

  /// The places of an event among the messages that are held or wait.
  func places(of seq: Int64) -> [Place] {
    (held.all.map(\.message.place) + window.waiting.map(\.place)).filter {
      if case .event(seq, _) = $0 { true } else { false }
    }
  }

  /// Tries held messages now. Returns how many.
  ///
  /// - Parameter place: only this one; nil for all.
  mutating func retry(_ place: Place?, at now: Int64) -> Int { held.hurry(place, at: now) }

  /// Takes dead messages back, as held ones that are due.
  mutating func redrive(_ messages: [NewMessage], at now: Int64) {
    for new in messages {
      lastOrdinal += 1
      let message = Message(
        ordinal: lastOrdinal, place: new.place, stream: stream(new), receivedAt: new.receivedAt,
        after: mark)
      held.add(HeldMessage(message: message, nextAt: now))
      changes.held.insert(message.ordinal)
    }
  }

  /// What customers have by name is done through this moment: delivered, left out or dead.
  var customerClock: Int64 {
    held.all.reduce(mark.customerClock) { clock, held in
      if case .moment(.customer, let at, _) = held.message.place {
        min(clock, at - 1)
      } else {
        clock
      }
    }
  }

  /// What must be stored since the last call, with the mark of now.
  mutating func takeChanges() -> Changes {
    defer { changes = Changes() }
    return changes
  }

  /// Milliseconds by which a clock that is right is set back.
  private static let correction: Int64 = 1000
  /// Messages that are read ahead.
  static let windowLimit = 1000
  /// Milliseconds of success after which twice as many requests may be under way.
  private static let rampMilliseconds: Int64 = 1000
  /// Refusals in a row, of two customers at least, that mean that the endpoint is down.
  private static let refusalLimit = 10
}
