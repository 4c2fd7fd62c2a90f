import Foundation
import Ledger
import Platform
import Store
import Support

/// A promise that a history broke.
struct Violation: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Runs one fault schedule: simulates Apple, the network and the disk around the daemon's ledger,
/// all on one thread. After every step the promises are checked (`ClusterChecks.swift`).
final class SimulatedCluster {
  /// Hours between Apple's delivery attempts, for V2 (false) and V1 (true) (developer.apple.com/
  /// documentation/appstoreservernotifications/responding-to-app-store-server-notifications).
  private static let retryDelays: [Bool: [Int64]] = [
    false: [1, 12, 24, 48, 72], true: [6, 24, 48],
  ]
  private static let hour: Int64 = 3_600_000

  /// A notification that Apple delivers.
  struct Sending {
    var post: FaultSchedule.Post
    var attempts = 0
    /// When the next attempt is due, in hours after the beginning; nil while an attempt is in
    /// flight, and after Apple received a 200 or gave up.
    var due: Int64?
  }

  /// A delivery attempt that was received and waits for its answer.
  struct Attempt {
    let sending: Int
    /// Whether Apple still waits for this answer.
    var isHeard: Bool
  }

  let fixtures: Fixtures
  let schedule: FaultSchedule
  private let receiver: Receiver
  let scratch: Scratch
  let outcomeLog = OutcomeLog()
  private let disk: Disk
  var folder: DataFolder
  private var folders = 0
  var ledger: DeterministicLedger?
  var sendings: [Sending]
  private var attempts: [Attempt] = []
  private var hours: Int64 = 0
  private var clockError: Int64 = 0
  /// Set by `crash`: the folder on which the next process starts.
  private var crashFolder: DataFolder?
  /// Whether the projection may be missing or incomplete, because it is not ready yet or a fault
  /// occurred.
  var mayLackRows = true
  var observed = Observations()
  /// The events of the run as text. The same schedule gives the same trace.
  private(set) var trace: [String] = []

  init(_ schedule: FaultSchedule, _ fixtures: Fixtures, _ receiver: Receiver, template: String?)
    throws
  {
    (self.schedule, self.fixtures, self.receiver) = (schedule, fixtures, receiver)
    scratch = try Scratch()
    folder = DataFolder(path: scratch.path + "/0")
    disk = Disk(outcomeLog)
    sendings = schedule.posts.map { Sending(post: $0, due: $0.sentAt) }
    if let template { try FileManager.default.copyItem(atPath: template, toPath: folder.path) }
  }

  /// Runs the whole schedule, then ends all faults and lets Apple deliver what remains.
  func run() throws {
    try start([])
    for step in schedule.steps {
      record("\(step.action)")
      try perform(step)
      record("the projection is \(ledger.map { "\($0.ledger.liveProjection.state)" } ?? "-")")
      try check()
    }
    disk.freeSpace()
    try end()
  }

  private func record(_ event: String) { trace.append(event) }

  var now: Int64 { Fixtures.start + hours * Self.hour + clockError }

  // MARK: Steps

  private func perform(_ step: FaultSchedule.Step) throws {
    switch step.action {
    case .pass(let more): pass(more)
    case .work: try work(step.fault)
    case .prepareProjection(let isInterrupted):
      try runWithFault(step.fault) { try self.prepareProjection(isInterrupted: isInterrupted) }
    case .crash(let faults):
      ledger = nil
      try start(faults)
    case .stop(let faults):
      try runWithFault(nil) { self.ledger?.stop() }
      deliverAnswers()
      ledger = nil
      try start(faults)
    case .setClock(let change): clockError += change
    case .build(let isFromScratch, let isInterrupted, let meanwhile):
      try runWithFault(nil) { try self.build(isFromScratch, isInterrupted, meanwhile) }
    case .adopt: ledger?.ledger.perform(.adoptCurrent) { _ in }
    case .refold(let id): ledger?.ledger.perform(.refold(only: id)) { _ in }
    case .deleteProjection(let listToo):
      ledger = nil
      try deleteRows(listToo)
      try start([])
    }
  }

  /// Runs `body` while the disk injects a fault. If the fault ends the process, everything that
  /// `body` does afterwards is discarded: the next process starts on the files as of the crash.
  private func runWithFault(_ fault: FaultSchedule.Fault?, _ body: () throws -> Void) throws {
    disk.begin(fault) { self.crash() }
    var failure: (any Error)?
    FaultyFiles.observed(by: disk) {
      do { try body() } catch { failure = error }
    }
    let hasFired = disk.end()
    deliverAnswers()
    if let after = crashFolder {
      (ledger, crashFolder, folder) = (nil, nil, after)
      return try start([])
    }
    if let failure, !hasFired { throw failure }
    if hasFired { mayLackRows = true }
    if let found = ledger?.ledger.failure {
      record("the journal failed: \(found)")
      guard hasFired else { throw Violation("the journal failed by itself: \(found)") }
      // A daemon whose journal failed exits and is started again.
      ledger?.stop()
      deliverAnswers()
      ledger = nil
      return try start([])
    }
  }

  /// Copies the files as they are now, for the process that starts after the crash.
  private func crash() {
    folders += 1
    let after = DataFolder(path: scratch.path + "/\(folders)")
    try? FileManager.default.copyItem(atPath: folder.path, toPath: after.path)
    crashFolder = after
    outcomeLog.setDead(true)
  }

