public import AppStore

/// One stream of a customer, as the entitlements by name see it.
///
/// A class, because each of them refers to it.
public final class CustomerStream: Sendable {
  public let key: StreamKey
  /// With all spans that answer at the time asked about, at a leeway before it, and after it.
  let row: EntitlementRow
  /// The original transaction id of the stream that replaced this one (MIGRATION).
  let succeededBy: String?
  /// When Apple last said anything about it, milliseconds since 1970.
  let heardAt: Int64?

  public init(key: StreamKey, row: EntitlementRow, succeededBy: String?, confirmedAt: Int64?) {
    self.key = key
    self.row = row
    self.succeededBy = succeededBy
    let signed = row.lastEvent?.signedDate
    heardAt = signed.map { max($0, confirmedAt ?? $0) } ?? confirmedAt
  }

  /// The non-renewing product that the row ends by, and whether it gives access at a time.
  public func lasting(at time: Int64, durations: Durations) -> (product: String, access: Bool)? {
    guard let lasting = row.lasting,
      let current = row.current(at: time, durations: durations)
    else { return nil }
    return (lasting.productId, current.givesAccess)
  }
}

/// An entitlement that the owner granted, of one app, in milliseconds since 1970.
public struct GrantedAccess: Sendable {
  let name: String
  public let bundleId: String
  let from: Int64
  /// Exclusive; nil: for ever.
  let until: Int64?

  public init(name: String, bundleId: String, from: Int64, until: Int64?) {
    (self.name, self.bundleId, self.from, self.until) = (name, bundleId, from, until)
  }

  fileprivate func isActive(at time: Int64) -> Bool {
    from <= time && until.map { time < $0 } ?? true
  }
}

/// An entitlement by name at a time: what gives it, and when that changes by time alone.
public struct NamedAnswer: Sendable, Equatable {
  /// Why there is access.
  public enum Basis: String, Sendable, CaseIterable {
    /// A subscription is paid for.
    case paid
    /// A charge failed, and Apple grants a grace period.
    case grace
    /// The paid period ended, no word from Apple has come, and the configured leeway runs.
    case leeway
    /// A product that does not renew was bought.
    case oneTime = "one_time"
    /// A member of the family bought it.
    case family
    /// A seat that somebody else pays for.
    case assigned
    /// The owner granted it.
    case granted
  }

  /// What gives the entitlement.
  public struct Access: Sendable, Equatable {
    public let basis: Basis
    /// When it ends, as far as is known now, milliseconds since 1970; nil: it does not.
    public let expiresAt: Int64?
    /// Whether Apple will charge again for this or another purchase that gives the entitlement.
    public fileprivate(set) var willRenew: Bool
    public let productId: String?
    /// Nil for what was granted.
    public let key: StreamKey?
    fileprivate let isReplaced: Bool
    /// The offer of the period that runs, while it is paid for.
    public fileprivate(set) var offer: Purchase.Offer?

    /// Whether the customer pays nothing yet.
    public var isTrial: Bool { offer?.discountType == "FREE_TRIAL" }
  }

  /// Why there is no access.
  public struct Absence: Sendable, Equatable {
    public enum Reason: String, Sendable, CaseIterable {
      /// Nothing that gives it was bought or granted.
      case neverBought = "never_bought"
      /// What was paid for, or granted, has ended.
      case ended
      /// It was refunded, or taken from who had not paid for it.
      case refunded
      /// A charge failed, and Apple goes on trying.
      case billingRetry = "billing_retry"
      /// The customer has a product that gives no entitlement at all: the configuration lacks it.
      case unmapped
      /// The id is known in the other environment alone.
      case otherEnvironment = "other_environment"
      /// The id is known in other apps than the one that was asked about.
      case otherApp = "other_app"
      /// Nothing is known of the customer, which is not a no.
      case unknown
    }

    public let reason: Reason
    /// When it ended, milliseconds since 1970; nil if nothing has.
    public private(set) var endedAt: Int64?
    /// The product that gave it, or that gives nothing; nil if there is none.
    public private(set) var productId: String?
    /// Of the row that the product is in.
    public private(set) var key: StreamKey?

    public init(_ reason: Reason) { self.reason = reason }

