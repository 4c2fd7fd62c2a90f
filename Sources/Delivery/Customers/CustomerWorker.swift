import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Synchronization

/// Looks what every customer has by name whenever an event, the time, a mapping, a statement or an
/// erasure may have changed it, and stores what it is now beside what changed.
///
/// It compares with what is stored, so nothing is told twice, and a change that is found late is
/// told late.
final class CustomerWorker {
  private let follower: CustomerFollower
  private let ledger: Ledger
  private let reader: LedgerReader
  /// The apps of which a mapping is in force; nobody has anything of another one.
  private var apps: Set<StreamKey> = []
  private var isOpen = false
  private var settled = SettledTime()
  /// Whether the clock may be believed, as of this turn.
  private var isTrusted = true
  /// The latest time at which customers were looked at; the clock was ahead if it is later.
  private var lookedAt: Int64 = 0
  /// Accounts are looked through after so many were erased, and how far; nil: all were.
  private var erasures = 0
  private var erasedAfter: [UInt8]? = []
  private var prunedAt: Int64 = 0
  /// When what is stored is compared with its checksum next, nanoseconds of a clock that never
  /// steps.
  private var nextCheck: Int64 = 0

  /// Events, moments, accounts and purchases that are looked at in one turn.
  private static let (eventLimit, dueLimit, accountLimit, scanLimit) = (200, 200, 1_000, 200)
  /// Milliseconds from one turn to the next, until it is tried again, and between two looks at what
  /// nothing signals.
  private static let (gathering, retry, idle): (Int64, Int64, Int64) = (50, 1_000, 1_000)
  /// Milliseconds for which changes are kept at least, longer than a message is tried: what was
  /// given up is sent on demand.
  private static let keeping: Int64 = 8 * 86_400_000
  private static let pruning: Int64 = 60_000

  /// What the thread does.
  static func run(_ follower: CustomerFollower) {
    let thread = follower.thread
    var worker: CustomerWorker?
    thread.work {
      do throws(LedgerError) {
        if worker == nil { worker = try CustomerWorker(follower) }
        guard try worker?.turn() != true else { return .atOnce }
        thread.cancellation.wait(milliseconds: Self.gathering)
        return .whenWoken(within: Self.idle)
      } catch {
        // A file that cannot be used is made anew.
        if error.isDamage { worker = nil }
        if ![.notReady, .ambiguous].contains(error.code) {
          StoreErrors.record(.customers, "customers_not_followed", error)
        }
        return .after(Self.retry)
      }
    }
    follower.close()
  }

  init(_ follower: CustomerFollower) throws(LedgerError) {
    (self.follower, ledger) = (follower, follower.ledger)
    reader = try LedgerReader(ledger, limit: follower.thread.limit)
  }

  /// A customer of an app.
  private struct Subject: Hashable {
    let customer: CustomerKey
    let app: StreamKey
  }

  /// Why a customer is looked at.
  private struct Look {
    var cause: CustomerCause
    /// Whether he is looked at even if nothing is stored of him.
    var isOwner = true
    /// Whether what is found is told.
    var isReported = true
    /// The time, exclusive of its beginning, whose changes are told though they are not stored.
    var missed: (after: Int64, through: Int64)?
  }

  /// What is looked at, and what is to be written of it.
  private struct Work {
    var looks: [Subject: Look] = [:]
    var batch: CustomerStore.Batch
    /// As in the worker, once the batch is written.
    var erasedAfter: [UInt8]?

    init(_ batch: CustomerStore.Batch) { self.batch = batch }

    /// - Parameter replaces: whether it counts in place of an earlier cause.
    mutating func add(
      _ customers: some Sequence<CustomerKey>, of app: StreamKey, _ look: Look,
      replaces: Bool = false
    ) {
      for customer in customers {
        let subject = Subject(customer: customer, app: app)
        var look = look
        if let known = looks[subject] {
          guard replaces else { continue }
          look.isOwner = look.isOwner || known.isOwner
        }
        looks[subject] = look
      }
    }
  }

