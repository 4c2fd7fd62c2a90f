import Platform
import SignedData
import Store
import StrictJSON

/// Appends to a shared journal, and follows it, on the writer's thread.
///
/// A write takes the head, follows what is behind the copy (T2 of `SharedJournal`), writes into the
/// copy's tables as a journal of its own would, commits what was written to the shared journal, and
/// only then commits here (T3). Where the shared journal's commit has an outcome that is not known,
/// the copy is rolled back and follows again: it then has the commit, or not.
final class CopyWriter {
  private let shared: any SharedJournal
  private let journal: Journal
  private let access: SharedAccess
  private let status: CopyStatus
  /// Waits for milliseconds.
  private let pause: (Int32) -> Void
  /// The head after the last commit of this connection that is known to be durable; nil if there
  /// is none (T5).
  private var confirmed: JournalPosition?
  /// Whether this copy was found to be a prefix of the shared journal since the start.
  private var isVerified = false
  /// When to look at the head next, nanoseconds of `Clock.monotonicNanoseconds`.
  private var nextPoll: Int64 = 0

  init(
    _ shared: any SharedJournal, _ journal: Journal, _ access: SharedAccess, _ status: CopyStatus,
    pause: @escaping (Int32) -> Void
  ) {
    self.shared = shared
    self.journal = journal
    self.access = access
    self.status = status
    self.pause = pause
  }

  /// What a write resulted in.
  struct Written<Result> {
    let result: Result
    /// The newest event that others appended, before those of this write. With `isFollowed`, the
    /// events of this write are among those that were followed.
    let followedThrough: Int64
    let isFollowed: Bool
  }

  /// A commit of which the outcome is not known.
  private struct Pending<Result> {
    let head: JournalPosition
    let before: JournalPosition
    let result: Result
    /// Whether counts that wait in the journal were written.
    let hasCounts: Bool
    /// Whether the notes that were followed since show it.
    var isFound = false
  }

  /// The deadline of a write that did not arrive as a notification.
  var orderDeadline: Deadline { Deadline(milliseconds: access.holdMilliseconds) }

  /// The deadline of counts: nobody waits for them, and notifications wait meanwhile.
  var countDeadline: Deadline { Deadline(milliseconds: Self.pollLimit) }

  func deadline(arrivedAt time: Int64) -> Deadline {
    Deadline(milliseconds: access.holdMilliseconds, after: time)
  }

  /// Runs a write of the journal, which gets a shipper, until its outcome is known.
  ///
  /// - Parameters:
  ///   - mustTouch: whether a result that wrote nothing may only be answered once a later commit is
  ///     known to be durable, given the head of the last such commit.
  ///   - body: may be called several times, each time as if it had not been called before.
  /// - Throws: an error of the shared journal if the shared journal could not be written by the
  ///   deadline, or refuses; otherwise what the journal throws. Nothing was written then, or what
  ///   was written is followed later.
  func write<Result>(
    by deadline: Deadline,
    mustTouch: @escaping (Result, JournalPosition) -> Bool = { _, _ in false },
    _ body: (@escaping Journal.Shipper<Result>) throws(LedgerError) -> Result
  ) throws(LedgerError) -> Written<Result> {
    var pending: Pending<Result>?
    while true {
      do throws(LedgerError) {
        try takeHead(by: deadline) { [self] tail in find(&pending, in: tail) }
        let followed = journal.head.seq
        if let found = pending, isCommitted(found) {
          if found.hasCounts { journal.discardWaitingCounts() }
          try touch(by: deadline)
          return Written(result: found.result, followedThrough: followed, isFollowed: true)
        }
        pending = nil
        let result = try body { (shipment, result) throws(LedgerError) in
          try self.ship(shipment, result, by: deadline, mustTouch, &pending)
        }
        status.recordWhole()
        return Written(result: result, followedThrough: followed, isFollowed: false)
      } catch {
        // Does nothing after a commit.
        shared.abandon()
        try recover(from: judged(error, by: deadline), by: deadline)
      }
    }
  }

