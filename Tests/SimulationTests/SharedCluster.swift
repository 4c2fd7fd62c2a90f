import AppStore
import Foundation
import Ledger
import Platform
import Queries
import Store
import Support
import Synchronization

/// Two ledgers on one shared journal in memory, and what was answered.
///
/// Laws, after each step:
/// - everything that was answered is in the shared journal (T1), also after a failover to a standby
///   that has what was said to be durable (T5); after a shared journal forgot more than that, from
///   the end on, when the daemons have put it back (A copy is repaired at its next start.)
/// - a copy is a prefix of the shared journal (T3).
///
/// At the end, when all is quiet: both copies have the same events, notes, tables and rows.
final class SharedCluster {
  /// What was answered, by any daemon.
  struct Answer: Sendable {
    let item: Int
    let outcome: Outcome
  }

  private final class AnswerLog: Sendable {
    private let answers = Mutex<[Answer]>([])
    var all: [Answer] { answers.withLock { $0 } }
    func add(_ answer: Answer) { answers.withLock { $0.append(answer) } }
  }

  final class Daemon {
    var folder: DataFolder
    var ledger: DeterministicLedger?
    var saved: DataFolder?
    init(_ folder: DataFolder) { self.folder = folder }
  }

  private let fixtures: Fixtures
  private let receiver: Receiver
  private let schedule: SharedSchedule
  private let scratch: Scratch
  let server = SharedJournalServer()
  private(set) var daemons: [Daemon] = []
  private var folders = 0
  private var time: Int64 = 0
  private let answers = AnswerLog()
  private var checked = 0
  /// What was answered 200: the item's uuid.
  private var answered: Set<NotificationUUID> = []
  /// The hashes of bodies that were quarantined and not dropped since.
  private var quarantined: Set<[UInt8]> = []
  private var sent: Set<Int> = []
  /// Whether the shared journal forgot what it had said was durable.
  private var hasForgotten = false
  private var mayBeAhead = false
  private(set) var trace: [String] = []

  init(_ schedule: SharedSchedule, _ fixtures: Fixtures, _ receiver: Receiver) throws {
    (self.schedule, self.fixtures, self.receiver) = (schedule, fixtures, receiver)
    scratch = try Scratch()
    for _ in 0..<2 { daemons.append(Daemon(newFolder())) }
  }

  private func newFolder() -> DataFolder {
    folders += 1
    return DataFolder(path: "\(scratch.path)/\(folders)")
  }

  func run() throws {
    for daemon in daemons { try start(daemon) }
    for step in schedule.steps {
      trace.append("\(step.action)")
      server.plan(step.faults)
      try perform(step.action)
      server.plan([])
      try restartFailed()
      try check()
    }
    try end()
  }

  // MARK: Steps

  private func perform(_ action: SharedSchedule.Action) throws {
    switch action {
    case .deliver(let item, let daemon): deliver(item, daemons[daemon])
    case .claim(let number, let daemon): claim(number, daemons[daemon])
    case .erase(let account, let daemon):
      daemons[daemon].ledger?.ledger.erase(account: Self.account(account)) { _ in }
    case .drop(let daemon): try drop(daemons[daemon])
    case .work(let daemon): daemons[daemon].ledger?.work()
    case .poll(let daemon):
      daemons[daemon].ledger?.ledger.refresh { _ in }
      daemons[daemon].ledger?.work()
    case .prepareProjection(let daemon): try daemons[daemon].ledger?.prepareProjection { true }
    case .crash(let daemon):
      daemons[daemon].ledger = nil
      try start(daemons[daemon])
    case .stop(let daemon):
      daemons[daemon].ledger?.stop()
      daemons[daemon].ledger = nil
      try start(daemons[daemon])
    case .wipe(let daemon):
      daemons[daemon].ledger = nil
      daemons[daemon].folder = newFolder()
      try start(daemons[daemon])
    case .save(let daemon): try save(daemons[daemon])
    case .restore(let daemon): try restore(daemons[daemon])
    case .failOver:
      let before = server.content
      server.failOver()
      // A copy may have followed what was not said to be durable.
      if server.content != before { mayBeAhead = true }
    case .forget(let commits):
      server.forget(commits: commits)
      hasForgotten = true
    case .setDown(let isDown): server.setDown(isDown)
    }
  }

