import AppStore

/// From when each transaction of a stream is revoked.
///
/// Transactions with one webOrderLineItemId are one purchase under several ids, as when an app and
/// a notification each know one of them: what takes one back takes all back, and what gives one
/// back gives all back.
enum Revocations {
  typealias Register = StreamState.TransactionRegister

  /// In the order of the registers; nil for what is not revoked. Milliseconds since 1970.
  static func of(_ registers: [Register]) -> [Int64?] {
    var revocations = registers.map { revocation(of: $0, cleared: $0.clear) }
    for twins in twins(registers) {
      let cleared = twins.compactMap { registers[$0].clear }.max()
      let first = twins.compactMap { revocation(of: registers[$0], cleared: cleared) }.min()
      for index in twins { revocations[index] = first }
    }
    return revocations
  }

  /// The indices of transactions that are one purchase, two or more in each list.
  static func twins(_ registers: [Register]) -> [[Int]] {
    mayHaveTwins(registers) ? sameItems(registers) : []
  }

  /// Nearly no stream has any, and to compare hashes costs less than to compare texts.
  private static func mayHaveTwins(_ registers: [Register]) -> Bool {
    let hashes = registers.map(\.held.itemHash).sorted()
    return zip(hashes, hashes.dropFirst()).contains { $0 == $1 && $0 != 0 }
  }

  private static func sameItems(_ registers: [Register]) -> [[Int]] {
    var groups: [[Int]] = []
    var first: [String: (index: Int, group: Int?)] = [:]
    for (index, register) in registers.enumerated() {
      guard let item = register.held.transaction.purchaseName else { continue }
      guard let known = first[item] else {
        first[item] = (index, nil)
        continue
      }
      if let group = known.group {
        groups[group].append(index)
      } else {
        first[item]?.group = groups.count
        groups.append([known.index, index])
      }
    }
    return groups
  }

  /// A reversal voids every revocation dated before it; a later refund counts again. Of several
  /// dates that Apple told of one, the earliest counts. Of V1 and receipts the newest decides,
  /// where it is provably newer than what Apple signed; it takes back no refund that Apple signed.
  static func revocation(of register: Register, cleared: Int64?) -> Int64? {
    let clear = cleared ?? .min
    if let date = ownRevocation(of: register), date > clear {
      return min(date, register.revocations.first { $0.date > clear }?.date ?? date)
    }
    guard !register.isUpgradedByV1, let cancel = register.cancel, cancel > clear else { return nil }
    return cancel
  }

  /// By the newest snapshot, which decides whether there is a revocation.
  private static func ownRevocation(of register: Register) -> Int64? {
    // With is_upgraded, V1's cancellation date is that of the upgrade.
    let isUpgrade = !register.key.isSigned && register.isUpgraded
    return isUpgrade ? nil : register.held.transaction.revocationDate
  }
}

extension Transaction {
  /// The webOrderLineItemId, of which products that are no subscription have 0 or none.
  var itemName: String? {
    webOrderLineItemId == "" || webOrderLineItemId == "0" ? nil : webOrderLineItemId
  }

  /// What tells one purchase from another. Seats that are added to a period may have its item.
  var purchaseName: String? {
    multiSeatInfo == nil ? itemName : itemName.map { "\($0) \(purchaseDate)" }
  }
}
