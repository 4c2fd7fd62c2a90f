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

    /// What rows say of every stream, and as of which event: of the newest if that is nil.
    private let state: StreamState
    private let seq: Int64?

    init(_ state: StreamState, asOf seq: Int64? = nil) throws {
      scratch = try Scratch()
      let configuration = try TestLedger.configuration(in: scratch)
      let folder = DataFolder(path: configuration.data)
      try folder.create()
      lock = try folder.lock()
      journal = try Journal.open(
        folder, lock: lock, now: 0, decodingWith: { try? JournaledNotification.foldEvent($0) })
      receiver = try Receiver(configuration)
      (self.state, self.seq) = (state, seq)
    }

    /// Appends a batch.
    /// - Parameter isKept: whether the facts keep their receive times, as those of a file do.
    func append(_ facts: [Fact], isKept: Bool = false) throws -> [Outcome] {
      let batch = try facts.map { fact -> Submission in
        let submission = try fact.received(by: receiver).submission
        guard isKept, case .event(var event) = submission else { return submission }
        event.preservesReceivedAt = true
        return .event(event)
      }
      let state = state
      return try journal.append(
        batch, knowing: RowStates(seq: seq ?? journal.head.seq) { _ in state })
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
    let journal = try JudgingJournal(known)
    #expect(try journal.append([.transaction(on: 1)]).map(\.isJournaled) == [true])
    #expect(try journal.append([.transaction(on: 2)]) == [.held(isNew: true)])
  }

  @Test func `a row that says less than the journal repeats evidence at most`() throws {
    let journal = try JudgingJournal(StreamState())
    let facts: [Fact] = [.transaction(on: 1), .renewal(on: 1), .transaction(on: 2)]
    #expect(try facts.map { try journal.append([$0])[0].isJournaled } == [true, true, true])
  }

  @Test func `a row is not asked about a stream that the same batch has changed`() throws {
    let journal = try JudgingJournal(StreamState())
    let outcomes = try journal.append([
      .notification("SUBSCRIBED", on: 0), .transaction(on: 1), .transaction(on: 2),
    ])
    #expect(outcomes.map(\.isJournaled) == [true, false, false])
  }

  @Test func `only the journal shows the transaction that renewal information needs`() throws {
    let known = try Self.state([.transaction(on: 0)])
    let journal = try JudgingJournal(known)
    #expect(try journal.append([.renewal(on: 1)]) == [.refused(.notAdmitted("no_transaction"))])
    #expect(
      try journal.append([.transaction(on: 1), .renewal(on: 1)]).map(\.isJournaled)
        == [true, true])
  }

  @Test func `renewal information of a file needs the transaction, too`() throws {
    let journal = try JudgingJournal(StreamState())
    let refused = Outcome.refused(.notAdmitted("no_transaction"))
    #expect(try journal.append([.renewal(on: 1)], isKept: true) == [refused])
    #expect(
      try journal.append([.transaction(on: 1), .renewal(on: 1)], isKept: true).map(\.isJournaled)
        == [true, true])
  }

  @Test func `what rows say as of an earlier event is not used`() throws {
    let journal = try JudgingJournal(StreamState(), asOf: 0)
    let outcomes = try (1...3).map { try journal.append([.transaction(on: $0)])[0] }
    #expect(outcomes.map(\.isJournaled) == [true, false, false])
  }
}

extension Outcome {
  fileprivate var isJournaled: Bool {
    if case .accepted = self { true } else { false }
  }
}
