public import AppStore
public import Entitlements
public import Ledger
public import Store

// By the fold of this program, which most tests ask about.

extension EntitlementRow {
  public init(_ state: StreamState, at times: ClosedRange<Int64>? = nil) {
    self.init(state, by: .current, at: times)
  }
}

extension Entitlement {
  public init?(_ state: StreamState, at time: Int64, durations: Durations = [:]) {
    let row = EntitlementRow(state, at: time...time)
    guard let answer = row.entitlement(at: time, durations: durations) else { return nil }
    self = answer
  }
}

extension FoldedStream {
  public init(_ key: StreamKey, _ state: StreamState, broken: String? = nil) {
    self.init(key, state, by: .current, broken: broken)
  }
}

extension StreamProgress {
  public init() { self.init(by: .current) }
}

extension EvidenceJudge {
  public init() { self.init(by: .current) }
}

extension ProjectionOrder {
  /// Makes what the current fold built live.
  public static let adoptCurrent = Self.adopt(fold: Fold.current.fingerprint)
}