  /// - Returns: whether there is more to do at once.
  func turn() throws(LedgerError) -> Bool {
    let now = Clock.now()
    apps = Set(try reader.mappingsInForce().keys)
    guard !apps.isEmpty else {
      follower.publish(through: now, looked: now)
      return false
    }
    guard reader.knowsTurns else { return false }
    try open()
    try check(at: now)
    _ = settled.look(ledger, at: now)
    isTrusted = follower.clock.withLock { $0.look(ledger, at: now) }
    let stored = try follower.store { store throws(LedgerError) in try store.progress() }
    let again = follower.again
    var work = Work(try begin(stored, again, at: now))
    let hasMore = [
      try addEvents(&work), try addDue(&work, at: now), try addErased(&work, at: now),
      try addScanned(&work, at: now),
    ].contains(true)
    for (subject, look) in work.looks { try perform(look, at: subject, &work.batch, now) }
    if let delivered = follower.delivered, abs(now - prunedAt) >= Self.pruning {
      prunedAt = now
      work.batch.forgetBefore = min(now - Self.keeping, delivered)
    }
    try commit(work.batch, again, at: now)
    (erasedAfter, lookedAt) = (work.erasedAfter, isTrusted ? now : max(lookedAt, now))
    return hasMore
  }

  private func open() throws(LedgerError) {
    guard !isOpen else { return }
    try follower.open()
    lookedAt = try follower.store { store throws(LedgerError) in try store.progress() }?.toldAt ?? 0
    isOpen = true
  }

  /// Compares what is stored with its checksum, as often as rows are checked (promise 7). What
  /// another program changed is looked at again with everything else, and told where it differs.
  ///
  /// - Throws: `LedgerError.corrupt` if another file, or none, is in its place; what SQLite
  ///   reports.
  private func check(at now: Int64) throws(LedgerError) {
    let start = Clock.monotonicNanoseconds()
    guard start >= nextCheck else { return }
    guard try follower.store({ $0.isInPlace }),
      let isSound = try CustomerStore.isSound(ledger.folder)
    else { throw .corrupt("customers.sqlite was replaced") }
    if !isSound {
      Log.write(.warning, "customers_damaged")
      let scans = apps.map { CustomerStore.Scan(of: $0, .rebuild, at: now) }
      try follower.store { store throws(LedgerError) in try store.lookAgain(scans, at: now) }
    }
    let end = Clock.monotonicNanoseconds()
    nextCheck = end + ProjectionMaintenance.checkPause(after: end - start)
  }

  // MARK: What to look at

  /// What was followed, with scans of all apps if that is of another history or other rules, or of
  /// a clock that was ahead. What is found first is told to nobody.
  ///
  /// - Parameter again: until when another daemon told; what it had not told when this one began is
  ///   found by comparing with what was known then.
  private func begin(
    _ stored: CustomerStore.Progress?, _ again: Int64?, at now: Int64
  ) throws(LedgerError) -> CustomerStore.Batch {
    var batch = try begin(stored, at: now)
    guard let again, again > 0 else { return batch }
    let known = try follower.store { store throws(LedgerError) in try store.begunAt() }
    if again < batch.begunAt ?? known ?? 0 {
      batch.scans = apps.map { .init(of: $0, .rebuild, at: again) }
    }
    return batch
  }