    fileprivate init(_ reason: Reason, endedAt: Int64?, _ productId: String?, _ key: StreamKey?) {
      self.init(reason)
      (self.endedAt, self.productId, self.key) = (endedAt, productId, key)
    }
  }

  /// What the passing of time will change.
  public struct Change: Sendable, Equatable {
    /// Milliseconds since 1970.
    public let at: Int64
    public let isActive: Bool
  }

  /// Nil while the entitlement is not active.
  public let access: Access?
  /// Why it is not active; nil while it is.
  public package(set) var absence: Absence?
  /// Nil if time alone will not change whether it is active.
  public let next: Change?
  /// When time alone may change anything of the answer, milliseconds since 1970; nil: never.
  public let turn: Int64?
}

extension EntitlementCatalog {
  /// Whether a customer has an entitlement at a time.
  ///
  /// Of several purchases that give it, the answer is about the one that lasts longest; of those
  /// about one that will renew; of those about one that was not replaced; of those about the first
  /// by original transaction id, environment and bundle id. Leeway counts only where nothing else
  /// gives access. Where a successor is about the same entitlement, it alone says what will be
  /// charged and has leeway; access that the stream before it gives is left.
  ///
  /// - Parameters:
  ///   - time: milliseconds since 1970.
  ///   - durations: those of all apps.
  public func answer(
    _ name: String, _ streams: [CustomerStream], _ granted: [GrantedAccess] = [], at time: Int64,
    durations: AppDurations
  ) -> NamedAnswer {
    var sources: [AccessSource] = []
    for stream in streams {
      guard let entitlement = entitlement(name, in: stream.key.bundleId) else { continue }
      sources.append(
        AccessSource(stream: stream, entitlement: entitlement, durations: durations[stream.key]))
    }
    AccessSource.addUp(&sources, at: time)
    // Nearly no stream was replaced.
    for index in sources.indices where sources[index].stream.succeededBy != nil {
      let successor = sources[index].successorKey
      sources[index].successor = streams.first { $0.key == successor }?.row
    }
    let grants = granted.filter { $0.name == name }
    var access: NamedAnswer.Access?
    var willRenew = false
    func add(_ found: NamedAnswer.Access) {
      willRenew = willRenew || found.willRenew && found.basis != .leeway
      if access.map({ NamedAnswer.Access.isWorse($0, found) }) ?? true { access = found }
    }
    for source in sources { source.access(at: time).map(add) }
    for grant in grants where grant.isActive(at: time) {
      add(
        NamedAnswer.Access(
          basis: .granted, expiresAt: grant.until, willRenew: false, productId: nil, key: nil,
          isReplaced: false))
    }
    if access?.basis != .leeway { access?.willRenew = willRenew }
    let turns = Self.turns(sources, grants, after: time)
    return NamedAnswer(
      access: access,
      absence: access == nil ? absence(sources, streams, grants, at: time, durations) : nil,
      next: Self.next(sources, grants, isActive: access != nil, turns), turn: turns.first)
  }

  /// Why nothing gives access: of what ended, the last; else a product that gives no entitlement.
  private func absence(
    _ sources: [AccessSource], _ streams: [CustomerStream], _ grants: [GrantedAccess],
    at time: Int64, _ durations: AppDurations
  ) -> NamedAnswer.Absence {
    let granted = grants.compactMap { grant in
      grant.until.map { NamedAnswer.Absence(.ended, endedAt: $0, nil, nil) }
    }
    let ended = (sources.compactMap { $0.absence(at: time) } + granted)
      .max { ($0.endedAt ?? .min) < ($1.endedAt ?? .min) }
    if let ended { return ended }
    for stream in streams {
      guard let current = stream.row.current(at: time, durations: durations[stream.key]),
        current.givesAccess,
        let product = stream.row.spans[current.span].productId,
        !mapping(of: stream.key.bundleId).names.values.contains(where: { $0.isGiven(by: product) })
      else { continue }
      return .init(.unmapped, endedAt: nil, product, stream.key)
    }
    return .init(.neverBought)
  }

  /// The times after one at which the answer may change, ascending.
  private static func turns(
    _ sources: [AccessSource], _ grants: [GrantedAccess], after time: Int64
  ) -> [Int64] {
    var turns: [Int64] = []
    func add(_ turn: Int64) { if turn > time { turns.append(turn) } }
    for source in sources where source.givesAtAnyTime { source.forEachTurn(add) }
    for grant in grants {
      add(grant.from)
      grant.until.map(add)
    }
    return turns.sorted()
  }

