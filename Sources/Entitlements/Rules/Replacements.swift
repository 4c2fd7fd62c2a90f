import Platform

/// When another transaction ended each transaction of a stream.
///
/// A purchase made while a period runs is an upgrade: it ends that period at once, and every period
/// that was charged ahead and had not begun. A renewal never begins inside a period that runs: if
/// one does, an upgrade between them was missed, and the period ends where the renewal begins.
/// Seats are added to a purchase while it runs, and replace nothing of the same product.
struct Replacements {
  /// What the rules compare of one transaction. Times are milliseconds since 1970.
  struct Item: Equatable {
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

  enum Reason: Int {
    case purchase, renewal
    /// Seats that were added in the period of another purchase, or a purchase that got some.
    case addition
    /// V1, receipts, and Apple before June 2023.
    case unknown
  }

  /// What is not void, by reason: it may have replaced others before they began.
  private var groups = [Group](repeating: Group(), count: 4)
  /// Those of them that are not out, by reason: what was charged ahead and replaced before it began
  /// ends nothing.
  private var alive = [Group](repeating: Group(), count: 4)
  /// When each period ends and began, sorted: one that begins where an older one ends may renew it.
  private var starts: [(end: Int64, start: Int64)] = []
  /// What has seats added, void ones left out, in ascending order of their starts; and for each the
  /// place of the next of another product.
  private var additions: [(item: Item, next: Int)] = []
  /// Apple leaves seconds between periods: milliseconds.
  private static let hole: Int64 = 60_000

  init() {}

  /// For each transaction, when the first other one began that ended it; `Int64.max`: none did.
  ///
  /// - Parameter items: in ascending order of their starts.
  static func cuts(_ items: [Item]) -> [Int64] {
    var all = Replacements()
    // Asked only about what begins within a day after another.
    let isDense = zip(items, items.dropFirst()).contains {
      $1.start <= $0.start.advanced(orBoundBy: Periods.day)
    }
    if isDense { all.starts = items.map { (end: $0.expires, start: $0.start) }.sorted { $0 < $1 } }
    all.additions = additions(in: items)
    for item in items where !item.isVoid { all.groups[item.reason].insert(item) }
    let isOut = items.map { all.isOut($0) }
    for (item, isOut) in zip(items, isOut) where !isOut { all.alive[item.reason].insert(item) }
    return zip(items, isOut).map { min(all.replaced($0, isOut: $1), all.ended($0)) }
  }

  private static func additions(in items: [Item]) -> [(item: Item, next: Int)] {
    var additions: [(item: Item, next: Int)] = []
    for item in items.reversed() where item.reason == .addition && !item.isVoid {
      let isSame = additions.last.map { ByteSearch.areEqual($0.item.product, item.product) }
      let next = isSame == true ? additions[additions.count - 1].next : additions.count - 1
      additions.append((item, next))
    }
    return additions.reversed().map { ($0.item, additions.count - 1 - $0.next) }
  }

  // MARK: One by one

  /// Adds a transaction, of which no seats were added, that is out until `setOut`.
  mutating func add(_ item: Item) {
    if !item.isVoid { groups[item.reason].insert(item) }
    starts.insert(
      (item.expires, item.start), at: starts.partitionPoint { $0 < (item.expires, item.start) })
  }

  mutating func remove(_ item: Item, isOut: Bool) {
    if !item.isVoid { groups[item.reason].remove(item) }
    if !isOut { alive[item.reason].remove(item) }
    starts.remove(at: starts.partitionPoint { $0 < (item.expires, item.start) })
  }

  mutating func setOut(_ item: Item, _ isOut: Bool) {
    if isOut { alive[item.reason].remove(item) } else { alive[item.reason].insert(item) }
  }

  /// When the last purchase that ends others had begun by a time, and the last other; `Int64.min`:
  /// none.
  func last(by time: Int64) -> (purchase: Int64, other: Int64) {
    let other = max(alive[.renewal].last(by: time), alive[.unknown].last(by: time))
    return (alive[.purchase].last(by: time), other)
  }

  /// When the periods began that end at a time, in ascending order.
  func starts(endingAt end: Int64) -> [Int64] {
    starts[starts.partitionPoint { $0.end < end }...].prefix { $0.end == end }.map(\.start)
  }

  /// Those that may renew a period begin from its end on, until this time.
  static func renewalEnd(_ end: Int64) -> Int64 { end.advanced(orBoundBy: hole) }

  /// Whether another transaction, no later than it, may have replaced one before it began.
  func mayReplace(_ other: Item, _ item: Item) -> Bool {
    guard other.reason != .renewal, other.start <= item.start else { return false }
    if other.reason == .purchase, item.first < other.start { return true }
    return item.mayBeUndated && other.start >= item.start.advanced(orBoundBy: -item.ahead)
      && item.isNoRenewal(of: Group.member(other), renewedStart(item.start))
  }

  // MARK: Rules

