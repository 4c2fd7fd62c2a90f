import Simulator
import StrictJSON

/// Customers that every made journal has: the first part of their lives is in it, spread over the
/// whole, and the rest is signed and sent. So what is sent is about customers of all ages.
struct KnownCustomers {
  /// What the journals have.
  let past: [SimulatedNotification]
  /// What is sent, in the order of its signing, three signatures in each.
  let coming: [SimulatedNotification]
  /// Those of whom something is in the journals and something is sent.
  let ids: [String]

  static let count = 4_000
  /// 2025-09-13T00:00:00Z, 110 days before the fleet's end.
  private static let split = Input.end - 110 * 86_400_000

  init() {
    let fleet = Fleet(
      app: SimulatedApp(), customers: Self.count, days: Input.days, end: Input.end,
      seed: Input.seed)
    let all = fleet.notifications()
    past = all.filter { $0.signedDate < Self.split }
    coming = all.filter { $0.signedDate >= Self.split && Input.hasThreeSignatures($0) }
    let before = Set(past.compactMap(\.originalTransactionId))
    ids = Set(coming.compactMap(\.originalTransactionId)).intersection(before).sorted()
  }

  /// Payloads to sign, with UUIDs that nothing else has: the same may have been sent before to
  /// journals that are used again.
  func payloads() -> [JSONValue] {
    var luck = SystemRandomNumberGenerator()
    var uuids = SeededGenerator(seed: luck.next())
    return coming.map { notification in
      guard case .object(let members) = notification.payload else { return notification.payload }
      return .object(
        members.map { name, value in
          (name, name == "notificationUUID" ? .string(uuids.uuid()) : value)
        })
    }
  }
}