  /// The first of the times at which whether there is access changes.
  private static func next(
    _ sources: [AccessSource], _ grants: [GrantedAccess], isActive: Bool, _ turns: [Int64]
  ) -> NamedAnswer.Change? {
    for turn in turns {
      let willBeActive =
        sources.contains { $0.isActive(at: turn) } || grants.contains { $0.isActive(at: turn) }
      if willBeActive != isActive { return .init(at: turn, isActive: willBeActive) }
    }
    return nil
  }
}

extension NamedAnswer.Access {
  /// Whether `other` is the one to answer with.
  fileprivate static func isWorse(_ one: Self, _ other: Self) -> Bool {
    if (one.basis == .leeway) != (other.basis == .leeway) { return one.basis == .leeway }
    let (end, otherEnd) = (one.expiresAt ?? .max, other.expiresAt ?? .max)
    if end != otherEnd { return end < otherEnd }
    if one.willRenew != other.willRenew { return other.willRenew }
    if one.isReplaced != other.isReplaced { return one.isReplaced }
    guard let key = one.key, let otherKey = other.key else { return one.key == nil }
    return otherKey < key
  }
}

/// A stream under one entitlement.
private struct AccessSource {
  let stream: CustomerStream
  let entitlement: NamedEntitlement
  let durations: Durations
  /// That of the stream, or one that begins to last later: `addUp`.
  private var row: EntitlementRow
  /// The row of the stream that replaced this one.
  var successor: EntitlementRow?

  init(stream: CustomerStream, entitlement: NamedEntitlement, durations: Durations) {
    (self.stream, self.entitlement, self.durations) = (stream, entitlement, durations)
    row = stream.row
  }

  /// Lets purchases of a product that adds up last one after the other, as far as the one before is
  /// not over when the next is bought. One that is refunded at the time counts for none.
  static func addUp(_ sources: inout [AccessSource], at time: Int64) {
    guard sources.contains(where: { !$0.durations.isEmpty }) else { return }
    var ends: [AppProduct: Int64] = [:]
    for index in sources.indices.sorted(by: { sources[$0].boughtAt < sources[$1].boughtAt }) {
      let source = sources[index]
      guard let lasting = source.row.lasting,
        let duration = source.durations.duration(of: lasting.productId, at: time), duration.addsUp,
        source.row.current(at: time, durations: source.durations)?.status != .revoked
      else { continue }
      let product = AppProduct(app: source.stream.key.stream(""), product: lasting.productId)
      let from = max(lasting.from, ends[product] ?? .min)
      sources[index].row.lasting?.from = from
      ends[product] = from.advanced(orBoundBy: duration.milliseconds)
    }
  }

  private struct AppProduct: Hashable {
    let app: StreamKey
    let product: String
  }

  private var boughtAt: Int64 { row.lasting?.from ?? .max }

  /// The key of the stream that replaced this one.
  var successorKey: StreamKey? {
    stream.succeededBy.map(stream.key.stream)
  }

  func isActive(at time: Int64) -> Bool { isStrict(at: time) || leewayEnd(at: time) != nil }

  /// What the stream gives at a time; nil if it gives nothing.
  func access(at time: Int64) -> NamedAnswer.Access? {
    guard let current = row.current(at: time, durations: durations) else { return nil }
    let span = row.spans[current.span]
    var (basis, end) = (NamedAnswer.Basis.leeway, leewayEnd(at: time))
    if current.givesAccess && isGiven(in: current.span) {
      (basis, end) = (self.basis(current.status, span), strictEnd(after: time))
    } else if end == nil {
      return nil
    }
    let isReplaced = hasSuccessor(at: time)
    var access = NamedAnswer.Access(
      basis: basis, expiresAt: end, willRenew: willRenew(in: span) && !isReplaced,
      productId: span.productId, key: stream.key, isReplaced: isReplaced)
    // A paid time without its transaction is not the one before it.
    if basis == .paid, !span.hasGap {
      access.offer = span.purchase.flatMap { row.purchases[$0].offer }
    }
    return access
  }