  private func ship<Result>(
    _ shipment: Shipment, _ result: Result, by deadline: Deadline,
    _ mustTouch: (Result, JournalPosition) -> Bool, _ pending: inout Pending<Result>?
  ) throws(LedgerError) {
    var shipment = shipment
    shipment.isTouched = confirmed.map { mustTouch(result, $0) } ?? true
    guard !shipment.isEmpty || shipment.isTouched else { return shared.abandon() }
    do throws(LedgerError) {
      try shared.commit(shipment, by: deadline)
    } catch {
      if error.code == .sharedUnknown {
        pending = Pending(
          head: shipment.head, before: shipment.after, result: result,
          hasCounts: shipment.hasCounts)
      }
      throw error
    }
    confirmed = shipment.head
  }

  /// A commit that changes nothing, so that all before it is known to be durable (T5).
  private func touch(by deadline: Deadline) throws(LedgerError) {
    _ = try journal.append([]) { (shipment, _) throws(LedgerError) in
      var shipment = shipment
      shipment.isTouched = true
      try self.shared.commit(shipment, by: deadline)
      self.confirmed = shipment.head
    }
    status.recordWhole()
  }

  /// Waits before the next attempt.
  ///
  /// - Throws: the error, if there is none.
  private func recover(from error: LedgerError, by deadline: Deadline) throws(LedgerError) {
    guard error.isOfSharedJournal else { throw error }
    status.record(error)
    switch error.code {
    case .sharedNotNow: status.retries.add(1)
    case .sharedUnknown:
      status.unknowns.add(1)
      // A later commit of this connection would say nothing about this one.
      shared.disconnect()
      confirmed = nil
    default: throw error
    }
    guard !deadline.hasPassed else { throw error }
    pause(Int32.random(in: 5...50))
  }

  // MARK: Commits of which the outcome is not known

  /// Marks a pending commit of notes alone as found, if a tail brings it.
  private func find<Result>(_ pending: inout Pending<Result>?, in tail: JournalTail) {
    guard let sought = pending, sought.head.seq == sought.before.seq else { return }
    var hash = journal.position.notesHash
    for note in tail.notes {
      hash = note.chain(after: hash)
      if note.version == sought.head.notes { pending?.isFound = hash == sought.head.notesHash }
    }
  }

  /// Whether a commit took place, now that the copy has all that the shared journal has. A commit
  /// is whole or not at all, so its last event shows it.
  private func isCommitted<Result>(_ pending: Pending<Result>) -> Bool {
    if pending.head.seq > pending.before.seq {
      return (try? journal.hash(at: pending.head.seq)) == pending.head.hash
    }
    return pending.isFound
  }

  // MARK: Following

  /// Takes the head while the copy has all that the shared journal has.
  private func takeHead(
    by deadline: Deadline, beforeFollowing observe: (JournalTail) -> Void
  ) throws(LedgerError) {
    try verify(by: deadline)
    while true {
      let tail = try shared.begin(after: journal.position, by: deadline)
      journal.receiveLimit = status.record(clock: shared.clock)
      observe(tail)
      try follow(tail)
      if tail.isWhole { return }
      try catchUp(by: deadline, beforeFollowing: observe)
    }
  }

  private static let behind = LedgerError.sharedNotNow(state: "behind")

  /// Follows until the copy has all that the shared journal has, without taking the head.
  private func catchUp(
    by deadline: Deadline, beforeFollowing observe: (JournalTail) -> Void = { _ in }
  ) throws(LedgerError) {
    while true {
      let tail = try shared.tail(after: journal.position, limit: JournalTail.limit, by: deadline)
      journal.receiveLimit = status.record(clock: shared.clock)
      observe(tail)
      try follow(tail)
      if tail.isWhole { return }
      guard !deadline.hasPassed else { throw Self.behind }
    }
  }