  /// Starts a daemon as often as it takes: without the shared journal a new copy cannot be made.
  private func start(_ daemon: Daemon) throws {
    for attempt in 0..<20 {
      if attempt == 10 {
        server.setDown(false)
        server.plan([])
      }
      do throws(LedgerError) {
        time += 1
        let server = server
        let access = SharedAccess(
          trustRoots: fixtures.configuration.trustRoots,
          holdMilliseconds: schedule.isImpatient ? 0 : 5, pollMilliseconds: 3_600_000
        ) { InMemorySharedJournal(server) }
        daemon.ledger = try DeterministicLedger.open(
          daemon.folder, now: Fixtures.start + time, clock: { 0 }, shared: access)
        return
      } catch {
        trace.append("start: \(error)")
        guard error.isOfSharedJournal else { throw Violation("it does not start: \(error)") }
      }
    }
    throw Violation("it does not start")
  }

  /// A daemon whose journal failed exits, and is started again.
  private func restartFailed() throws {
    for daemon in daemons {
      guard let failure = daemon.ledger?.ledger.failure else { continue }
      trace.append("failed: \(failure)")
      guard failure == .sharedDiverged else { throw Violation("it failed: \(failure)") }
      daemon.ledger?.stop()
      daemon.ledger = nil
      try start(daemon)
    }
  }

  private func deliver(_ item: Int, _ daemon: Daemon) {
    time += 1
    guard let ledger = daemon.ledger?.ledger,
      let received = try? receiver.receive(body: fixtures.items[item].body, at: now)
    else { return }
    sent.insert(item)
    ledger.submit(received) { [answers] outcome in
      answers.add(Answer(item: item, outcome: outcome))
    }
  }

  private var now: Int64 { Fixtures.start + time }

  private static func account(_ number: Int) -> String { "customer \(number)" }

  private func claim(_ number: Int, _ daemon: Daemon) {
    let statement = NewStatement(
      .claim(originalTransactionId: "100\(number)"),
      of: CustomerName(.account, Self.account(number % 2)),
      environment: .production, bundleId: TestLedger.bundleId, token: "test",
      idempotencyKey: "claim \(number)", receivedAt: now)
    daemon.ledger?.ledger.submit(Receiver.Received(statement)) { [answers] outcome in
      answers.add(Answer(item: -1, outcome: outcome))
    }
  }

  private func drop(_ daemon: Daemon) throws {
    // What waits is answered first.
    daemon.ledger?.work()
    try restartFailed()
    try check()
    let reader = try JournalReader.open(daemon.folder)
    guard let item = try reader.quarantined(limit: 1).first else { return }
    quarantined.remove(item.bodySHA256)
    // Apple may send it again.
    sent = sent.filter { fixtures.items[$0].bodySHA256 != item.bodySHA256 }
    daemon.ledger?.ledger.dropQuarantined([item.id]) { _ in }
    daemon.ledger?.work()
  }

  private func save(_ daemon: Daemon) throws {
    daemon.ledger?.stop()
    daemon.ledger = nil
    let saved = newFolder()
    try FileManager.default.copyItem(atPath: daemon.folder.path, toPath: saved.path)
    daemon.saved = saved
    try start(daemon)
  }

  private func restore(_ daemon: Daemon) throws {
    guard let saved = daemon.saved else { return }
    daemon.ledger = nil
    let folder = newFolder()
    try FileManager.default.copyItem(atPath: saved.path, toPath: folder.path)
    daemon.folder = folder
    try start(daemon)
  }

  // MARK: Laws

  private func check() throws {
    let all = answers.all
    for answer in all.dropFirst(checked) { try record(answer) }
    checked = all.count
    let content = server.content
    if !hasForgotten {
      try checkAnswered(content)
    }
    if !hasForgotten && !mayBeAhead {
      for daemon in daemons { try checkPrefix(daemon, content) }
    }
  }