  /// Starts the ledger repeatedly, each time with the next fault and finally without one, until it
  /// succeeds.
  private func start(_ faults: [FaultSchedule.Fault]) throws {
    var faults = faults[...]
    mayLackRows = true
    for index in attempts.indices { disconnect(index) }
    while ledger == nil {
      let fault = faults.popFirst()
      if fault == nil { disk.freeSpace() }
      outcomeLog.setDead(false)
      disk.begin(fault) { self.crash() }
      var failure: LedgerError?
      FaultyFiles.observed(by: disk) {
        do throws(LedgerError) {
          let clock = { [unowned self] in hours * Self.hour * 1_000_000 }
          ledger = try DeterministicLedger.open(folder, now: now, clock: clock)
        } catch {
          failure = error
        }
      }
      let hasFired = disk.end()
      if let after = crashFolder { (ledger, crashFolder, folder) = (nil, nil, after) }
      if let failure, !hasFired { throw Violation("it does not start: \(failure)") }
      record("start" + (failure.map { ": \($0)" } ?? ""))
    }
    outcomeLog.setDead(false)
    observed.isFresh = true
  }

  /// Runs the writer, then the thread that maintains the projection: a projection that was lost is
  /// read again after the next run, also without a batch.
  private func work(_ fault: FaultSchedule.Fault?) throws {
    try runWithFault(fault) {
      self.ledger?.work()
      guard !self.disk.hasFired, self.ledger?.wasPrepared == true else { return }
      self.ledger?.recoverProjection()
      if !self.disk.hasFired { self.mayLackRows = false }
    }
  }

  private func prepareProjection(isInterrupted: Bool) throws {
    guard let ledger, !ledger.hasProjection else { return }
    try ledger.prepareProjection { !isInterrupted }
    if !disk.hasFired, ledger.hasProjection { mayLackRows = false }
  }

  private func build(_ isFromScratch: Bool, _ isInterrupted: Bool, _ meanwhile: Bool) throws {
    var plan = Rebuild.Plan()
    (plan.threads, plan.isFromScratch) = (1, isFromScratch)
    _ = try Rebuild.build(folder, plan) { _, _ in
      if meanwhile { ledger?.work() }
      return !isInterrupted
    }
  }

  func deleteRows(_ listToo: Bool) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix("entitlements-") || (listToo && name == "projections") {
      try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }
  }

  // MARK: Apple

  /// Advances the time by a number of hours and makes every delivery attempt that becomes due.
  private func pass(_ span: Int64) {
    let end = hours + span
    while let next = sendings.compactMap(\.due).min(), next <= end {
      if next > hours { disconnect() }
      hours = max(hours, next)
      for index in sendings.indices where sendings[index].due == next { attempt(index) }
    }
    if end > hours { disconnect() }
    hours = end
  }

  /// Ends Apple's waiting for all answers, because it does not wait for an hour. Submissions that
  /// are in progress continue.
  private func disconnect() {
    for index in attempts.indices { disconnect(index) }
  }

  private func disconnect(_ index: Int) {
    guard attempts[index].isHeard else { return }
    attempts[index].isHeard = false
    retry(attempts[index].sending)
  }

  private func attempt(_ index: Int) {
    let number = sendings[index].attempts
    let fates = sendings[index].post.fates
    let fate = number < fates.count ? fates[number] : .arrives
    sendings[index].attempts += 1
    sendings[index].due = nil
    record("\(hours) h: \(fixtures.items[sendings[index].post.item].name) \(fate)")
    if fate == .isLost { return retry(index) }
    for copy in 0..<(fate == .arrivesTwice ? 2 : 1) {
      deliver(index, isHeard: fate != .answerIsLost && copy == 0)
    }
    if fate == .answerIsLost { retry(index) }
  }

  private func retry(_ index: Int) {
    let delays = Self.retryDelays[fixtures.items[sendings[index].post.item].isV1] ?? []
    let number = sendings[index].attempts
    sendings[index].due = number <= delays.count ? hours + delays[number - 1] : nil
  }

  private func deliver(_ index: Int, isHeard: Bool) {
    let item = sendings[index].post.item
    guard let received = try? receiver.receive(body: fixtures.items[item].body, at: now) else {
      // Apple also retries after a refusal.
      if isHeard { retry(index) }
      return
    }
    observed.sent.insert(item)
    let (number, outcomeLog) = (attempts.count, outcomeLog)
    attempts.append(Attempt(sending: index, isHeard: isHeard))
    // Without a running ledger the connection is refused.
    guard let ledger else { return disconnect(number) }
    ledger.ledger.submit(received) { outcomeLog.record(number, $0) }
  }

  /// Sends the answers to Apple.
  private func deliverAnswers() {
    for entry in outcomeLog.drain() {
      let attempt = attempts[entry.attempt]
      let item = sendings[attempt.sending].post.item
      record("\(fixtures.items[item].name): \(entry.outcome)")
      observed.answers.append((item: item, entry: entry))
      guard attempt.isHeard else { continue }
      attempts[entry.attempt].isHeard = false
      switch entry.outcome {
      case .accepted, .duplicate, .conflict: break
      default: retry(attempt.sending)
      }
    }
  }

  // MARK: The end

  /// Ends all faults and makes Apple's remaining attempts.
  private func end() throws {
    record("the end")
    clockError = 0
    try serve()
    while let next = sendings.compactMap(\.due).min() {
      pass(max(0, next - hours))
      try serve()
    }
    guard !mayLackRows else {
      throw Violation("the projection is not ready although no fault occurred")
    }
    try checkEnd()
  }

  private func serve() throws {
    try work(nil)
    try runWithFault(nil) { try prepareProjection(isInterrupted: false) }
    try work(nil)
    try check()
  }

  /// Stops the ledger and starts it again.
  func restart() throws {
    ledger?.stop()
    ledger = nil
    try start([])
    try serve()
  }
}