  private func follow(_ tail: JournalTail) throws(LedgerError) {
    do throws(LedgerError) {
      try journal.follow(tail)
    } catch {
      status.record(error)
      throw error
    }
    status.record(journal.faults)
  }

  /// Tells a shared journal that forgot something from one whose rows do not continue this copy,
  /// which another start would not mend.
  ///
  /// - Returns: `.diverged` only if this copy is no prefix of the shared journal.
  private func judged(_ error: LedgerError, by deadline: Deadline) -> LedgerError {
    guard error == .sharedDiverged else { return error }
    isVerified = false
    do throws(LedgerError) { try verify(by: deadline) } catch { return error }
    return .sharedBroken(state: "what is behind seq \(journal.head.seq) does not continue it")
  }

  /// Checks, once after the start, that this is a copy of that shared journal and a prefix of it.
  ///
  /// - Throws: `.sharedDiverged` if it is none.
  func verify(by deadline: Deadline) throws(LedgerError) {
    if isVerified { return }
    let own = journal.position
    let (id, hashes) = (
      try shared.identify(journal.journalId, by: deadline),
      [
        try shared.hash(at: own.seq, by: deadline),
        try shared.notesHash(at: own.notes, by: deadline),
        try shared.dictionaryHash(at: own.dictionary, by: deadline),
      ]
    )
    guard id == journal.journalId else {
      throw .sharedRefused(state: "it is another journal than that of this folder")
    }
    try requireSameRoots(by: deadline)
    guard hashes == [own.hash, own.notesHash, try journal.lastDictionaryHash()] else {
      throw .sharedDiverged
    }
    isVerified = true
    status.record(journal.faults)
  }

  /// - Throws: `LedgerError.sharedOtherRoots` if the owner of the shared journal says that its
  ///   daemons trust others.
  private func requireSameRoots(by deadline: Deadline) throws(LedgerError) {
    guard let own = access.trustRoots?.fingerprints else { return }
    let agreed = try shared.trustRoots(by: deadline)
    guard !agreed.isEmpty, agreed != own else { return }
    func names(_ roots: Set<[UInt8]>) -> String {
      roots.map { String(Hexadecimal.encode($0).prefix(16)) }.sorted().joined(separator: " ")
    }
    let (more, less) = (names(own.subtracting(agreed)), names(agreed.subtracting(own)))
    let parts = [("here alone", more), ("missing here", less)].filter { !$0.1.isEmpty }
    throw .sharedOtherRoots(state: parts.map { "\($0.0): \($0.1)" }.joined(separator: "; "))
  }

  /// Milliseconds after which `poll` should be called.
  var millisecondsUntilPoll: Int32 {
    Int32(clamping: max(0, (nextPoll - Clock.monotonicNanoseconds()) / 1_000_000))
  }

  /// The longest time that a look at the shared journal may take, milliseconds.
  static let pollLimit: Int64 = 1_000

  /// Looks at the shared journal, if it is time to, and follows it.
  ///
  /// - Parameters:
  ///   - isDue: looks at it in any case.
  ///   - limit: milliseconds that it may take.
  /// - Throws: an error of the shared journal if it cannot be used, otherwise what the journal
  ///   throws.
  func poll(
    isDue: Bool = false, within limit: Int64 = CopyWriter.pollLimit
  ) throws(LedgerError) {
    guard isDue || millisecondsUntilPoll == 0 else { return }
    let deadline = Deadline(milliseconds: limit)
    nextPoll = Deadline(milliseconds: access.pollMilliseconds).nanoseconds
    do throws(LedgerError) {
      try verify(by: deadline)
      try catchUp(by: deadline)
      status.recordWhole()
    } catch {
      if error == Self.behind {
        nextPoll = 0
        return
      }
      // One that cannot be reached is not looked for ten times a second.
      nextPoll = Deadline(milliseconds: max(Self.pollLimit, access.pollMilliseconds)).nanoseconds
      let judged = judged(error, by: deadline)
      status.record(judged)
      throw judged
    }
  }

  func close() { shared.disconnect() }
}
