public import SignedData
import Synchronization

/// What the writer is asked to keep.
public enum Submission: Sendable {
  case event(NewEvent)
  case quarantine(NewQuarantine)
}

/// A proven, admitted notification on its way into the journal.
public struct NewEvent: Sendable {
  /// Lower case, with hyphens.
  public var notificationUUID: String
  /// `v2` or `v1`.
  public var source: String
  /// `Production` or `Sandbox`.
  public var environment: String
  public var bundleId: String
  public var notificationType: String
  public var subtype: String?
  /// nil for events that are about no transaction.
  public var originalTransactionId: String?
  /// Apple's time, in milliseconds since 1970 UTC.
  public var signedDate: Int64
  /// Our time, in milliseconds since 1970 UTC.
  public var receivedAt: Int64
  /// Whether `receivedAt` comes from a file and is kept as it is, or refused. A live one is raised
  /// to the head's where our clock went back.
  public var preservesReceivedAt: Bool
  /// What ends a run of events at the first one that is refused; nil for events on their own.
  public var run: EventRun?
  var content: Body
  /// SHA-256 of `body`.
  public var bodySHA256: [UInt8]

  public init(
    notificationUUID: String, source: String, environment: String, bundleId: String,
    notificationType: String, subtype: String?, originalTransactionId: String?, signedDate: Int64,
    receivedAt: Int64, preservesReceivedAt: Bool = false, body: Body, bodySHA256: [UInt8]
  ) {
    self.notificationUUID = notificationUUID
    self.source = source
    self.environment = environment
    self.bundleId = bundleId
    self.notificationType = notificationType
    self.subtype = subtype
    self.originalTransactionId = originalTransactionId
    self.signedDate = signedDate
    self.receivedAt = receivedAt
    self.preservesReceivedAt = preservesReceivedAt
    content = body
    self.bodySHA256 = bodySHA256
  }

  /// The exact bytes the chain covers.
  public var body: [UInt8] { content.jws.map { Array($0.text) } ?? content.bytes }

  /// A body as its sender has it.
  public struct Body: Sendable {
    /// Taken apart in order to be proven; nil for one that was not.
    let jws: CompactJWS?
    /// Of one that was not.
    let bytes: [UInt8]
    /// As the journal stores it, where that was made already.
    var packed: BodyCodec.Stored?

    public static func bytes(_ bytes: [UInt8]) -> Body { Body(jws: nil, bytes: bytes) }

    public static func jws(_ jws: CompactJWS) -> Body { Body(jws: jws, bytes: []) }
  }
}

/// Events that stand behind each other in a file: once one is refused, those behind it are not
/// journaled, in this batch or in a later one.
public final class EventRun: Sendable {
  private let ended = Atomic<Bool>(false)

  public init() {}

  func end() { ended.store(true, ordering: .relaxed) }
  var isEnded: Bool { ended.load(ordering: .relaxed) }
}

/// A genuine notification that is not admitted (promise 2). What could not be read is nil.
public struct NewQuarantine: Sendable {
  /// Why, as a word: `other_app`, `payload`, ….
  public var reason: String
  /// Whether it is another app's: those are capped, since any developer can send them.
  public var isForeign: Bool
  public var source: String
  public var notificationUUID: String?
  public var environment: String?
  public var bundleId: String?
  public var notificationType: String?
  /// Whom it is about, as far as it says.
  public var originalTransactionId: String?
  public var signedDate: Int64?
  public var receivedAt: Int64
  public var body: [UInt8]
  /// SHA-256 of `body`.
  public var bodySHA256: [UInt8]

  public init(
    reason: String, isForeign: Bool, source: String, notificationUUID: String?,
    environment: String?, bundleId: String?, notificationType: String?,
    originalTransactionId: String? = nil, signedDate: Int64?, receivedAt: Int64, body: [UInt8],
    bodySHA256: [UInt8]
  ) {
    self.reason = reason
    self.isForeign = isForeign
    self.source = source
    self.notificationUUID = notificationUUID
    self.environment = environment
    self.bundleId = bundleId
    self.notificationType = notificationType
    self.originalTransactionId = originalTransactionId
    self.signedDate = signedDate
    self.receivedAt = receivedAt
    self.body = body
    self.bodySHA256 = bodySHA256
  }
}

/// What became of a submission.
public enum AppendOutcome: Sendable, Equatable {
  /// In the journal at this seq; `receivedAt` may have been raised to the head's.
  case journaled(seq: Int64, receivedAt: Int64)
  /// The journal has it already, at this seq (promise 4).
  case duplicate(seq: Int64)
  /// The journal has this uuid with other content at this seq; the newcomer is in quarantine.
  case conflict(seq: Int64)
  /// A kept receive time lies before the head's; nothing was written.
  case receiveTimeBehind(head: Int64)
  /// Behind a refused one of its run; nothing was written.
  case skipped
  /// In quarantine under this id.
  case quarantined(id: Int64)
  /// Quarantine has it already.
  case alreadyQuarantined
  /// Quarantine holds its fill of other apps' notifications; this one was counted.
  case quarantineFull
}

/// The journal's newest event. Zero, `ChainHash.origin` and nil for an empty journal.
public struct Head: Sendable, Equatable {
  public let seq: Int64
  public let hash: [UInt8]
  /// Milliseconds since 1970 UTC.
  public let receivedAt: Int64?

  public init(seq: Int64, hash: [UInt8], receivedAt: Int64?) {
    self.seq = seq
    self.hash = hash
    self.receivedAt = receivedAt
  }

  public static let empty = Head(seq: 0, hash: ChainHash.origin, receivedAt: nil)
}