  private func begin(
    _ stored: CustomerStore.Progress?, at now: Int64
  ) throws(LedgerError) -> CustomerStore.Batch {
    // A mapping that changes how long a product lasts is an event, and looked at as one.
    let basis = ledger.basis(AppDurations())
    var progress = stored
    if let seq = stored?.seq, try reader.journal.hash(at: seq) != stored?.hash { progress = nil }
    if let progress, progress.basis == basis {
      var batch = CustomerStore.Batch(progress)
      if isTrusted, now < lookedAt - SettledTime.settling {
        batch.scans = apps.map { .init(of: $0, .time, at: now) }
      }
      return batch
    }
    let head = ledger.foldedHead
    var batch = CustomerStore.Batch(
      .init(
        seq: progress?.seq ?? head.seq, hash: progress?.hash ?? head.hash, basis: basis,
        toldAt: stored?.toldAt ?? now))
    // What is known so far is not told, whatever clock received it.
    if stored == nil { batch.begunAt = max(now, try reader.journal.receivedAt(head.seq) ?? now) }
    for app in apps {
      batch.scans.append(.init(of: app, stored == nil ? nil : .rebuild, at: now))
    }
    return batch
  }

  private func addEvents(_ work: inout Work) throws(LedgerError) -> Bool {
    let head = ledger.foldedHead
    let seq = work.batch.progress.seq
    guard seq < head.seq else { return false }
    let events = try reader.journal.messageEvents(
      after: seq, through: head.seq, limit: Self.eventLimit)
    for event in events { try add(event, &work) }
    let isWhole = events.count < Self.eventLimit
    work.batch.progress.seq = isWhole ? head.seq : events.last?.seq ?? head.seq
    work.batch.progress.hash = isWhole ? head.hash : events.last?.hash ?? head.hash
    return !isWhole
  }

  private func add(_ event: MessageEvent, _ work: inout Work) throws(LedgerError) {
    let app = StreamKey(
      environment: event.environment, bundleId: event.bundleId, originalTransactionId: "")
    guard apps.contains(app) else { return }
    if event.source == .catalog {
      // What the first mapping says held before it too.
      let isFirst = try reader.isFirstMapping(event.seq, of: app)
      return work.batch.scans.append(
        .init(of: app, isFirst ? nil : .mapping, seq: event.seq, at: event.receivedAt))
    }
    let reason: CustomerCause.Reason =
      event.source == .account ? .claim : event.source == .grant ? .grant : .event
    let cause = CustomerCause(
      reason, seq: event.seq, at: event.receivedAt, stream: event.stream ?? 0)
    if event.source.isOwners, let customer = try reader.customer(ofStatement: event.seq) {
      work.add([customer], of: app, Look(cause: cause), replaces: true)
    }
    if let key = event.streamKey { try add(key, cause, &work, replaces: true) }
  }

  /// Adds those whom a purchase concerns.
  private func add(
    _ key: StreamKey, _ cause: CustomerCause, _ work: inout Work, replaces: Bool = false
  ) throws(LedgerError) {
    let concerned = try reader.concerned(by: key)
    let app = key.stream("")
    work.add(concerned.owners, of: app, Look(cause: cause), replaces: replaces)
    work.add(
      concerned.others, of: app, Look(cause: cause, isOwner: false), replaces: replaces)
  }

  private func addDue(_ work: inout Work, at now: Int64) throws(LedgerError) -> Bool {
    guard isTrusted else { return false }
    let through = settled.through(ledger, at: now)
    let due = try follower.store { store throws(LedgerError) in
      try store.due(through: through, limit: Self.dueLimit)
    }
    for (customer, at) in due {
      guard let key = try reader.key(of: customer) else {
        work.batch.forgotten.append((customer.by, customer.id))
        continue
      }
      work.add([key], of: customer.app, Look(cause: CustomerCause(.time, at: at)))
    }
    return due.count == Self.dueLimit
  }

  /// Accounts that were erased: no event says so, as the journal forgets them.
  private func addErased(_ work: inout Work, at now: Int64) throws(LedgerError) -> Bool {
    if erasures != ledger.erasures { (erasures, erasedAfter) = (ledger.erasures, []) }
    guard let after = erasedAfter else { return false }
    let macs = try follower.store { store throws(LedgerError) in
      try store.accounts(after: after, limit: Self.accountLimit)
    }
    for mac in macs where try reader.journal.customer(of: mac) == nil {
      work.batch.forgotten.append(("account", mac))
      for key in try reader.purchases(claimedBy: mac) {
        // What the account said before, and is looked at only now, is no cause any more.
        try add(key, CustomerCause(.erasure, at: now), &work, replaces: true)
      }
    }
    work.erasedAfter = macs.last
    return !macs.isEmpty
  }

