import Entitlements

/// What is true at a time if nothing happens after a moment: the state of that moment, continued
/// by the clock alone.
struct Truth {
  var status: Entitlement.Status
  var hasAccess: Bool
  var product: String
  var expires: Int64?
  var autoRenew: Bool?
  var pending: String?
  /// The purchase that covers the time, else the one that was in force last.
  var purchase: Int
  /// Every purchase that decides `expires`.
  var chain: [Int]
}

extension Life {
  /// What is true at `time` if nothing happens after `moment`; nil before the first purchase.
  func truth(since moment: Int64, at time: Int64) -> Truth? {
    guard let state = state(at: moment) else { return nil }
    var truth = isSubscription ? state.subscription(at: time) : state.oneTime(at: time)
    if productType == "Consumable" { truth?.hasAccess = false }
    return truth
  }
}

extension State {
  /// How long Apple tries to charge again.
  static let retry = 60 * Catalog.day

  func oneTime(at time: Int64) -> Truth? {
    guard let index = purchases.indices.last else { return nil }
    let purchase = purchases[index]
    let isOver = purchase.ends <= time
    let status: Entitlement.Status =
      !isOver ? .active : purchase.revoked.map { $0 <= time } ?? false ? .revoked : .expired
    return Truth(
      status: status, hasAccess: !isOver, product: purchase.product,
      expires: purchase.paidThrough, purchase: index, chain: [index])
  }

  func subscription(at time: Int64) -> Truth? {
    let begun = purchases.indices.filter { purchases[$0].everBegins }
    let covering = begun.filter { purchases[$0].covers <= time && time < purchases[$0].ends }
      .max { purchases[$0].begins < purchases[$1].begins }
    guard let last = begun.max(by: { purchases[$0].begins < purchases[$1].begins }) else {
      return nil
    }
    let index = covering ?? last
    let status = covering == nil ? statusWithout(last, at: time) : .active
    let chain = covering.map { paidChain(from: $0) }
    let product = purchases[index].product
    let pending = renewal.flatMap { $0.isOn && $0.next != product ? $0.next : nil }
    return Truth(
      status: status, hasAccess: status == .active || status == .gracePeriod, product: product,
      expires: chain?.compactMap { purchases[$0].ends }.max() ?? purchases[index].paidThrough,
      autoRenew: renewal?.isOn, pending: pending, purchase: index, chain: chain ?? [index])
  }

  /// The status while nothing covers.
  private func statusWithout(_ last: Int, at time: Int64) -> Entitlement.Status {
    if purchases[last].revoked != nil { return .revoked }
    guard let failure, failure.purchase == last else { return .expired }
    if let end = failure.graceEnd, time < end { return .gracePeriod }
    return time < (purchases[last].paidThrough ?? 0) + Self.retry ? .billingRetry : .expired
  }

  /// The paid periods that touch, from this one on.
  private func paidChain(from first: Int) -> [Int] {
    var chain = [first]
    var end = purchases[first].ends
    let others = purchases.indices.filter { purchases[$0].everBegins }
      .sorted { purchases[$0].begins < purchases[$1].begins }
    for index in others where purchases[index].begins <= end && purchases[index].ends > end {
      end = purchases[index].ends
      chain.append(index)
    }
    return chain
  }
}
