import AppStore
import AppStoreSimulator
import Entitlements
import Platform
import Queries
import Store
import StrictJSON

/// The customer whom the demo shows: in the grace period before its outage, refunded in it.
struct DemoCustomer {
  /// The original transaction id.
  let id: String

  /// What the App Store plays it by.
  static let lifecycle = "grace-refunded"
  /// Days that its life takes at most. Its periods are weeks, so that it always takes the same
  /// time, and the refund is in the outage at its end.
  static let days: Int64 = 30

  private static let fields = [
    "product_id", "status", "gives_access", "expires_at", "grace_period_expires_at", "revoked_at",
    "auto_renew", "price",
  ]

  /// - Parameters:
  ///   - seed: of the App Store that plays it.
  ///   - number: of the customer there, after those of its fleet. The id follows from both.
  init(seed: UInt64, number: Int) {
    let life = Lifecycle.named(Self.lifecycle)?.notifications(
      app: SimulatedApp(), seed: seed, endingAt: Clock.now(), customer: number)
    id = life?.first?.originalTransactionId ?? ""
  }

  /// Prints eight fields of the row as it is now.
  ///
  /// - Throws: what reading a data folder throws.
  func showRow(_ folder: DataFolder) throws(LedgerError) {
    let reader = try LedgerReader(folder, durations: [:])
    let row = try reader.entitlement(
      id, environment: .production, bundleId: nil, LedgerReader.Question(now: Clock.now()))
    for field in Self.fields {
      guard let value = row?.json[field] else { continue }
      Terminal.print("  " + field.padded(to: 26) + FieldText.of(field, value))
    }
  }

  /// Prints one line for each event and for what time alone changed.
  ///
  /// - Throws: what reading a data folder throws.
  func showHistory(_ folder: DataFolder) throws(LedgerError) {
    let reader = try LedgerReader(folder, durations: [:])
    let history = try reader.history(
      id, environment: .production, bundleId: nil, LedgerReader.Question(now: Clock.now()))
    guard let history else { return }
    Terminal.print("\nIts history:\n")
    let lines = history.items.compactMap(Self.line)
    let width = (lines.map(\.description.count).max() ?? 0) + 2
    for line in lines {
      Terminal.print(
        "  \(Timestamp.text(line.time / 1000 * 1000))  \(line.description.padded(to: width))"
          + line.status)
    }
  }

  /// An entry of the timeline with how the status changed; nil for what is in quarantine.
  private static func line(
    _ item: History.Item
  ) -> (time: Int64, description: String, status: String)? {
    let (description, changes): (String, [HistoryEntry.Change])
    switch item {
    case .event(let entry): (description, changes) = (entry.description, entry.changes)
    case .transition(let transition):
      (description, changes) = (transition.description, transition.changes)
    case .quarantined, .mapping: return nil
    }
    let status = changes.first { $0.field == "status" }.map {
      FieldText.of("status", $0.before) + " → " + FieldText.of("status", $0.after)
    }
    return (item.date, description, status ?? "")
  }
}
