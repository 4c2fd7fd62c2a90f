import AppStore
public import Ledger
public import Platform
public import Store
import StrictJSON

/// Takes what Apple's history has, through the same ingest path as a POST.
public protocol RecoverySink {
  /// Proves and journals notifications, each a signedPayload.
  ///
  /// - Returns: what became of each.
  /// - Throws: `LedgerError` if they could not be handed over.
  func submit(_ payloads: [String]) throws(LedgerError) -> [Outcome]

  /// What would have been recovered since the last call; nil if it is in the journal.
  func takeUnjournaled() -> JournalReader.Recovered?

  /// Whether it journals nothing. Then one that was listed before is skipped.
  var isDry: Bool { get }
}

extension RecoverySink {
  public var isDry: Bool { false }
  public func takeUnjournaled() -> JournalReader.Recovered? { nil }
}

/// The lines in which notifications are handed over, as `BatchReceive` reads them.
public enum RecoveryLine {
  /// - Parameter signedPayload: as Apple's answer has it, which may be any text.
  public static func make(_ signedPayload: String) -> [UInt8] {
    let body = JSONValue.object([("signedPayload", .string(signedPayload))])
    return JSONValue.object([("arrival", .string(EventArrival.history.rawValue)), ("body", body)])
      .bytes
  }
}

/// Journals in this process.
public final class LedgerSink: RecoverySink {
  private let ledger: Ledger
  private let receiver: Receiver
  private let bodyLimit: Int
  private let batchLimit: Int
  private let onOutcome: @Sendable (Receiver.Received, Outcome) -> Void

  /// - Parameters:
  ///   - bodyLimit: bytes of a notification.
  ///   - batchLimit: notifications that are committed together, for which one from the network may
  ///     have to wait.
  ///   - onOutcome: called for each notification that was proven, on the writer's thread.
  public init(
    _ ledger: Ledger, _ receiver: Receiver, bodyLimit: Int,
    batchLimit: Int = BatchReceive.maximumLines,
    onOutcome: @escaping @Sendable (Receiver.Received, Outcome) -> Void = { _, _ in }
  ) {
    (self.ledger, self.receiver, self.bodyLimit) = (ledger, receiver, bodyLimit)
    (self.batchLimit, self.onOutcome) = (batchLimit, onOutcome)
  }

  /// - Throws: nothing; what could not be journaled is `Outcome.unavailable`.
  public func submit(_ payloads: [String]) throws(LedgerError) -> [Outcome] {
    submit(lines: payloads.map(RecoveryLine.make))
  }

  /// Journals any number of lines of NDJSON, in batches.
  ///
  /// - Returns: what became of each.
  func submit(lines: [[UInt8]]) -> [Outcome] {
    var outcomes: [Outcome] = []
    for start in stride(from: 0, to: lines.count, by: batchLimit) {
      let batch = lines[start..<min(lines.count, start + batchLimit)]
      let done = BoundedQueue<[Outcome]>(capacity: 1)
      BatchReceive.receive(
        batch.map { $0[...] }, skipsRefused: true, receiver: receiver, ledger: ledger,
        at: Clock.now(), limit: bodyLimit, onOutcome: onOutcome
      ) { _ = done.enqueue($0) }
      outcomes += done.dequeueAll()?.first ?? []
    }
    return outcomes
  }
}

/// Proves and journals nothing: it only says what would be new.
public final class DryRunSink: RecoverySink {
  public var isDry: Bool { true }
  private let journal: JournalReader
  private let receiver: Receiver
  private var unjournaled = JournalReader.Recovered()
  private var customers: Set<StreamKey> = []
  /// Those that would be new: Apple may list one again.
  private var uuids: Set<NotificationUUID> = []

  public init(_ journal: JournalReader, _ receiver: Receiver) {
    (self.journal, self.receiver) = (journal, receiver)
  }

  /// - Throws: what the store throws if the journal cannot be read.
  public func submit(_ payloads: [String]) throws(LedgerError) -> [Outcome] {
    var outcomes: [Outcome] = []
    for payload in payloads {
      let received = Result { () throws(Refusal) in
        try receiver.receive(signedPayload: Array(payload.utf8)[...], at: Clock.now())
      }
      switch received {
      case .failure(let refusal): outcomes.append(.refused(refusal))
      case .success(let received):
        outcomes.append(try judge(received))
      }
    }
    return outcomes
  }

  private func judge(_ received: Receiver.Received) throws(LedgerError) -> Outcome {
    guard case .event(let event) = received.submission else {
      return .refused(received.refusal ?? .notAdmitted("quarantined"))
    }
    if let seq = try journal.seq(notificationUUID: event.notificationUUID) {
      return .duplicate(seq: seq)
    }
    guard uuids.insert(event.notificationUUID).inserted else { return .skipped }
    let kind = JournalReader.Recovered.Kind(
      notificationType: event.notificationType, subtype: event.subtype)
    unjournaled.counts[kind, default: 0] += 1
    if let stream = received.stream { customers.insert(stream) }
    return .accepted(seq: 0)
  }

  public func takeUnjournaled() -> JournalReader.Recovered? {
    defer { (unjournaled, customers) = (JournalReader.Recovered(), []) }
    unjournaled.customers = Int64(customers.count)
    return unjournaled
  }
}
