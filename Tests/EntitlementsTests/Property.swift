import AppStore
import Entitlements
import Foundation
import Support
import Testing

/// Checks a property over many random histories. Of a history that violates it, finds a small part
/// that still does, and reports that part with the seed.
struct Property {
  var histories = TestCount.histories.number
  var make: (inout SplitMix64) -> [FoldEvent] = RandomHistory.mixed

  /// - Parameter violation: returns what is wrong with a history, nil if nothing is. For all parts
  ///   of one history it receives a generator in the same state.
  func holds(
    _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ violation: ([FoldEvent], inout SplitMix64) -> String?
  ) {
    let first = TestSeed.number(usual: 20_260_101)
    for seed in first..<first + UInt64(histories) {
      var chance = SplitMix64(seed: seed)
      let history = make(&chance)
      let start = chance
      func check(_ events: [FoldEvent]) -> String? {
        var chance = start
        return violation(events, &chance)
      }
      guard check(history) != nil else { continue }
      let small = shrunk(history) { check($0) != nil }
      let shown = small.map(Self.describe).joined(separator: "\n")
      let fault = check(small) ?? ""
      Issue.record(
        "\(name) is violated, seed \(seed): \(fault)\n\(shown)", sourceLocation: sourceLocation)
      return
    }
  }

  /// Removes one event at a time as long as the remaining ones still violate the property.
  private func shrunk(
    _ history: [FoldEvent], _ isViolated: ([FoldEvent]) -> Bool
  ) -> [FoldEvent] {
    var events = history
    var index = 0
    while index < events.count {
      var fewer = events
      fewer.remove(at: index)
      if isViolated(fewer) {
        events = fewer
        index = 0
      } else {
        index += 1
      }
    }
    return events
  }

  private static func describe(_ event: FoldEvent) -> String {
    var parts = [
      "#\(event.seq) \(TestDate.text(event.signedDate)) \(event.notificationType)"
        + " \(event.subtype ?? "-") change \(event.renewalChangeDate ?? -1)",
      "status \(event.status.map(String.init) ?? "-")",
    ]
    if !event.isSigned { parts.append("V1") }
    for transaction in event.transactions {
      parts.append(
        "tx \(transaction.transactionId) \(transaction.productId ?? "-")"
          + " \(transaction.purchaseDate)>\(transaction.expiresDate ?? -1)"
          + " \(transaction.transactionReason ?? "-") signed \(transaction.signedDate)"
          + " rev \(transaction.revocationDate ?? -1)\(transaction.isUpgraded ? " upgraded" : "")"
          + " \(transaction.type ?? "-") item \(transaction.webOrderLineItemId ?? "-")")
    }
    if let renewal = event.renewal {
      parts.append(
        "ri \(renewal.autoRenewProductId ?? "-") ars \(renewal.autoRenewStatus ?? -1)"
          + " rd \(renewal.renewalDate ?? -1) gpe \(renewal.gracePeriodExpiresDate ?? -1)"
          + " signed \(renewal.signedDate) retry \(renewal.isInBillingRetryPeriod ?? false)"
          + " intent \(renewal.expirationIntent ?? -1) from \(renewal.productId ?? "-")")
    }
    return parts.joined(separator: ", ")
  }
}

/// The state after all events in this order.
func folded(_ events: [FoldEvent]) -> StreamState {
  var state = StreamState()
  for event in events { state.evolve(event) }
  return state
}

/// The entitlement at a time, by the events signed until then.
func asOf(_ events: [FoldEvent], _ time: Int64) -> Entitlement? {
  Entitlement(folded(events.filter { $0.signedDate <= time }), at: time)
}

func hasAccess(_ events: [FoldEvent], _ time: Int64) -> Bool {
  asOf(events, time)?.givesAccess ?? false
}