  private func addScanned(_ work: inout Work, at now: Int64) throws(LedgerError) -> Bool {
    let stored = try follower.store { store throws(LedgerError) in try store.scan() }
    // One that begins anew goes on in the next turn.
    guard var scan = stored, work.batch.scans.isEmpty else { return !work.batch.scans.isEmpty }
    let at = scan.comparesThrough == nil ? scan.at : now
    let look = Look(
      cause: CustomerCause(scan.reason ?? .mapping, seq: scan.seq, at: at),
      isReported: scan.reason != nil, missed: scan.comparesThrough.map { (scan.at, $0) })
    let page = try reader.customers(
      of: scan.app, after: scan.last, limit: Self.scanLimit, at: now)
    if let page {
      work.add(page.found, of: scan.app, look)
      scan.last = page.last
      work.batch.scans.append(scan)
    } else {
      let granted = try reader.journal.grantedCustomers(scan.environment, scan.bundleId)
      work.add(granted.map { CustomerKey($0) }, of: scan.app, look)
      work.batch.ended.append(scan)
    }
    return true
  }

  // MARK: Looking

  private func perform(
    _ look: Look, at subject: Subject, _ batch: inout CustomerStore.Batch, _ now: Int64
  ) throws(LedgerError) {
    guard let customer = try reader.stored(subject.customer, of: subject.app) else { return }
    let stored = try follower.store { store throws(LedgerError) in
      try store.entitlements(of: customer)
    }
    if stored.isEmpty, !look.isOwner { return }
    let known = Dictionary(stored.map { ($0.name, $0) }) { one, _ in one }
    if let missed = look.missed {
      try tell(missed.after, missed.through, at: subject, customer, Array(known.keys), &batch)
    }
    let found = try reader.entitlements(
      of: subject.customer, in: subject.app, and: Array(known.keys), at: now)
    for (name, answer) in found {
      let before = known[name]
      let after = CustomerEntitlement(customer, name, answer, before, look.cause)
      // A name that a customer never had is not stored.
      let isEmpty =
        !after.answer.isActive && after.next == nil && answer?.absence?.endedAt == nil
      guard after != before && (before != nil || !isEmpty) else { continue }
      batch.entitlements.append(after)
      let former = before?.answer ?? .inactive
      guard look.isReported, after.answer != former else { continue }
      try tell(after, before: former, look.cause, or: before, of: subject.app, &batch)
    }
  }

  /// Tells what changed between two moments for which nothing is stored, as it was known then.
  private func tell(
    _ start: Int64, _ end: Int64, at subject: Subject, _ customer: CustomerEntitlement.Customer,
    _ names: [String], _ batch: inout CustomerStore.Batch
  ) throws(LedgerError) {
    func had(_ names: [String], at time: Int64) throws(LedgerError) -> [String: CustomerEntitlement]
    {
      let cause = CustomerCause(.rebuild, at: time)
      let found = try reader.entitlements(
        of: subject.customer, in: subject.app, and: names, at: time, knownAt: time)
      return Dictionary(
        found.map { ($0.name, CustomerEntitlement(customer, $0.name, $0.answer, nil, cause)) }
      ) { one, _ in one }
    }
    let before = try had(names, at: start)
    for (name, after) in try had(Array(before.keys), at: end).sorted(by: { $0.key < $1.key }) {
      let former = before[name]?.answer ?? .inactive
      guard after.answer != former else { continue }
      let cause = CustomerCause(.rebuild, at: end)
      try tell(after, before: former, cause, or: before[name], of: subject.app, &batch)
    }
  }

