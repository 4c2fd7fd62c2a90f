import AppStore
import Entitlements
public import Store
public import StrictJSON
import Synchronization

/// Receives lines of NDJSON exactly as the network's requests are received: one POST body a line,
/// or `{"received_at_ms":…, "body":{…}}`, which preserves a given receive time. Such a line may
/// have the member `arrival`, with or without the time: how the notification arrived. A line may
/// also be evidence (`EvidenceLine`, `ReceiptLine`, `SubmittedEvidence`).
///
/// A refused line ends the batch: no line after it is journaled, unless the caller skips refused
/// lines. What the owner says is nothing that a file may say (promise 3), because nobody signed it:
/// such a line is refused and ends nothing. Only where a whole export is taken with its chain, a
/// mapping of products of a configured app is taken too.
public enum BatchReceive {
  /// Encodes what became of each line, for the daemon's answer to the command that sent them.
  public static func json(_ outcomes: [Outcome]) -> JSONValue {
    .array(
      outcomes.map { outcome in
        switch outcome {
        case .accepted(let seq): .object([("accepted", .integer(seq))])
        case .duplicate(let seq): .object([("duplicate", .integer(seq))])
        case .conflict(let seq): .object([("conflict", .integer(seq))])
        case .held(let isNew): .object([("confirmed", .boolean(isNew))])
        case .noPurchases: .object([(noPurchases, .boolean(true))])
        case .skipped: .null
        case .refused(.unavailable(let code)): .object([("unavailable", .string(code))])
        case .quarantined(let code, _), .quarantineFull(let code):
          .object([("refused", .string(code))])
        case .refused(let refusal): .object([("refused", .string(refusal.code))])
        }
      })
  }

  /// Decodes what `json` encoded; nil for anything else. The answer has the code of a refusal and
  /// not its kind: each is decoded as `malformed`.
  public static func outcomes(_ element: JSONElement) -> [Outcome]? {
    var outcomes: [Outcome] = []
    for item in element.elements {
      switch (item.kind, item.members.first) {
      case (.null, _): outcomes.append(.skipped)
      case (_, ("accepted", let value)?): outcomes.append(.accepted(seq: value.integer ?? 0))
      case (_, ("duplicate", let value)?): outcomes.append(.duplicate(seq: value.integer ?? 0))
      case (_, ("conflict", let value)?): outcomes.append(.conflict(seq: value.integer ?? 0))
      case (_, ("confirmed", let value)?):
        outcomes.append(.held(isNew: value.boolean == true))
      case (_, (Self.noPurchases, _)?): outcomes.append(.noPurchases)
      case (_, ("refused", let value)?):
        outcomes.append(.refused(.malformed(value.string ?? "")))
      case (_, ("unavailable", let value)?):
        outcomes.append(.unavailable(value.string ?? ""))
      default: return nil
      }
    }
    return outcomes
  }

  private static let noPurchases = "no_purchases"

  /// The code of a refused line that is a statement of the owner.
  public static let ownersLine = "owner_statement"

  /// What a line may have besides a body.
  private static let otherBytes = 256

  /// The longest line, in bytes, without its line end.
  ///
  /// - Parameter limit: bytes of a POST body.
  public static func maximumLine(_ limit: Int) -> Int {
    max(limit + otherBytes, SubmittedEvidence.maximumBytes + ReceiptLine.maximumOtherBytes)
  }

  /// The most lines of one batch.
  public static let maximumLines = 256

  /// Proves lines and submits them.
  ///
  /// - Parameters:
  ///   - lines: without their line ends.
  ///   - skipsRefused: continue after a refused line.
  ///   - now: our clock, milliseconds since 1970.
  ///   - limit: bytes of a POST body.
  ///   - chain: what the seqs and hashes of an export's lines are checked against; nil for lines
  ///     that have none.
  ///   - onOutcome: called for each submitted line, on the writer's thread.
  ///   - completion: called once, with what became of each line.
  public static func receive(
    _ lines: [ArraySlice<UInt8>], skipsRefused: Bool, receiver: Receiver, ledger: Ledger,
    at now: Int64, limit: Int, verifying chain: ImportChainVerifier? = nil,
    onOutcome: @escaping @Sendable (Receiver.Received, Outcome) -> Void = { _, _ in },
    completion: @escaping @Sendable ([Outcome]) -> Void
  ) {
    var outcomes = [Outcome](repeating: .skipped, count: lines.count)
    var submissions: [(index: Int, received: Receiver.Received)] = []
    let run = EventRun()
    for (index, line) in lines.enumerated() {
      do throws(Refusal) {
        let parts = try receive(line: line, receiver, at: now, limit: limit, verifying: chain)
        if parts.isEmpty { outcomes[index] = .noPurchases }
        for received in parts {
          submissions.append((index, skipsRefused ? received : received.joining(run)))
        }
        if !skipsRefused, parts.contains(where: { $0.refusal != nil }) { break }
      } catch {
        let isOwners = isOwners(line)
        outcomes[index] = .refused(isOwners ? .malformed(ownersLine) : error)
        // The rest of a chain has lost its beginning.
        if !skipsRefused, !isOwners || chain != nil { break }
      }
    }
    submit(
      submissions, of: outcomes, to: ledger, onOutcome: onOutcome,
      completion: completion)
  }

