import Foundation
import JournalStore
import LedgerEngine
import Support

/// What is wrong with a history.
struct Broken: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// One history as it happens: Apple, the network, the disk, and the ledger of the daemon in the
/// middle, all on one thread. After every step the promises are checked (`ClusterChecks.swift`).
final class SimulatedCluster {
  /// Hours from one of Apple's attempts to the next, V2 and V1 (developer.apple.com/documentation/
  /// appstoreservernotifications/responding-to-app-store-server-notifications).
  private static let patience: [Bool: [Int64]] = [false: [1, 12, 24, 48, 72], true: [6, 24, 48]]
  private static let hour: Int64 = 3_600_000

  /// One notification on Apple's side.
  struct Sending {
    var post: FaultSchedule.Post
    var attempts = 0
    /// Hours after the beginning; nil once Apple has heard a 200, or has given up.
    var due: Int64?
  }

  /// One attempt that got through the door and waits for its answer.
  struct Attempt {
    let sending: Int
    /// Whether Apple, or a proxy, still listens.
    var isHeard: Bool
  }

  let mail: Fixtures
  let course: FaultSchedule
  private let receiver: Receiver
  let place: Scratch
  let book = OutcomeLog()
  private let disk: Disk
  var folder: DataFolder
  private var folders = 0
  var ledger: DeterministicLedger?
  var sendings: [Sending]
  private var attempts: [Attempt] = []
  private var hours: Int64 = 0
  private var clockError: Int64 = 0
  private var crashedInto: DataFolder?
  /// Whether rows may be missing or behind: they are not ready yet, or something befell them.
  var mayLackRows = true
  var seen = Seen()
  /// What happened, in words; the same for the same course.
  private(set) var trace: [String] = []

  init(_ course: FaultSchedule, _ mail: Fixtures, _ receiver: Receiver, template: String?) throws {
    (self.course, self.mail, self.receiver) = (course, mail, receiver)
    place = try Scratch()
    folder = DataFolder(path: place.path + "/0")
    disk = Disk(book)
    sendings = course.posts.map { Sending(post: $0, due: $0.born) }
    if let template { try FileManager.default.copyItem(atPath: template, toPath: folder.path) }
  }

  /// Plays the whole course, then lets all troubles end and Apple send what it still has.
  func play() throws {
    try start([])
    for step in course.steps {
      note("\(step.action)")
      try perform(step)
      try check()
    }
    disk.makeRoom()
    try end()
  }

  private func note(_ words: String) { trace.append(words) }

  var now: Int64 { Fixtures.start + hours * Self.hour + clockError }

  // MARK: Steps

  private func perform(_ step: FaultSchedule.Step) throws {
    switch step.action {
    case .pass(let more): pass(more)
    case .work: try work(step.fault)
    case .prepareProjection(let isCutOff):
      try guarded(step.fault) { try self.prepareProjection(isCutOff: isCutOff) }
    case .crash(let faults):
      ledger = nil
      try start(faults)
    case .stop(let faults):
      try guarded(nil) { self.ledger?.stop() }
      settle()
      ledger = nil
      try start(faults)
    case .setClock(let change): clockError += change
    case .build(let isFromScratch, let isCutOff, let meanwhile):
      try guarded(nil) { try self.build(isFromScratch, isCutOff, meanwhile) }
    case .adopt: ledger?.ledger.adopt(keeping: 2) { _ in }
    case .rollBack: ledger?.ledger.rollBack { _ in }
    case .prune: ledger?.ledger.prune(keeping: 1) { _ in }
    case .refold(let id): ledger?.ledger.refold(only: id) { _ in }
    case .loseRows(let listToo):
      ledger = nil
      try deleteRows(listToo)
      try start([])
    }
  }

  /// A body under the eyes of the disk. Where the fault ends the process, what comes after it is
  /// not: the files are taken as they were.
  private func guarded(_ fault: FaultSchedule.Fault?, _ body: () throws -> Void) throws {
    disk.begin(fault) { self.crash() }
    var failure: (any Error)?
    FaultyFiles.watched(by: disk) {
      do { try body() } catch { failure = error }
    }
    let hasFired = disk.end()
    settle()
    if let after = crashedInto {
      (ledger, crashedInto, folder) = (nil, nil, after)
      return try start([])
    }
    if let failure, !hasFired { throw failure }
    if hasFired { mayLackRows = true }
    if let found = ledger?.ledger.failure {
      note("the journal failed: \(found)")
      guard hasFired else { throw Broken("the journal failed by itself: \(found)") }
      // The daemon ends itself, and is started again.
      ledger?.stop()
      settle()
      ledger = nil
      return try start([])
    }
  }

  /// The files as they are now, with another process's eyes.
  private func crash() {
    folders += 1
    let after = DataFolder(path: place.path + "/\(folders)")
    try? FileManager.default.copyItem(atPath: folder.path, toPath: after.path)
    crashedInto = after
    book.setDead(true)
  }

