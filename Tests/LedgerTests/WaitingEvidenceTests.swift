import AppStore
import AppStoreSimulator
import Entitlements
import Foundation
import Ledger
import Queries
import Support
import Testing

@testable import Store

/// What an append has no time to judge is judged in turns. Until then the row says what is
/// journaled, and in the end nothing differs (promises 6 and 9).
@Suite struct WaitingEvidenceTests {
  private typealias Fact = EvidenceFact
  private static let day: Int64 = 86_400_000

  /// A journal without a daemon, whose appends judge for as many steps as they are given.
  private final class World {
    let ledger: TestLedger
    private let scratch: Scratch
    private(set) var folder: DataFolder
    private(set) var journal: Journal

    init() throws {
      ledger = try TestLedger(secrets: [MixedLives.secret])
      scratch = try Scratch()
      folder = DataFolder(path: "\(scratch.path)/1")
      try folder.create()
      journal = try Self.open(folder)
    }

    private static func open(_ folder: DataFolder) throws -> Journal {
      let lock = try folder.lock()
      return try Journal.open(
        folder, lock: lock, now: 0,
        decodingWith: { try? JournaledNotification.foldEvent($0) })
    }

    func append(_ received: Receiver.Received, steps: Int) throws -> Outcome {
      var left = steps
      func isJudging() -> Bool {
        left -= 1
        return left > 0
      }
      return try journal.append([received.submission], judgingWhile: isJudging)[0]
    }

    func append(_ facts: [Fact], steps: Int = .max) throws -> [Outcome] {
      let receiver = try Receiver(ledger.configuration)
      return try facts.map { try append($0.received(by: receiver), steps: steps) }
    }

    /// One turn; returns how many pieces it journaled.
    @discardableResult
    func judge(steps: Int) throws -> Int {
      var left = steps
      let judged = try journal.judgeNext {
        left -= 1
        return left > 0
      }
      if judged.hasNews { return try journal.journalNews(judged, at: MixedLives.end) }
      try journal.pass(judged, isStored: false)
      return 0
    }

    func restart() throws {
      try journal.close()
      journal = try Self.open(folder)
    }

    /// Goes on with what a power loss now would leave.
    func crash() throws {
      let copy = DataFolder(path: folder.path + "1")
      try copy.create()
      for end in ["", "-wal"] {
        try FileManager.default.copyItem(
          atPath: folder.journal + end, toPath: copy.journal + end)
      }
      try journal.close()
      folder = copy
      journal = try Self.open(folder)
    }

    func entitlement(
      _ id: String, _ question: LedgerReader.Question
    ) throws -> Entitlement? {
      try LedgerReader(folder, durations: [:]).entitlement(
        id, environment: .production, bundleId: nil, question)?.entitlement
    }
  }

  private static func told() throws -> World {
    let world = try World()
    _ = try world.append(
      [.notification("SUBSCRIBED", on: 0)] + (1...12).map { Fact.renewal(on: $0) })
    #expect(world.journal.heldCount == 12 && world.journal.waitingCount == 0)
    let late = Fact.notification(
      "DID_CHANGE_RENEWAL_STATUS", on: 6, Fact.Period(), renewal(isOn: false))
    #expect(try world.append([late], steps: 0).map(\.isJournaled) == [true])
    return world
  }

  private static func renewal(isOn: Bool) -> Fact.Renewal { Fact.Renewal(isOn: isOn) }

  private static func renews(_ world: World) throws -> Bool? {
    try world.entitlement(Fact.original, .init(now: Fact.time(13)))?.autoRenew
  }

  @Test func `an event is journaled before what it changes is judged, and the row is as it is`()
    throws
  {
    let world = try Self.told()
    #expect(world.journal.waitingCount == 1)
    #expect(try Self.renews(world) == false)
    var turns = 0
    while world.journal.waitingCount > 0 {
      try world.judge(steps: 3)
      turns += 1
    }
    #expect(turns > 5 && world.journal.heldCount == 11)
    #expect(try Self.renews(world) == true)
  }

  @Test(arguments: [true, false])
  func `who waits is found again after a crash or a restart between turns`(isCrash: Bool) throws {
    let world = try Self.told()
    for _ in 0..<3 {
      try world.judge(steps: 5)
      if isCrash { try world.crash() } else { try world.restart() }
      #expect(world.journal.waitingCount == 1)
    }
    #expect(try world.journal.judgeNext(while: { true }).hasNews)
    if isCrash { try world.crash() } else { try world.restart() }
    #expect(try world.judge(steps: .max) == 1)
    try world.crash()
    #expect(world.journal.waitingCount == 0 && world.journal.heldCount == 11)
    #expect(try Self.renews(world) == true)
  }

