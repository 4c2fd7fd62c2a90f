/// The journal's newest event. An empty journal has seq 0, `ChainHash.origin` and no receive time.
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
