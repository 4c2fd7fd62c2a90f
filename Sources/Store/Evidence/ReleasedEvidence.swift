public import AppStore
public import Entitlements

/// Evidence that was held, and was journaled behind an event that made it say something new.
public struct ReleasedEvidence: Sendable {
  public let stream: StreamKey
  /// What the fold reads of it, with its seq.
  public let event: FoldEvent
}

/// Decodes what the fold reads of a journaled or held body; nil if it cannot be decoded.
public typealias FoldEventDecoder = (JournaledPayload) -> FoldEvent?
