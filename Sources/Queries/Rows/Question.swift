public import AppStore
public import Ledger
import Store

extension LedgerReader {
  /// The times that a read is about, and the rows that may be shown.
  public struct Question: Sendable {
    /// The time at which rows are evaluated, from the events that Apple had signed by then; nil:
    /// now, from all events. Milliseconds since 1970, as all times here.
    var asOf: Int64?
    /// Whether `asOf` is answered from all that is known now, whenever Apple signed it.
    public var usesPresentKnowledge = false
    /// Only events that we had received by then are folded; nil: all events.
    var knownAt: Int64?
    /// Only events through this seq are folded; nil: all events.
    var through: Int64?
    /// The current time by our clock.
    public var now: Int64
    /// Returns whether rows of a key may be shown. Other rows are treated as if they did not exist.
    var covers: @Sendable (StreamKey) -> Bool

    public init(
      asOf: Int64? = nil, knownAt: Int64? = nil, now: Int64,
      covers: @escaping @Sendable (StreamKey) -> Bool = { _ in true }
    ) {
      self.asOf = asOf
      self.knownAt = knownAt
      self.now = now
      self.covers = covers
    }

    /// A question asked with a token: rows outside its scope are treated as if they did not exist.
    public init(asOf: Int64?, knownAt: Int64?, now: Int64, token: Configuration.ReadToken) {
      self.init(asOf: asOf, knownAt: knownAt, now: now) { key in
        token.covers(environment: key.environment, bundleId: key.bundleId)
      }
    }

    /// The time at which rows are evaluated.
    var time: Int64 { asOf ?? knownAt ?? now }
    /// Events that Apple signed later are left out; milliseconds since 1970.
    var signedThrough: Int64 { usesPresentKnowledge ? .max : asOf ?? .max }
    /// Whether it is about another moment than now.
    var hasMoment: Bool { asOf != nil || knownAt != nil || through != nil }
    /// Whether the journal must be folded, because the projection only has what is known now.
    var isAboutThePast: Bool { signedThrough != .max || knownAt != nil || through != nil }
  }
}