  /// Adds a change of which sinks are told.
  ///
  /// - Parameter other: has the purchase where the answer of now names none.
  private func tell(
    _ after: CustomerEntitlement, before: CustomerEntitlement.Answer, _ cause: CustomerCause,
    or other: CustomerEntitlement?, of app: StreamKey, _ batch: inout CustomerStore.Batch
  ) throws(LedgerError) {
    guard follower.hasSubscribers() else { return }
    var cause = cause
    if cause.stream == 0, let id = after.originalTransactionId ?? other?.originalTransactionId {
      cause.stream = try reader.journal.streamId(of: app.stream(id)) ?? 0
    }
    batch.changes.append((0, CustomerChange(after, before: before, cause)))
  }

  /// Gives every change its moment: after everything that was told or received, and of one stream
  /// each its own.
  private func commit(
    _ batch: CustomerStore.Batch, _ again: Int64?, at now: Int64
  ) throws(LedgerError) {
    let received = try reader.journal.receivedAt(batch.progress.seq) ?? 0
    let through = max(now, received, follower.through)
    let (published, scanned) = try follower.store { store throws(LedgerError) in
      var known = try store.progress()
      if let again {
        try store.redeliver(after: again, behind: max(through, known?.toldAt ?? 0))
        known = try store.progress()
      }
      let written = Self.timed(batch, after: max(through, known?.toldAt ?? 0))
      if !written.isEmpty || known != written.progress { try store.commit(written) }
      return (max(known?.toldAt ?? 0, written.progress.toldAt), try store.oldestScan())
    }
    if let again { follower.endAgain(again) }
    let isBehind = batch.progress.seq < ledger.foldedHead.seq
    // Other daemons have another clock, and this one may be ahead.
    let sure = min(now, ledger.copy?.serverTime ?? now)
    follower.publish(through: published, looked: min(scanned ?? sure, isBehind ? received : sure))
    for scan in batch.ended { log(scan) }
  }

  private static func timed(
    _ batch: CustomerStore.Batch, after last: Int64
  ) -> CustomerStore.Batch {
    var (batch, next) = (batch, [Int64: Int64]())
    for index in batch.changes.indices {
      let stream = batch.changes[index].change.cause.stream
      batch.changes[index].at = next[stream] ?? last + 1
      next[stream] = batch.changes[index].at + 1
    }
    if let last = next.values.max() { batch.progress.toldAt = last - 1 }
    return batch
  }

  private func log(_ scan: CustomerStore.Scan) {
    Log.write(
      .info, "customers_looked_through",
      [
        ("bundle_id", .string(scan.bundleId)), ("environment", .string(scan.environment.rawValue)),
        ("because", .string(scan.reason?.rawValue ?? "start")), ("seq", .optional(scan.seq)),
      ])
  }
}

extension CustomerEntitlement {
  /// What was found.
  ///
  /// - Parameters:
  ///   - answer: nil for a name without a meaning.
  ///   - before: what was found last.
  fileprivate init(
    _ customer: Customer, _ name: String, _ answer: NamedAnswer?,
    _ before: CustomerEntitlement?, _ cause: CustomerCause
  ) {
    let access = answer?.access
    self.init(
      customer, name, Answer(access), since: cause.at,
      originalTransactionId: access?.key?.originalTransactionId, next: answer?.turn)
    if let before {
      if before.answer.isActive == (access != nil) { since = before.since }
    } else if let ended = answer?.absence?.endedAt {
      since = ended
    }
  }
}

extension CustomerEntitlement.Answer {
  /// - Parameter access: nil for none.
  fileprivate init(_ access: NamedAnswer.Access?) {
    self.init(
      isActive: access != nil, basis: access?.basis.rawValue, expiresAt: access?.expiresAt,
      productId: access?.productId, isTrial: access?.isTrial ?? false)
  }
}
