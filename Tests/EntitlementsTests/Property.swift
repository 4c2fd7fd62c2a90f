import AppStore
import Entitlements
import Foundation
import Support
import Testing

/// Holds a law over many random histories; of a history that breaks it, finds a small part that
/// still does, and prints that with the seed.
struct Property {
  /// 20,000 as a rule; `SUBLEDGER_HISTORIES` makes it more, `make laws` a hundred times as many.
  var histories =
    ProcessInfo.processInfo.environment["SUBLEDGER_HISTORIES"].flatMap(Int.init)
    ?? 20_000
  var make: (inout Chance) -> [FoldEvent] = RandomHistory.mixed

  /// - Parameter broken: what is wrong with a history, nil where nothing is. It is handed the same
  ///   chances every time it is asked about parts of one history.
  func holds(
    _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ broken: ([FoldEvent], inout Chance) -> String?
  ) {
    // Another place to start is worth trying by hand; a fixed one makes a failure everybody's.
    let first: UInt64 = 20_260_101
    for seed in first..<first + UInt64(histories) {
      var chance = Chance(seed: seed)
      let history = make(&chance)
      let dice = chance
      func check(_ events: [FoldEvent]) -> String? {
        var chance = dice
        return broken(events, &chance)
      }
      guard check(history) != nil else { continue }
      let small = shrunk(history) { check($0) != nil }
      let shown = small.map(Self.describe).joined(separator: "\n")
      let fault = check(small) ?? ""
      Issue.record(
        "\(name) is broken, seed \(seed): \(fault)\n\(shown)", sourceLocation: sourceLocation)
      return
    }
  }

  /// Leaves out one event at a time for as long as the rest still breaks the law.
  private func shrunk(
    _ history: [FoldEvent], _ isBroken: ([FoldEvent]) -> Bool
  ) -> [FoldEvent] {
    var events = history
    var index = 0
    while index < events.count {
      var fewer = events
      fewer.remove(at: index)
      if isBroken(fewer) {
        events = fewer
        index = 0
      } else {
        index += 1
      }
    }
    return events
  }

  private static func describe(_ event: FoldEvent) -> String {
    var words = [
      "#\(event.seq) \(TestDate.text(event.signedDate)) \(event.notificationType)",
      "status \(event.status.map(String.init) ?? "-")",
    ]
    if event.version == 0 { words.append("V1") }
    for transaction in event.transactions {
      words.append(
        "tx \(transaction.transactionId) \(transaction.productId ?? "-")"
          + " \(transaction.purchaseDate)>\(transaction.expiresDate ?? -1)"
          + " \(transaction.transactionReason ?? "-") signed \(transaction.signedDate)"
          + " rev \(transaction.revocationDate ?? -1)\(transaction.isUpgraded ? " upgraded" : "")")
    }
    if let renewal = event.renewal {
      words.append(
        "ri \(renewal.autoRenewProductId ?? "-") ars \(renewal.autoRenewStatus ?? -1)"
          + " rd \(renewal.renewalDate ?? -1) gpe \(renewal.gracePeriodExpiresDate ?? -1)"
          + " signed \(renewal.signedDate)")
    }
    return words.joined(separator: ", ")
  }
}

/// All events folded in this order.
func folded(_ events: [FoldEvent]) -> StreamState {
  var state = StreamState()
  for event in events { state.evolve(event) }
  return state
}

/// What was signed by `time`, evaluated then.
func asOf(_ events: [FoldEvent], _ time: Int64) -> Entitlement? {
  Entitlement(folded(events.filter { $0.signedDate <= time }), at: time)
}

func hasAccess(_ events: [FoldEvent], _ time: Int64) -> Bool {
  asOf(events, time)?.givesAccess ?? false
}
