import Platform

/// When another transaction ended each transaction of a stream.
///
/// A purchase made while a period runs is an upgrade: it ends that period at once, and every period
/// that was charged ahead and had not begun. A renewal never begins inside a period that runs: if
/// one does, an upgrade between them was missed, and the period ends where the renewal begins. Seats
/// that are added to a purchase are bought while it runs, and replace nothing of the same product.
struct Replacements {
  /// What the rules compare of one transaction. Times are milliseconds since 1970.
  struct Item {
    let start: Int64
    /// `Int64.max`: never.
    let expires: Int64
    /// How long before its start it may have been charged.
    let ahead: Int64
    /// When Apple first signed it; `Int64.max` where it never did.
    let first: Int64
    let reason: Reason
    let product: String?
    let isUpgraded: Bool
    /// Revoked from its start, as if it had never been bought.
    let isVoid: Bool
  }

  enum Reason {
    case purchase, renewal
    /// Seats that were added in the period of another purchase, or a purchase that got some.
    case addition
    /// V1, receipts, and Apple before June 2023.
    case unknown
  }

  private let items: [Item]
  /// When the first period began that ended at a time: an older one, which a period that begins
  /// then may renew.
  private let starts: [(end: Int64, start: Int64)]
  /// What has seats added, void ones left out, in ascending order of their starts; and for each the
  /// place of the next of another product.
  private let additions: [(item: Item, next: Int)]
  /// Apple leaves seconds between periods: milliseconds.
  private static let hole: Int64 = 60_000

  /// For each transaction, when the first other one began that ended it; `Int64.max`: none did.
  ///
  /// - Parameter items: in ascending order of their starts.
  static func cuts(_ items: [Item]) -> [Int64] { Replacements(items).cuts }

  private init(_ items: [Item]) {
    self.items = items
    var additions: [(item: Item, next: Int)] = []
    for item in items.reversed() where item.reason == .addition && !item.isVoid {
      let isSame = additions.last.map { ByteSearch.areEqual($0.item.product, item.product) }
      let next = isSame == true ? additions[additions.count - 1].next : additions.count - 1
      additions.append((item, next))
    }
    self.additions = additions.reversed().map { ($0.item, additions.count - 1 - $0.next) }
    // Asked only about what begins within a day after another.
    let isDense = zip(items, items.dropFirst()).contains {
      $1.start <= $0.start.advanced(orBoundBy: Periods.day)
    }
    starts = isDense ? items.map { (end: $0.expires, start: $0.start) }.sorted { $0 < $1 } : []
  }

  private var cuts: [Int64] {
    let isVoid = items.map(\.isVoid)
    let (purchases, unknown) = (
      Group(items, .purchase, without: isVoid), Group(items, .unknown, without: isVoid)
    )
    // What was charged ahead and replaced before it began ends nothing.
    let isOut = items.indices.map { index in
      isVoid[index] || items[index].isBegun(after: before(index, purchases))
        || items[index].isBegun(after: before(index, unknown))
    }
    let alive = (
      purchases: Group(items, .purchase, without: isOut),
      renewals: Group(items, .renewal, without: isOut),
      unknown: Group(items, .unknown, without: isOut)
    )
    return items.indices.map { index in
      let limit = items[index].expires.advanced(orBoundBy: -items[index].ahead)
      let start = items[index].start
      let later = min(alive.renewals.start(after: start), alive.unknown.start(after: start))
      let unknown = before(index, alive.unknown)
      return min(
        alive.purchases.start(after: start), before(index, alive.purchases),
        addition(after: start, toOtherThan: items[index]),
        later < limit ? later : .max,
        items[index].isBegun(after: unknown) ? unknown : .max)
    }
  }

  /// When the first of a group began that was bought after the transaction at `index` had been
  /// charged, and no later than that began; `Int64.max`: none did.
  private func before(_ index: Int, _ group: Group) -> Int64 {
    let item = items[index]
    var found = Int64.max
    if group.reason == .purchase {
      found = addition(after: item.first, toOtherThan: item)
    }
    if let first = group.starts.first, first <= item.start {
      if group.reason == .purchase {
        found = min(found, group.start(after: item.first, but: index))
      }
      if item.reason == .renewal || item.reason == .unknown {
        found = min(found, undated(item, group))
      }
    }
    return found <= item.start ? found : .max
  }

  /// When the first purchase began, after a time, that has seats added and is of another product.
  private func addition(after time: Int64, toOtherThan item: Item) -> Int64 {
    guard !additions.isEmpty else { return .max }
    var place = additions.partitionPoint { $0.item.start <= time }
    if place < additions.count,
      ByteSearch.areEqual(additions[place].item.product, item.product)
    {
      place = additions[place].next
    }
    return place < additions.count ? additions[place].item.start : .max
  }

  /// The same where it is not known when it was charged: at most a day before its start. One that
  /// begins where a purchase ends renews it. Others show that they do not: by being upgraded; by
  /// a purchase that runs on for longer than a renewal of it is charged ahead; by beginning where a
  /// still older period ends.
  private func undated(_ item: Item, _ group: Group) -> Int64 {
    var earliest = item.start.advanced(orBoundBy: -item.ahead)
    guard group.start(after: earliest.advanced(orBoundBy: -1)) <= item.start else { return .max }
    let renewed = renewedStart(item.start)
    if item.reason == .unknown, !item.isUpgraded {
      earliest = max(earliest, renewed.advanced(orBoundBy: 1))
    }
    for place in group.starts.partitionPoint({ $0 < earliest })..<group.starts.count {
      let purchase = items[group.indices[place]]
      let (start, expires) = (purchase.start, purchase.expires)
      guard start <= item.start else { break }
      guard !(expires...expires.advanced(orBoundBy: Self.hole)).contains(item.start) else {
        continue
      }
      let runsOn = expires > item.start.advanced(orBoundBy: purchase.ahead)
      if item.isUpgraded || item.reason == .renewal && runsOn || renewed < start {
        return start
      }
    }
    return .max
  }
}

extension Replacements {
  /// When the first period began that ended where another begins, or seconds before.
  private func renewedStart(_ start: Int64) -> Int64 {
    let from = starts.partitionPoint { $0.end < start.advanced(orBoundBy: -Self.hole) }
    return starts[from...].prefix { $0.end <= start }.map(\.start).min() ?? .max
  }
}

extension Replacements.Item {
  fileprivate func isBegun(after time: Int64) -> Bool { time < start }
}

/// The transactions of one reason that may end others, in ascending order of their starts.
private struct Group {
  let reason: Replacements.Reason
  let indices: [Int]
  let starts: [Int64]

  init(_ items: [Replacements.Item], _ reason: Replacements.Reason, without isOut: [Bool]) {
    self.reason = reason
    indices = items.indices.filter { items[$0].reason == reason && !isOut[$0] }
    starts = indices.map { items[$0].start }
  }

  /// The first start after a time, but that of one transaction; `Int64.max` if there is none.
  func start(after time: Int64, but index: Int? = nil) -> Int64 {
    var place = starts.partitionPoint { $0 <= time }
    if place < indices.count, indices[place] == index { place += 1 }
    return place < starts.count ? starts[place] : .max
  }
}
