/// What an exported bundle contains.
public struct BundleSummary: Sendable {
  /// How many events the customer has.
  public let events: Int64
  /// How many events of other customers are in it, without their bodies, to compute the chain.
  public let links: Int64
  public let anchors: Int64
}
