import AppStoreSimulator
import Foundation
import Platform
import StrictJSON

/// The books of a simulated App Store, as far as its notifications arrived: kept without the ledger
/// and its rules, as one keeps them by hand.
struct Books {
  struct Purchase {
    let stream, id, product, type, ownership, reason, currency: String
    let bought: Int64
    let expires: Int64?
    let price: Int64
    let isTrial: Bool
    let isUpgraded: Bool
    let revoked: Int64?
    let share: Int64
    /// Of a team, all at one price: how many were given back.
    let refundedSeats: Int64
    /// Whether seats were added to those of the period.
    let isAddition: Bool
    let token: String?
    let predecessor: String?
    private let seatPrice: Int64
    fileprivate let signed: Int64

    fileprivate init?(_ transaction: JSONValue) {
      guard transaction.text("environment") == "Production",
        let id = transaction.text("transactionId"),
        let stream = transaction.text("originalTransactionId"),
        let bought = transaction.number("purchaseDate"),
        let signed = transaction.number("signedDate")
      else { return nil }
      (self.id, self.stream, self.bought, self.signed) = (id, stream, bought, signed)
      product = transaction.text("productId") ?? ""
      type = transaction.text("type") ?? ""
      ownership = transaction.text("inAppOwnershipType") ?? ""
      reason = transaction.text("transactionReason") ?? ""
      currency = transaction.text("currency") ?? ""
      expires = transaction.number("expiresDate")
      let seats = transaction["multiSeatInfo"]
      price = Books.sum(seats?["priceTiers"]) ?? transaction.number("price") ?? 0
      refundedSeats = seats?.number("revokedSeatQuantity") ?? 0
      isAddition = transaction.text("additionalTransactionReason") == "SEAT_ADDITION"
      seatPrice = transaction.number("price") ?? 0
      isTrial = transaction.text("offerDiscountType") == "FREE_TRIAL"
      isUpgraded = transaction["isUpgraded"] == .boolean(true)
      revoked = transaction.number("revocationDate")
      share = transaction.number("revocationPercentage") ?? 100_000
      token = transaction.text("appAccountToken")
      predecessor = transaction.text("previousOriginalTransactionId")
    }

    var isCharged: Bool { ownership == "PURCHASED" && price > 0 }
    var refund: Int64 {
      guard ownership == "PURCHASED" else { return 0 }
      return revoked == nil ? refundedSeats * seatPrice : (price * share + 50_000) / 100_000
    }
    /// When something was given back, as far as this says; nil if nothing was.
    fileprivate var refundedAt: Int64? { revoked ?? (refundedSeats > 0 ? signed : nil) }
  }

  /// Money that was given back of a purchase, or charged again.
  private struct Movement {
    let purchase: Purchase
    let isRefund: Bool
    let at, amount: Int64
  }

  /// By stream, each in the order of purchase.
  private(set) var streams: [String: [Purchase]] = [:]
  var purchases: [Purchase] { streams.values.flatMap { $0 } }
  private var movements: [Movement] = []
  /// The newest renewal info of each stream.
  private var renewals: [String: JSONValue] = [:]

  private static let day: Int64 = 86_400_000

  init(_ payloads: [JSONValue]) {
    var newest: [String: Purchase] = [:]
    var told: [String: [(purchase: Purchase, isReversal: Bool)]] = [:]
    for payload in payloads {
      if let renewal = payload["data"]?["renewalInfo"],
        let stream = renewal.text("originalTransactionId")
      {
        let known = renewals[stream]?.number("signedDate") ?? .min
        if known < renewal.number("signedDate") ?? 0 { renewals[stream] = renewal }
      }
      guard let transaction = payload["data"]?["transaction"], let one = Purchase(transaction)
      else { continue }
      told[one.id, default: []].append(
        (one, payload.text("notificationType") == "REFUND_REVERSED"))
      if newest[one.id].map({ $0.signed < one.signed }) ?? true { newest[one.id] = one }
    }
    movements = told.values.flatMap(Self.movements)
    streams = Dictionary(grouping: newest.values, by: \.stream)
      .mapValues { $0.sorted { ($0.bought, $0.id) < ($1.bought, $1.id) } }
  }