  /// Starts until it succeeds, each time with the next fault; at last with none.
  private func start(_ faults: [FaultSchedule.Fault]) throws {
    var faults = faults[...]
    mayLackRows = true
    for place in attempts.indices { hangUp(place) }
    while ledger == nil {
      let fault = faults.popFirst()
      if fault == nil { disk.makeRoom() }
      book.setDead(false)
      disk.begin(fault) { self.crash() }
      var failure: StoreError?
      FaultyFiles.watched(by: disk) {
        do throws(StoreError) {
          let clock = { [unowned self] in hours * Self.hour * 1_000_000 }
          ledger = try DeterministicLedger.open(folder, now: now, clock: clock)
        } catch {
          failure = error
        }
      }
      let hasFired = disk.end()
      if let after = crashedInto { (ledger, crashedInto, folder) = (nil, nil, after) }
      if let failure, !hasFired { throw Broken("it does not start: \(failure)") }
      note("start" + (failure.map { ": \($0)" } ?? ""))
    }
    book.setDead(false)
    seen.isFresh = true
  }

  /// The writer gets rows back that it had, with the next batch or when there is none.
  private func work(_ fault: FaultSchedule.Fault?) throws {
    try guarded(fault) {
      self.ledger?.work()
      guard !self.disk.hasFired, self.ledger?.hasProjection == true else { return }
      self.ledger?.work()
      if !self.disk.hasFired { self.mayLackRows = false }
    }
  }

  private func prepareProjection(isCutOff: Bool) throws {
    guard let ledger, !ledger.hasProjection else { return }
    try ledger.prepareProjection { !isCutOff }
    if !disk.hasFired, ledger.hasProjection { mayLackRows = false }
  }

  private func build(_ isFromScratch: Bool, _ isCutOff: Bool, _ meanwhile: Bool) throws {
    var plan = Rebuild.Plan()
    (plan.threads, plan.isFromScratch) = (1, isFromScratch)
    _ = try Rebuild.build(folder, plan) { _, _ in
      if meanwhile { ledger?.work() }
      return !isCutOff
    }
  }

  func deleteRows(_ listToo: Bool) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix("entitlements-") || (listToo && name == "projections") {
      try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }
  }

  // MARK: Apple

  /// Time goes to every attempt that is due on the way, and then to the end of the span.
  private func pass(_ span: Int64) {
    let end = hours + span
    while let next = sendings.compactMap(\.due).min(), next <= end {
      if next > hours { hangUp() }
      hours = max(hours, next)
      for place in sendings.indices where sendings[place].due == next { attempt(place) }
    }
    if end > hours { hangUp() }
    hours = end
  }

  /// Nobody waits an hour for an answer; what is under way stays so.
  private func hangUp() {
    for place in attempts.indices { hangUp(place) }
  }

  private func hangUp(_ place: Int) {
    guard attempts[place].isHeard else { return }
    attempts[place].isHeard = false
    retry(attempts[place].sending)
  }

  private func attempt(_ place: Int) {
    let number = sendings[place].attempts
    let fates = sendings[place].post.fates
    let fate = number < fates.count ? fates[number] : .arrives
    sendings[place].attempts += 1
    sendings[place].due = nil
    note("\(hours) h: \(mail.items[sendings[place].post.item].name) \(fate)")
    if fate == .isLost { return retry(place) }
    for twin in 0..<(fate == .comesTwice ? 2 : 1) {
      deliver(place, isHeard: fate != .answerIsLost && twin == 0)
    }
    if fate == .answerIsLost { retry(place) }
  }

  private func retry(_ place: Int) {
    let waits = Self.patience[mail.items[sendings[place].post.item].isV1] ?? []
    let number = sendings[place].attempts
    sendings[place].due = number <= waits.count ? hours + waits[number - 1] : nil
  }

  private func deliver(_ place: Int, isHeard: Bool) {
    let item = sendings[place].post.item
    guard let received = try? receiver.receive(body: mail.items[item].body, at: now) else {
      // Refused at the door: Apple comes again all the same.
      if isHeard { retry(place) }
      return
    }
    seen.sent.insert(item)
    let (number, book) = (attempts.count, book)
    attempts.append(Attempt(sending: place, isHeard: isHeard))
    // Where nothing runs nobody takes it: the connection is refused.
    guard let ledger else { return hangUp(number) }
    ledger.ledger.submit(received) { book.note(number, $0) }
  }

  /// Answers go out.
  private func settle() {
    for entry in book.take() {
      let attempt = attempts[entry.attempt]
      let item = sendings[attempt.sending].post.item
      note("\(mail.items[item].name): \(entry.outcome)")
      seen.answers.append((item: item, entry: entry))
      guard attempt.isHeard else { continue }
      attempts[entry.attempt].isHeard = false
      switch entry.outcome {
      case .accepted, .duplicate, .conflict: break
      default: retry(attempt.sending)
      }
    }
  }

  // MARK: The end

  /// All troubles are over, and Apple has attempts left for everything.
  private func end() throws {
    note("the end")
    clockError = 0
    try serve()
    while let next = sendings.compactMap(\.due).min() {
      pass(max(0, next - hours))
      try serve()
    }
    guard !mayLackRows else { throw Broken("rows are not ready though all went well") }
    try checkEnd()
  }

  private func serve() throws {
    try work(nil)
    try guarded(nil) { try prepareProjection(isCutOff: false) }
    try work(nil)
    try check()
  }

  /// A clean end, and a start that finds everything.
  func restart() throws {
    ledger?.stop()
    ledger = nil
    try start([])
    try serve()
  }
}