  private func record(_ answer: Answer) throws {
    let name = answer.item < 0 ? "claim" : fixtures.items[answer.item].name
    trace.append("\(name): \(answer.outcome)")
    guard answer.item >= 0 else { return }
    let item = fixtures.items[answer.item]
    switch answer.outcome {
    case .accepted, .duplicate:
      guard let event = item.event else { throw Violation("\(item.name) is no event") }
      answered.insert(event.notificationUUID)
    case .conflict, .quarantined: quarantined.insert(item.bodySHA256)
    case .refused: break
    default: throw Violation("\(item.name): \(answer.outcome)")
    }
  }

  private func checkAnswered(_ content: SharedJournalServer.Content) throws {
    let journaled = Set(content.events.map(\.notificationUUID))
    guard answered.isSubset(of: journaled) else {
      throw Violation("an event was answered and is not in the shared journal")
    }
  }

  private func checkPrefix(
    _ daemon: Daemon, _ content: SharedJournalServer.Content
  ) throws {
    let position = try JournalReader.open(daemon.folder).position()
    guard position.seq <= content.head.seq, position.notes <= content.head.notes else {
      throw Violation("a copy is ahead of the shared journal")
    }
    if position.seq > 0, content.events[Int(position.seq) - 1].hash != position.hash {
      throw Violation("a copy is no prefix of the shared journal")
    }
  }

  // MARK: The end

  private func end() throws {
    server.plan([])
    server.setDown(false)
    // A daemon that diverged finds out when it looks, ends, and is repaired by its next start; what
    // one puts back, the other follows.
    for _ in 0..<3 {
      for daemon in daemons {
        daemon.ledger?.work()
        daemon.ledger?.ledger.refresh { _ in }
        daemon.ledger?.work()
        try restartFailed()
      }
    }
    for (number, item) in sent.sorted().enumerated() {
      deliver(item, daemons[number % 2])
      daemons[number % 2].ledger?.work()
    }
    for daemon in daemons {
      daemon.ledger?.stop()
      daemon.ledger = nil
    }
    (hasForgotten, mayBeAhead) = (false, false)
    for daemon in daemons {
      try start(daemon)
      daemon.ledger?.ledger.refresh { _ in }
      daemon.ledger?.work()
    }
    daemons[0].ledger?.ledger.refresh { _ in }
    daemons[0].ledger?.work()
    try check()
    try checkEqual()
  }

  private func checkEqual() throws {
    for index in sent {
      guard let event = fixtures.items[index].event else { continue }
      guard
        answered.contains(event.notificationUUID)
          || quarantined.contains(event.bodySHA256)
      else { throw Violation("\(fixtures.items[index].name) was never answered") }
    }
    var digests: [String] = []
    var positions: [JournalPosition] = []
    var notes: [[Note]] = []
    for daemon in daemons {
      try daemon.ledger?.prepareProjection { true }
      guard let ledger = daemon.ledger else { continue }
      let reader = try LedgerReader(ledger.ledger)
      digests.append(try reader.digest() ?? "")
      let journal = try JournalReader.open(daemon.folder)
      positions.append(try journal.position())
      notes.append(try journal.allNotes())
      let held = Set(try journal.quarantined(limit: 1_000).map(\.bodySHA256))
      guard
        quarantined.isSubset(
          of: held.union(
            fixtures.items.compactMap { item in
              item.event.flatMap { answered.contains($0.notificationUUID) ? $0.bodySHA256 : nil }
            }))
      else { throw Violation("what was quarantined is lost") }
    }
    let content = server.content
    guard positions.allSatisfy({ $0 == content.head }) else {
      throw Violation("the copies are at \(positions), the shared journal at \(content.head)")
    }
    guard digests[0] == digests[1] else { throw Violation("the rows differ") }
    let texts = notes.map { $0.map { "\($0.subject) \(String(decoding: $0.body, as: UTF8.self))" } }
    guard texts[0] == texts[1] else {
      let differences = texts[1].difference(from: texts[0])
      throw Violation("the tables differ: \(differences)")
    }
  }
}

extension Fixtures.Item {
  var bodySHA256: [UInt8] {
    switch kind {
    case .event(let event, _): event.bodySHA256
    case .foreign(let item): item.bodySHA256
    case .refused: []
    }
  }
}