  /// What was given back of one purchase, by all that Apple said of it.
  private static func movements(_ told: [(purchase: Purchase, isReversal: Bool)]) -> [Movement] {
    var (movements, given, reversed): ([Movement], Int64, Int64?) = ([], 0, nil)
    for (purchase, isReversal) in told.sorted(by: { $0.purchase.signed < $1.purchase.signed }) {
      if let date = purchase.refundedAt, purchase.refund != given, purchase.ownership == "PURCHASED"
      {
        movements.append(
          Movement(
            purchase: purchase, isRefund: true, at: date, amount: purchase.refund - given))
        (given, reversed) = (purchase.refund, nil)
      } else if purchase.refundedAt == nil, given != 0 || reversed != nil {
        // Told by itself, or else by the newest purchase without the refund.
        if given == 0, isReversal || reversed == nil { continue }
        if given == 0 { movements.removeLast() }
        let amount = given == 0 ? reversed ?? 0 : given
        movements.append(
          Movement(purchase: purchase, isRefund: false, at: purchase.signed, amount: amount))
        (given, reversed) = (0, isReversal ? nil : amount)
      }
    }
    return movements
  }

  /// What all seats cost; nil where there are none.
  private static func sum(_ tiers: JSONValue?) -> Int64? {
    guard case .array(let tiers) = tiers else { return nil }
    return tiers.reduce(0) { $0 + ($1.number("price") ?? 0) * ($1.number("quantity") ?? 0) }
  }

  static func month(_ time: Int64) -> String { String(text(time).prefix(7)) }

  private static func text(_ time: Int64) -> String {
    Date(timeIntervalSince1970: Double(time) / 1000).ISO8601Format()
  }

  /// When another purchase of the stream ended one before its time.
  private func cut(_ purchase: Purchase) -> Int64? {
    guard let expires = purchase.expires else { return nil }
    return streams[purchase.stream]?.first { later in
      later.bought > purchase.bought && later.revoked ?? .max > later.bought
        && !later.isAddition && !wasReplacedAhead(later)
        && (later.reason == "PURCHASE"
          ? later.bought < min(expires, purchase.revoked ?? .max)
          : later.bought < expires - Self.day)
    }?.bought
  }

  /// Whether it was charged ahead, and the customer upgraded before it began.
  private func wasReplacedAhead(_ purchase: Purchase) -> Bool {
    purchase.reason == "RENEWAL"
      && streams[purchase.stream]?.contains { other in
        other.reason == "PURCHASE" && !other.isAddition && other.bought <= purchase.bought
          && other.bought >= purchase.bought - Self.day
          && other.expires ?? .max > purchase.bought + Self.day
          && other.revoked ?? .max > purchase.bought
      } ?? false
  }

  private func end(_ purchase: Purchase) -> Int64? {
    if wasReplacedAhead(purchase) { return purchase.bought }
    let cut = cut(purchase)
    if purchase.isUpgraded, cut == nil { return purchase.bought }
    return [purchase.expires, purchase.revoked, cut].compactMap { $0 }.min()
  }

  /// What became of a subscription.
  private struct Standing {
    let purchase: Purchase
    let status: String
    /// Until when it is paid, or was; of a refund, its time.
    let end: Int64
    let renewal: JSONValue?

    var renewalPrice: Int64? {
      Books.sum(renewal?["multiSeatInfo"]?["renewalPriceTiers"])
        ?? renewal?.number("renewalPrice")
    }
    var nextPrice: Int64 { renewalPrice ?? purchase.price }
    var changesProduct: Bool {
      renewal?.text("autoRenewProductId").map { $0 != purchase.product } ?? false
    }