  /// Whether a refused line is a statement of the owner, in a line of an export or alone.
  private static func isOwners(_ line: ArraySlice<UInt8>) -> Bool {
    guard let root = try? JSONDocument(parsing: Array(line)).root else { return false }
    return OwnerStatement.isMeant(by: root["body"] ?? root)
  }

  /// Submits those notifications of a batch that were received.
  ///
  /// - Parameter outcomes: what became of the whole batch so far.
  static func submit(
    _ submissions: [(index: Int, received: Receiver.Received)], of outcomes: [Outcome],
    to ledger: Ledger,
    onOutcome: @escaping @Sendable (Receiver.Received, Outcome) -> Void,
    completion: @escaping @Sendable ([Outcome]) -> Void
  ) {
    guard !submissions.isEmpty else { return completion(outcomes) }
    // A receipt may have more parts than the writer's queue takes.
    ledger.submit(
      whole: OutcomeCollector.submissions(submissions, of: outcomes, onOutcome, completion))
  }

  /// Proves one line, without its line end: one event, or those of a `SubmittedEvidence` or of
  /// a receipt, which are none if it lists no purchase.
  ///
  /// - Throws: as `Receiver.receive`, and `Refusal.malformed` for a line that is too long, ends in
  ///   CR, has a receive time that cannot be preserved or an unknown arrival, or does not continue
  ///   `chain`.
  package static func receive(
    line: ArraySlice<UInt8>, _ receiver: Receiver, at now: Int64, limit: Int,
    verifying chain: ImportChainVerifier?
  ) throws(Refusal) -> [Receiver.Received] {
    guard line.last != 0x0D else { throw .malformed("line_end") }
    guard line.count <= maximumLine(limit) else { throw .malformed("too_long") }
    let bytes = Array(line)
    // Parsed once, if it is a body. An export's line may hold more than a body does.
    let body = receiver.document(of: bytes)
    guard let root = try? (body ?? JSONDocument(parsing: bytes)).root else {
      throw .malformed("json")
    }
    if let line = ReceiptLine(root) {
      return try receive(line, root, receiver, at: now, verifying: chain)
    }
    if chain == nil, root[SubmittedEvidence.receiptMember] != nil {
      return try receiver.receive(submittedReceipt: root, at: now).parts
    }
    guard line.count <= limit + otherBytes else { throw .malformed("too_long") }
    if let line = EvidenceLine(root) {
      return [try receive(line, root, receiver, at: now, verifying: chain)]
    }
    if chain == nil, root[SubmittedEvidence.transactionMember] != nil {
      return try receiver.receive(submitted: root, at: now, from: "ingest").parts
    }
    let isWrapped = root["received_at_ms"] != nil || root["arrival"] != nil
    guard let exported = root["body"], isWrapped else {
      guard chain == nil else { throw .malformed("chain") }
      guard let body else { throw .malformed("json") }
      return [try receiver.receive(body, at: now)]
    }
    let arrival = try arrival(root)
    guard root["received_at_ms"] != nil else {
      guard chain == nil else { throw .malformed("chain") }
      return [try receiver.receive(body: exported.text, at: now).arriving(arrival)]
    }
    let time = try receiveTime(root, now)
    let received: Receiver.Received
    if chain != nil, let statement = OwnerStatement(body: Array(exported.text)),
      statement.source == .catalog, receiver.admits(statement)
    {
      received = Receiver.Received(NewEvent(statement, receivedAt: time))
    } else {
      received = try receiver.receive(body: exported.text, at: time, preservesReceivedAt: true)
        .arriving(arrival)
    }
    if let chain, !chain.accepts(root, received) { throw .malformed("chain") }
    return [received]
  }

