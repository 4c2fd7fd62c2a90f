import AppStore
import Entitlements
import Ledger
import Platform
import Store
import Support
import Testing

/// Evidence is judged by the row of its stream where that is enough. A row is disposable: whatever
/// it says, no evidence stays out of the journal that says something new, and none comes in that
/// the journal alone would refuse.
@Suite struct JudgedByRowTests {
  typealias Fact = EvidenceFact

  /// A journal with its own idea of what rows say.
  private final class JudgingJournal {
    private let scratch: Scratch
    private let lock: FolderLock
    let journal: Journal
    private let receiver: Receiver

    init(_ state: @escaping (StreamKey, Int64) -> StreamState?) throws {
      scratch = try Scratch()
      let configuration = try TestLedger.configuration(in: scratch)
      let folder = DataFolder(path: configuration.data)
      try folder.create()
      lock = try folder.lock()
      journal = try Journal.open(
        folder, lock: lock, now: 0, decodingWith: { try? JournaledNotification.foldEvent($0) })
      journal.foldedState = state
      receiver = try Receiver(configuration)
    }

    /// Appends a batch.
    func append(_ facts: [Fact]) throws -> [Outcome] {
      try journal.append(facts.map { try $0.received(by: receiver).submission })
    }
  }

  private static func state(_ facts: [Fact]) throws -> StreamState {
    let ledger = try TestLedger()
    var state = StreamState()
    for fact in facts { try fact.tell(ledger) }
    let journal = try JournalReader.open(ledger.folder)
    try journal.forEachPayload(from: 1, through: try journal.head().seq) { _, _, payload in
      if let event = try? JournaledNotification.foldEvent(payload) { state.evolve(event) }
      return true
    }
    return state
  }

  @Test func `a row that says more than the journal keeps no evidence out`() throws {
    let known = try Self.state([.transaction(on: 0), .renewal(on: 0)])
    let journal = try JudgingJournal { _, _ in known }
    #expect(try journal.append([.transaction(on: 1)]).map(\.isJournaled) == [true])
    #expect(try journal.append([.transaction(on: 2)]) == [.held(isNew: true)])
  }

  @Test func `a row that says less than the journal repeats evidence at most`() throws {
    let journal = try JudgingJournal { _, _ in StreamState() }
    let facts: [Fact] = [.transaction(on: 1), .renewal(on: 1), .transaction(on: 2)]
    #expect(try facts.map { try journal.append([$0])[0].isJournaled } == [true, true, true])
  }

  @Test func `a row is not asked about a stream that the same batch has changed`() throws {
    let journal = try JudgingJournal { _, _ in StreamState() }
    let outcomes = try journal.append([
      .notification("SUBSCRIBED", on: 0), .transaction(on: 1), .transaction(on: 2),
    ])
    #expect(outcomes.map(\.isJournaled) == [true, false, false])
  }

  @Test func `only the journal shows the transaction that renewal information needs`() throws {
    let known = try Self.state([.transaction(on: 0)])
    let journal = try JudgingJournal { _, _ in known }
    #expect(try journal.append([.renewal(on: 1)]) == [.refused(.notAdmitted("no_transaction"))])
    #expect(
      try journal.append([.transaction(on: 1), .renewal(on: 1)]).map(\.isJournaled)
        == [true, true])
  }

  @Test func `a row is asked as of the events before the batch`() throws {
    let asked = Asked()
    let journal = try JudgingJournal { _, seq in
      asked.seqs.append(seq)
      return nil
    }
    for day in 1...3 { _ = try journal.append([.transaction(on: day)]) }
    #expect(asked.seqs == [0, 1, 1])
  }

  private final class Asked { var seqs: [Int64] = [] }
}

extension Outcome {
  fileprivate var isJournaled: Bool {
    if case .accepted = self { true } else { false }
  }
}