  /// Whether it was revoked from its start, or replaced before it began.
  func isOut(_ item: Item) -> Bool {
    item.isVoid || item.isBegun(after: before(item, .purchase, in: groups, isIn: true))
      || item.isBegun(after: before(item, .unknown, in: groups))
  }

  /// When the first began that was bought after a transaction had been charged, and no later than
  /// that began; `Int64.max`: none did.
  func replaced(_ item: Item, isOut: Bool) -> Int64 {
    let unknown = before(item, .unknown, in: alive)
    return min(
      before(item, .purchase, in: alive, isIn: !isOut),
      item.isBegun(after: unknown) ? unknown : .max)
  }

  /// When the first began that ended a period which ran; `Int64.max`: none did.
  func ended(_ item: Item) -> Int64 {
    let limit = item.expires.advanced(orBoundBy: -item.ahead)
    let later = min(
      alive[.renewal].start(after: item.start), alive[.unknown].start(after: item.start))
    let purchase = min(
      alive[.purchase].start(after: item.start), addition(after: item.start, toOtherThan: item))
    return min(purchase, later < limit ? later : .max)
  }

  /// When the first of a group began that was bought after a transaction had been charged, and no
  /// later than that began; `Int64.max`: none did.
  ///
  /// - Parameter isIn: whether the transaction is in these groups.
  private func before(
    _ item: Item, _ reason: Reason, in groups: [Group], isIn: Bool = false
  ) -> Int64 {
    let group = groups[reason]
    var found = reason == .purchase ? addition(after: item.first, toOtherThan: item) : .max
    if let first = group.members.first, first.start <= item.start {
      if reason == .purchase {
        let own = isIn && item.reason == .purchase ? item.start : nil
        found = min(found, group.start(after: item.first, butOne: own))
      }
      if item.mayBeUndated { found = min(found, undated(item, group)) }
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
    // No other can show that it is none.
    if item.reason == .unknown, !item.isUpgraded {
      earliest = max(earliest, renewed.advanced(orBoundBy: 1))
    }
    return group.members[group.members.partitionPoint { $0.start < earliest }...]
      .prefix { $0.start <= item.start }
      .first { item.isNoRenewal(of: $0, renewed) }?.start ?? .max
  }

  /// When the first period began that ended where another begins, or seconds before.
  private func renewedStart(_ start: Int64) -> Int64 {
    let from = starts.partitionPoint { $0.end < start.advanced(orBoundBy: -Self.hole) }
    return starts[from...].prefix { $0.end <= start }.map(\.start).min() ?? .max
  }
}

extension Replacements.Item {
  fileprivate func isBegun(after time: Int64) -> Bool { time < start }

  /// Whether it may count as charged before it began where Apple has not signed it by then.
  fileprivate var mayBeUndated: Bool { reason == .renewal || reason == .unknown }

  /// One that begins where a purchase ends renews it. Others show that they do not: by being
  /// upgraded; by a purchase that runs on for longer than a renewal of it is charged ahead; by
  /// beginning where a still older period ends.
  fileprivate func isNoRenewal(of other: Group.Member, _ renewed: Int64) -> Bool {
    if (other.expires...Replacements.renewalEnd(other.expires)).contains(start) { return false }
    return isUpgraded
      || reason == .renewal && other.expires > start.advanced(orBoundBy: other.ahead)
      || renewed < other.start
  }
}

/// The transactions of one reason that may end others, in ascending order of their starts.
private struct Group {
  typealias Member = (start: Int64, expires: Int64, ahead: Int64)

  private(set) var members: [Member] = []

  static func member(_ item: Replacements.Item) -> Member {
    (item.start, item.expires, item.ahead)
  }

  mutating func insert(_ item: Replacements.Item) {
    let isLast = members.last.map { $0.start <= item.start } ?? true
    let place = isLast ? members.count : members.partitionPoint { $0.start <= item.start }
    members.insert(Self.member(item), at: place)
  }

  mutating func remove(_ item: Replacements.Item) {
    members[members.partitionPoint { $0.start < item.start }...]
      .firstIndex { $0 == Self.member(item) }.map { _ = members.remove(at: $0) }
  }

  /// The first start after a time, but one of those at another time; `Int64.max` if there is none.
  func start(after time: Int64, butOne start: Int64? = nil) -> Int64 {
    var place = members.partitionPoint { $0.start <= time }
    if place < members.count, members[place].start == start { place += 1 }
    return place < members.count ? members[place].start : .max
  }

  /// The last start by a time; `Int64.min` if there is none.
  func last(by time: Int64) -> Int64 {
    let count = members.partitionPoint { $0.start <= time }
    return count > 0 ? members[count - 1].start : .min
  }
}

extension [Group] {
  fileprivate subscript(reason: Replacements.Reason) -> Group {
    get { self[reason.rawValue] }
    _modify { yield &self[reason.rawValue] }
  }
}