    /// Why it ended.
    var reason: String {
      if status == "revoked" { return "refunded" }
      if status == "billing_retry" { return "charge fails, still tried" }
      if status == "grace_period" { return "charge fails, in grace period" }
      switch renewal?.number("expirationIntent") {
      case 1: return "switched off"
      case 2: return "charge failed"
      case 3: return "did not agree to a price"
      case 4: return "not for sale"
      case 5: return "another reason"
      default:
        if renewal?.number("priceIncreaseStatus") == 0 { return "did not agree to a price" }
        return renewal?.number("autoRenewStatus") == 0 ? "switched off" : "charge failed"
      }
    }
  }

  /// Of each subscription at a time, where everything arrived.
  private func standings(at time: Int64) -> [Standing] {
    streams.values.compactMap { purchases in
      let counted = purchases.filter {
        $0.type == "Auto-Renewable Subscription" && $0.revoked ?? .max > $0.bought
          && !wasReplacedAhead($0)
      }
      guard let newest = counted.last else { return nil }
      let renewal = renewals[newest.stream]
      func standing(_ purchase: Purchase, _ status: String, _ end: Int64?) -> Standing {
        Standing(purchase: purchase, status: status, end: end ?? .max, renewal: renewal)
      }
      let running = counted.last { $0.bought <= time && end($0) ?? .max > time }
      if let running, let until = end(running) {
        // A renewal is charged up to a day ahead. Seats that are added end with the others, or
        // before, where they were refunded.
        let next = counted.first {
          $0.bought > running.bought && $0.bought <= until && end($0) ?? .max > until
        }
        return standing(running, "active", next.map { end($0) } ?? until)
      }
      if let revoked = newest.revoked, revoked <= time {
        return standing(newest, "revoked", revoked)
      }
      let isOn = renewal?.number("autoRenewStatus") != 0
      if isOn, renewal?.number("gracePeriodExpiresDate") ?? .min > time {
        return standing(newest, "grace_period", newest.expires)
      }
      let isRetried = renewal?["isInBillingRetryPeriod"] == .boolean(true)
      return standing(newest, isRetried ? "billing_retry" : "expired", newest.expires)
    }
  }

  // MARK: The questions

  /// Each answer is a list of lines: names, then numbers.
  private static func lines(_ sums: [[String]: [Int64]]) -> [String] {
    sums.map { ($0.key + $0.value.map(String.init)).joined(separator: " ") }.sorted()
  }

  /// How many there are of each name, and the sum of their amounts.
  private static func sums<Item>(
    _ items: [Item], _ names: (Item) -> [String], _ amount: (Item) -> Int64
  ) -> [String] {
    var sums: [[String]: [Int64]] = [:]
    for item in items {
      let known = sums[names(item)] ?? [0, 0]
      sums[names(item)] = [known[0] + 1, known[1] + amount(item)]
    }
    return lines(sums)
  }

  /// A question's answer now.
  func answer(_ number: Int, customer token: String) throws -> [String] {
    let now = Clock.now()
    return switch number {
    case 1: charged
    case 2: refunded
    case 3: net
    case 4: trials(at: now)
    case 5: due(at: now)
    case 6: running(at: try Finance.time(String(Self.text(now).prefix(10))))
    case 7: ended(in: Self.month(Finance.monthStart(now) - 1), at: now)
    case 8: atRisk(at: now)
    case 9: changes
    case 10: customer(token)
    case 11: recurring(at: try Finance.time(String(Self.text(now).prefix(10))))
    case 12: retention(at: now)
    case 13: refundRate
    default: dailyTrials
    }
  }

  /// The prices of the simulator are all known.
  var charged: [String] {
    Self.sums(purchases.filter(\.isCharged), { [Self.month($0.bought), $0.currency] }, \.price)
      .map { $0 + " 0" }
  }

  var refunded: [String] {
    var sums: [[String]: [Int64]] = [:]
    for it in movements {
      let names = [Self.month(it.at), Self.month(it.purchase.bought), it.purchase.currency]
      var sum = sums[names] ?? [0, 0, 0, 0]
      sum[it.isRefund ? 0 : 2] += 1
      sum[1] += it.isRefund ? it.amount : -it.amount
      sums[names] = sum
    }
    return Self.lines(sums)
  }