  @Test func `evidence that is not judged in time is held, and journaled if it is new`() throws {
    let world = try Self.told()
    let facts: [Fact] = [.renewal(Self.renewal(isOn: false), on: 20), .renewal(on: 21)]
    #expect(try world.append(facts, steps: 0) == [.held(isNew: true), .held(isNew: true)])
    while world.journal.waitingCount > 0 { try world.judge(steps: 4) }
    for (day, isOn) in [(13, true), (20, false), (21, true)] {
      let question = LedgerReader.Question(asOf: Fact.time(day), now: Fact.time(30))
      #expect(try world.entitlement(Fact.original, question)?.autoRenew == isOn)
    }
  }

  @Test func `renewal information needs a transaction, however little time there is`() throws {
    let world = try World()
    #expect(
      try world.append([.renewal(on: 1)], steps: 0) == [.refused(.notAdmitted("no_transaction"))])
    _ = try world.append([.notification("SUBSCRIBED", on: 0), .notification("DID_RENEW", on: 2)])
    #expect(try world.append([.renewal(on: 3)], steps: 0) == [.held(isNew: true)])
  }

  @Test func `rows are those of all that was told, in any order, turns and restarts`() throws {
    var (waited, compared) = (0, 0)
    for seed in UInt64(20_261_101)..<20_261_104 {
      var chance = SplitMix64(seed: seed)
      let world = try World()
      var lives = try MixedLives(customers: 5, from: Int(seed % 300_000), seed: seed)
      var lines = try lives.lines(Set(SimulatedMessage.Kind.allCases), answers: true).map(\.line)
      lines.shuffle(using: &chance)
      var told: [StreamKey: [NotificationUUID: FoldEvent]] = [:]
      for received in lines.flatMap({ world.ledger.receive(line: $0, at: MixedLives.end) }) {
        let outcome = try world.append(received, steps: Int(chance.below(30)))
        if let stream = received.stream, let event = received.foldEvent(seq: 0),
          outcome != .refused(.notAdmitted("no_transaction"))
        {
          told[stream, default: [:]][event.uuid] = event
        }
        waited = max(waited, world.journal.waitingCount)
        if chance.once(in: 3) { try world.judge(steps: Int(chance.below(60))) }
        if chance.once(in: 200) { try world.restart() }
      }
      while world.journal.waitingCount > 0 { try world.judge(steps: 100) }
      for (stream, pieces) in told {
        let all = Array(pieces.values)
        for time in all.map(\.signedDate) {
          let known = all.filter { $0.signedDate <= time }
          let question = LedgerReader.Question(asOf: time, now: MixedLives.end)
          #expect(
            try world.entitlement(stream.originalTransactionId, question)
              == Self.entitlement(known, time), "seed \(seed): \(stream) as of \(time)")
          compared += 1
        }
      }
    }
    #expect(waited > 1 && compared > 100)
  }

  @Test func `on a shared journal another daemon judges what one left when it was lost`() throws {
    let receiver = try Receiver(TestLedger().configuration)
    let (server, scratch) = (SharedJournalServer(), try Scratch())
    let access = SharedAccess(openDuties: { InMemoryDutyTable(server) }) {
      InMemorySharedJournal(server)
    }
    var time: Int64 = 0
    let lost = try DeterministicLedger.open(
      DataFolder(path: "\(scratch.path)/1"), now: 0,
      clock: {
        time += 1_000_000_000
        return time
      }, shared: access)
    func tell(_ fact: Fact) throws {
      lost.ledger.submit(try fact.received(by: receiver)) { _ in }
      lost.work()
    }
    try tell(.notification("SUBSCRIBED", on: 0))
    for day in 1...130 { try tell(.renewal(on: day)) }
    while lost.ledger.judging.waitingCount > 0 { lost.work() }
    try tell(.notification("CHANGED", on: 65, Fact.Period(), Self.renewal(isOn: false)))
    #expect(lost.ledger.judging.waitingCount == 1 && server.content.head.seq == 2)

    let other = try DeterministicLedger.open(
      DataFolder(path: "\(scratch.path)/2"), now: 0, clock: { 0 }, shared: access)
    for _ in 0..<3 { other.work() }
    #expect(other.ledger.judging.waitingCount == 0 && server.content.head.seq == 3)
    let question = LedgerReader.Question(now: Fact.time(131))
    let row = try LedgerReader(other.ledger.folder, durations: [:]).entitlement(
      Fact.original, environment: .production, bundleId: nil, question)
    #expect(row?.entitlement.autoRenew == true)
    other.stop()
    lost.stop()
  }

  private static func entitlement(_ events: [FoldEvent], _ time: Int64) -> Entitlement? {
    var state = StreamState()
    for event in events { state.evolve(event) }
    return EntitlementRow(state).entitlement(at: time)
  }
}

extension Outcome {
  fileprivate var isJournaled: Bool {
    if case .accepted = self { true } else { false }
  }
}