  /// How the access that the stream gave has ended; nil if its product never gave the entitlement.
  func absence(at time: Int64) -> NamedAnswer.Absence? {
    guard let current = row.current(at: time, durations: durations), isGiven(in: current.span),
      !current.givesAccess
    else { return nil }
    let span = row.spans[current.span]
    let end = row.lastingEnd(durations, at: time) ?? span.expiresAt
    switch current.status {
    case .revoked:
      return .init(.refunded, endedAt: row.revokedAt, span.productId, stream.key)
    case .billingRetry: return .init(.billingRetry, endedAt: end, span.productId, stream.key)
    case .expired: return .init(.ended, endedAt: end, span.productId, stream.key)
    // A consumable, or what is paid ahead.
    case .active, .gracePeriod: return nil
    }
  }

  /// Whether a product of the stream gives the entitlement in any of its spans.
  var givesAtAnyTime: Bool { row.spans.indices.contains(where: isGiven) }

  /// Calls `body` with the times at which the stream's answer may change, in no order.
  func forEachTurn(_ body: (Int64) -> Void) {
    for span in row.spans { body(span.from) }
    row.lastingTurns(durations).forEach(body)
    guard entitlement.accessLeeway > 0, row.autoRenew == true else { return }
    for span in row.spans {
      span.expiresAt.map { body($0.advanced(orBoundBy: entitlement.accessLeeway)) }
    }
  }

  // MARK: Rules

  /// Whether the row itself gives access by a product of the entitlement.
  private func isStrict(at time: Int64) -> Bool {
    row.current(at: time, durations: durations).map { $0.givesAccess && isGiven(in: $0.span) }
      ?? false
  }

  /// Whether a successor's product at a time gives the entitlement, with access or without.
  private func hasSuccessor(at time: Int64) -> Bool {
    guard let successor, let current = successor.current(at: time, durations: durations) else {
      return false
    }
    return successor.spans[current.span].productId.map(entitlement.isGiven) ?? false
  }

  private func isGiven(in span: Int) -> Bool {
    row.spans[span].productId.map(entitlement.isGiven) ?? false
  }

  /// When the access that the row gives at a time ends; nil: never.
  private func strictEnd(after time: Int64) -> Int64? {
    var time = time
    while let current = row.current(at: time, durations: durations), current.givesAccess,
      isGiven(in: current.span)
    {
      guard let until = current.until else { return nil }
      time = until
    }
    return time
  }

  /// When the leeway that runs at a time ends; nil if none runs.
  ///
  /// It runs from the end of what is paid for, if that was to renew to a product of the same
  /// entitlement, and until Apple says anything about the stream.
  private func leewayEnd(at time: Int64) -> Int64? {
    guard entitlement.accessLeeway > 0,
      let current = row.current(at: time, durations: durations), current.status == .expired,
      willRenew(in: row.spans[current.span]), let end = row.spans[current.span].expiresAt,
      end <= time, stream.heardAt ?? .max < end,
      isStrict(at: end.advanced(orBoundBy: -1)), !hasSuccessor(at: time)
    else { return nil }
    let last = end.advanced(orBoundBy: entitlement.accessLeeway)
    return time < last ? last : nil
  }

  /// Whether Apple will charge again for the entitlement. Within a commitment auto-renew stays on:
  /// whether it goes on after the last period is told apart.
  private func willRenew(in span: EntitlementRow.Span) -> Bool {
    let commitment = span.purchase.flatMap { row.purchases[$0].commitment }
    let isLast = commitment.map { $0.billingPeriodNumber >= $0.totalBillingPeriods } ?? false
    return row.autoRenew == true && row.renewalProductId.map(entitlement.isGiven) ?? true
      && !(isLast && row.commitmentAutoRenew == false)
  }

  private func basis(
    _ status: Entitlement.Status, _ span: EntitlementRow.Span
  ) -> NamedAnswer.Basis {
    let purchase = span.purchase.map { row.purchases[$0] }
    if status == .gracePeriod { return .grace }
    switch purchase?.ownership {
    case "FAMILY_SHARED": return .family
    case "ASSIGNED": return .assigned
    default: break
    }
    // V1 does not give the product type.
    let renews = purchase?.productType.map { $0 == ProductType.autoRenewable }
    return renews ?? (span.expiresAt != nil) ? .paid : .oneTime
  }
}
