import AppStoreSimulator
import StrictJSON

/// Customers that every made journal contains. Their earlier notifications are in the journal,
/// spread over all of it. The later ones are signed and sent, so that they are about customers of
/// all ages.
struct KnownCustomers {
  /// The notifications in the journals.
  let past: [SimulatedNotification]
  /// The notifications that are sent, in the order of signing; all have three signatures.
  let coming: [SimulatedNotification]
  /// Original transaction ids that occur in both.
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

  /// The payloads of `coming` with new UUIDs, because an earlier run may have sent the same
  /// notifications to the same journals.
  func payloads() -> [JSONValue] {
    var system = SystemRandomNumberGenerator()
    var uuids = SeededGenerator(seed: system.next())
    return coming.map { notification in
      guard case .object(let members) = notification.payload else { return notification.payload }
      return .object(
        members.map { name, value in
          (name, name == "notificationUUID" ? .string(uuids.uuid()) : value)
        })
    }
  }
}