  /// Receives evidence. What an export says was journaled is journaled again; all other evidence is
  /// journaled if it says something new.
  private static func receive(
    _ line: EvidenceLine, _ root: JSONElement, _ receiver: Receiver, at now: Int64,
    verifying chain: ImportChainVerifier?
  ) throws(Refusal) -> Receiver.Received {
    let given = root["received_at_ms"] == nil ? nil : try receiveTime(root, now)
    let received = try receiver.receive(
      evidence: line.jws, line.source, from: line.origin, at: given ?? now,
      preservesReceivedAt: given != nil && !line.isHeld
    ).arriving(root["arrival"] == nil ? .asked : try arrival(root))
    if let chain, !line.isHeld, !chain.accepts(root, received) { throw .malformed("chain") }
    return received
  }

  /// Receives the events of one receipt.
  private static func receive(
    _ line: ReceiptLine, _ root: JSONElement, _ receiver: Receiver, at now: Int64,
    verifying chain: ImportChainVerifier?
  ) throws(Refusal) -> [Receiver.Received] {
    let given = root["received_at_ms"] == nil ? nil : try receiveTime(root, now)
    let parts = try receiver.receive(
      receipt: line.receipt, in: line.environment, only: line.originalTransactionIds,
      arriving: root["arrival"] == nil ? .posted : try arrival(root), at: given ?? now,
      preservesReceivedAt: given != nil && !line.isHeld
    ).parts
    if let chain, !line.isHeld {
      guard parts.count == line.events.count,
        zip(line.events, parts).allSatisfy({ chain.accepts($0, $1) })
      else { throw .malformed("chain") }
    }
    return parts
  }

  private static func receiveTime(
    _ root: JSONElement, _ now: Int64
  ) throws(Refusal) -> Int64 {
    guard let receivedAt = root["received_at_ms"]?.integer, receivedAt >= 0 else {
      throw .malformed("received_at_ms")
    }
    // Receive times never decrease: one ahead of our clock would raise that of all later events.
    guard receivedAt <= now.advanced(orBoundBy: Ledger.clockTolerance) else {
      throw .malformed("received_at_ms_ahead_of_clock")
    }
    return receivedAt
  }

  private static func arrival(_ root: JSONElement) throws(Refusal) -> EventArrival {
    guard let word = root["arrival"] else { return .posted }
    guard let arrival = word.string.flatMap(EventArrival.init(rawValue:)) else {
      throw .malformed("arrival")
    }
    return arrival
  }
}

/// Collects the outcomes of a batch's lines from the writer's thread. A line may have several
/// parts.
final class OutcomeCollector: Sendable {
  private let state: Mutex<(outcomes: [Outcome], waiting: Int)>
  private let completion: @Sendable ([Outcome]) -> Void

  private init(
    _ outcomes: [Outcome], waiting: Int,
    _ completion: @escaping @Sendable ([Outcome]) -> Void
  ) {
    state = Mutex((outcomes, waiting))
    self.completion = completion
  }

  private func set(_ index: Int, _ outcome: Outcome) {
    let all = state.withLock { state -> [Outcome]? in
      let former = state.outcomes[index]
      state.outcomes[index] =
        former == .skipped
        ? outcome : SubmittedEvidence.combined([former, outcome])
      state.waiting -= 1
      return state.waiting == 0 ? state.outcomes : nil
    }
    if let all { completion(all) }
  }

  /// Parts of what was received at once, for the writer.
  ///
  /// - Parameters:
  ///   - parts: each with its place in `outcomes`; at least one.
  ///   - outcomes: what became of the whole so far.
  ///   - onOutcome: called for each part, on the writer's thread.
  ///   - completion: called once, on the writer's thread.
  static func submissions(
    _ parts: [(index: Int, received: Receiver.Received)], of outcomes: [Outcome],
    _ onOutcome: @escaping @Sendable (Receiver.Received, Outcome) -> Void,
    _ completion: @escaping @Sendable ([Outcome]) -> Void
  ) -> [Ledger.Submitted] {
    let collector = OutcomeCollector(outcomes, waiting: parts.count, completion)
    return parts.map { index, received in
      (
        received,
        { outcome in
          onOutcome(received, outcome)
          collector.set(index, outcome)
        }
      )
    }
  }
}

extension [Receiver.Received] {
  /// The parts of one request, for the writer. A receipt without in-app records has none.
  ///
  /// - Parameters:
  ///   - onOutcome: called for each part, on the writer's thread.
  ///   - completion: called once with what became of the whole: on the writer's thread, or at once
  ///     if there are no parts.
  public func submissions(
    onOutcome: @escaping @Sendable (Receiver.Received, Outcome) -> Void,
    completion: @escaping @Sendable (Outcome) -> Void
  ) -> [Ledger.Submitted] {
    if isEmpty { completion(.held(isNew: true)) }
    return OutcomeCollector.submissions(map { (0, $0) }, of: [.skipped], onOutcome) {
      completion($0.first ?? .skipped)
    }
  }
}
