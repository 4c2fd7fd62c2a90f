import AppStore
public import Entitlements
public import SignedData
import Synchronization

/// A proven and admitted notification that is to be journaled.
public struct NewEvent: Sendable, Enveloped {
  public var envelope: EventEnvelope
  /// Whether `receivedAt` comes from a file and must not be changed: a time before the head's is
  /// refused. Otherwise such a time, caused by a clock that was set back, is raised to the head's.
  public var preservesReceivedAt: Bool
  /// Shared by the events of one file, so that the first refused one ends the run. nil for an event
  /// that depends on no other.
  public var run: EventRun?
  public var arrival = EventArrival.posted
  /// Makes what the fold reads of the event, with seq 0; nil where its body has to be decoded.
  public var makeFoldEvent: (@Sendable () -> FoldEvent)?
  var content: Body
  /// SHA-256 of `body`.
  public var bodySHA256: [UInt8]

  public init(
    envelope: EventEnvelope, preservesReceivedAt: Bool = false, body: Body, bodySHA256: [UInt8]
  ) {
    self.envelope = envelope
    self.preservesReceivedAt = preservesReceivedAt
    content = body
    self.bodySHA256 = bodySHA256
  }

  /// Whether the append decides if it is journaled or held. Of evidence in a file of events that
  /// was decided when it was journaled first.
  public var isJudged: Bool { source.isEvidence && !preservesReceivedAt }

  /// The exact bytes that the chain covers.
  public var body: [UInt8] {
    content.receipt?.der ?? content.jws.map { Array($0.text) } ?? content.bytes
  }

  /// A body as it was received, in the form that is at hand.
  public struct Body: Sendable {
    /// Set if the body was parsed as a JWS in order to prove it.
    let jws: CompactJWS?
    /// The body if `jws` and `receipt` are nil, otherwise empty.
    let bytes: [UInt8]
    /// Set if the body is a receipt.
    var receipt: ReceiptBody?
    /// The stored form, if a `BodyPacker` has already made it.
    var packed: BodyCodec.Stored?

    public static func bytes(_ bytes: [UInt8]) -> Body { Body(jws: nil, bytes: bytes) }

    public static func jws(_ jws: CompactJWS) -> Body { Body(jws: jws, bytes: []) }

    public static func receipt(_ receipt: ReceiptBody) -> Body {
      Body(jws: nil, bytes: [], receipt: receipt)
    }
  }
}

/// One item of a batch for `Journal.append`.
public enum Submission: Sendable {
  case event(NewEvent)
  case quarantine(NewQuarantine)
  case statement(NewStatement)
}

/// Consecutive events of a file. After one of them is refused, the following ones are not
/// journaled, in the same batch or in a later one.
public final class EventRun: Sendable {
  private let ended = Atomic<Bool>(false)

  public init() {}

  func end() { ended.store(true, ordering: .relaxed) }
  var isEnded: Bool { ended.load(ordering: .relaxed) }
}