  var net: [String] {
    var sums: [[String]: [Int64]] = [:]
    for purchase in purchases
    where purchase.isCharged && (!wasReplacedAhead(purchase) || purchase.refund != 0) {
      sums[[Self.month(purchase.bought), purchase.currency], default: [0, 0]][0] += purchase.price
    }
    for it in movements {
      sums[[Self.month(it.at), it.purchase.currency], default: [0, 0]][0] -=
        it.isRefund ? it.amount : -it.amount
    }
    return Self.lines(sums)
  }

  /// Trials, and of these: paid, refunded, paid a year later, still running.
  func trials(at time: Int64) -> [String] {
    var sums: [[String]: [Int64]] = [:]
    for purchases in streams.values {
      let own = purchases.filter { $0.ownership == "PURCHASED" }
      guard let trial = own.first(where: \.isTrial) else { continue }
      let paid = own.first { $0.price > 0 && !$0.isTrial && $0.bought > trial.bought }
      var sum = sums[[Self.month(trial.bought)]] ?? [0, 0, 0, 0, 0]
      sum[0] += 1
      if let paid {
        let isLate = paid.bought > (end(trial) ?? .max) + 365 * Self.day
        sum[isLate ? 3 : paid.refund != 0 ? 2 : 1] += 1
      } else if end(trial) ?? .max > time {
        sum[4] += 1
      }
      sums[[Self.month(trial.bought)]] = sum
    }
    return Self.lines(sums)
  }

  func due(at time: Int64) -> [String] {
    let horizon = (time / 1000 + 30 * 86_400) * 1000
    var sums: [[String]: [Int64]] = [:]
    for it in standings(at: time)
    where it.status == "active" && it.renewal?.number("autoRenewStatus") == 1
      && it.purchase.ownership == "PURCHASED"
    {
      let isKnown = it.renewalPrice != nil || !it.purchase.isTrial
      var date = it.end
      while date < horizon {
        let names = [String(Self.text(date).prefix(10)), it.purchase.currency]
        var sum = sums[names] ?? [0, 0, 0, 0]
        sum[0] += 1
        sum[1] += isKnown ? it.nextPrice : 0
        sum[2] += it.renewalPrice == nil && isKnown ? 1 : 0
        sum[3] += isKnown ? 0 : 1
        sums[names] = sum
        guard !it.purchase.isTrial, !it.changesProduct else { break }
        date += it.end - it.purchase.bought
      }
    }
    return Self.lines(sums)
  }

  func ended(in month: String, at time: Int64) -> [String] {
    let replaced = Set(purchases.compactMap(\.predecessor))
    var sums: [[String]: [Int64]] = [:]
    for it in standings(at: time) where !replaced.contains(it.purchase.stream) {
      let own = (streams[it.purchase.stream] ?? []).filter {
        $0.type == "Auto-Renewable Subscription" && $0.ownership == "PURCHASED"
          && end($0) ?? .max > $0.bought
      }
      for purchase in own {
        let ended = end(purchase) ?? .max
        guard Self.month(ended) == month,
          !own.contains(where: { $0.bought <= ended && end($0) ?? .max > ended })
        else { continue }
        let isBack = own.contains { $0.bought > ended }
        sums[[isBack ? "came back" : it.reason], default: [0]][0] += 1
      }
    }
    return Self.lines(sums)
  }

  func atRisk(at time: Int64) -> [String] {
    let failed = standings(at: time).filter {
      ["grace_period", "billing_retry"].contains($0.status) && $0.purchase.ownership == "PURCHASED"
    }
    var unpriced: [String: Int64] = [:]
    for it in failed where it.renewalPrice == nil {
      unpriced["\(it.status) \(it.purchase.currency)", default: 0] += 1
    }
    return Self.sums(failed, { [$0.status, $0.purchase.currency] }, \.nextPrice).map { line in
      let names = line.split(separator: " ").prefix(2).joined(separator: " ")
      return "\(line) \(unpriced[names] ?? 0) 0"
    }
  }

  func running(at time: Int64) -> [String] {
    var sums: [[String]: Set<String>] = [:]
    for purchase in purchases
    where purchase.type == "Auto-Renewable Subscription" && purchase.bought <= time
      && purchase.ownership == "PURCHASED" && end(purchase) ?? .min > time
    {
      sums[[purchase.product], default: []].insert(purchase.stream)
    }
    return Self.lines(sums.mapValues { [Int64($0.count)] })
  }

  var changes: [String] {
    var sums: [[String]: [Int64]] = [:]
    for purchases in streams.values {
      let renewing = purchases.filter {
        $0.type == "Auto-Renewable Subscription" && $0.ownership == "PURCHASED"
          && end($0) ?? .max > $0.bought
      }
      for (one, next) in zip(renewing, renewing.dropFirst()) where one.product != next.product {
        let kind = cut(one) == nil ? "at renewal" : "upgrade"
        sums[[Self.month(next.bought), kind, one.product, next.product], default: [0]][0] += 1
      }
    }
    return Self.lines(sums)
  }

  func customer(_ token: String) -> [String] {
    var sums: [[String]: [Int64]] = [:]
    for purchase in purchases where purchase.token == token && purchase.ownership == "PURCHASED" {
      let known = sums[[purchase.currency]] ?? [0, 0, 0, 0]
      sums[[purchase.currency]] = [
        known[0] + 1, known[1] + purchase.price, known[2] + purchase.refund, 0,
      ]
    }
    return Self.lines(sums)
  }

  /// The newest paid purchase that runs, of each subscription.
  func recurring(at time: Int64) -> [String] {
    let running = streams.values.compactMap { purchases in
      purchases.last {
        $0.type == "Auto-Renewable Subscription" && $0.isCharged && $0.bought <= time
          && end($0) ?? .min > time
      }
    }
    return Dictionary(grouping: running, by: \.currency).map { currency, all in
      let monthly = all.reduce(0.0) {
        $0 + Double($1.price) * 2_629_800_000 / Double(($1.expires ?? 0) - $1.bought)
      }
      return "\(currency) \(all.count) \(Int64((monthly / 10).rounded()) * 10) 0"
    }.sorted()
  }

  func retention(at now: Int64) -> [String] {
    var cohorts: [String: [(began: Int64, own: [Purchase])]] = [:]
    for purchases in streams.values {
      let own = purchases.filter { end($0) ?? .max > $0.bought }
      guard
        let first = own.first(where: { $0.isCharged && $0.type == "Auto-Renewable Subscription" })
      else { continue }
      cohorts[Self.month(first.bought), default: []].append((first.bought, own))
    }
    return cohorts.map { month, members in
      let last = members.map(\.began).max() ?? 0
      let kept = ([30, 90, 180, 365] as [Int64]).map { days -> String in
        let length = days * Self.day
        guard last + length <= now else { return "" }
        return String(
          members.count { began, own in
            own.contains { $0.bought <= began + length && end($0) ?? .min > began + length }
          })
      }
      return ([month, String(members.count)] + kept).joined(separator: " ")
    }.sorted()
  }

  var refundRate: [String] {
    Dictionary(grouping: purchases.filter(\.isCharged)) {
      [Self.month($0.bought), $0.product]
    }.map { names, all in
      let refunds = all.count { $0.refund != 0 }
      let percent = (1000 * Double(refunds) / Double(all.count)).rounded() / 10
      return (names + [String(all.count), String(refunds), String(percent)])
        .joined(separator: " ")
    }.sorted()
  }

  var dailyTrials: [String] {
    let trials = purchases.filter { $0.isTrial && $0.ownership == "PURCHASED" }
    return Self.lines(
      Dictionary(grouping: trials) { [String(Self.text($0.bought).prefix(10)), $0.product] }
        .mapValues { [Int64($0.count)] })
  }
}
