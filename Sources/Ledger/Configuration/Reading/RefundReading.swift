import AppStore
import Entitlements
import Platform
import StrictJSON

/// Reads the key `refunds`.
extension ConfigurationReader {
  /// - Returns: nil if there is no such key.
  mutating func refundPolicies(_ root: JSONElement) throws(LedgerError) -> [RefundPolicy]? {
    guard let object = root["refunds"] else { return nil }
    keyPath = "refunds"
    try requireKnownKeys(object, .refunds)
    var policies: [RefundPolicy] = []
    for (index, entry) in try list(object, "policies").enumerated() {
      keyPath = "refunds.policies[\(index)], line \(entry.line)"
      try requireKnownKeys(entry, .refundPolicy)
      let policy = try refundPolicy(entry)
      guard !policies.contains(where: { $0.name == policy.name }) else {
        throw invalid("name occurs twice", "give each policy a name of its own")
      }
      policies.append(policy)
    }
    keyPath = ""
    return policies
  }

  private func refundPolicy(_ entry: JSONElement) throws(LedgerError) -> RefundPolicy {
    var policy = RefundPolicy(
      try required(entry, "name"), try choice(entry, "prefer", or: RefundPreference?.none))
    policy.products = try texts(entry, "products")
    guard policy.products.map({ NamedEntitlement(products: $0).hasProducts }) ?? true else {
      throw invalid(
        "products is empty, or a product in it cannot be used",
        "write product ids; * is allowed as the last character, after at least one other")
    }
    policy.types = try words(entry, "types", ProductType.all)
    policy.reasons = try words(entry, "reasons", Set(ValueDescriptions.requestReason.values))
    policy.environments = try environments(entry)
    guard policy.environments?.isEmpty != true else {
      throw invalid("environments is empty", "name one, or omit it for both")
    }
    policy.boughtWithinHours = try number(entry, "bought_within_hours", 1...1_000_000)
    policy.refundsBeforeAtMost = try number(entry, "refunds_before_at_most", 0...1_000_000)
    let deliveries = ConsumptionInformation.Delivery.allCases
    policy.saidDelivery = try words(entry, "said_delivery", Set(deliveries.map(\.rawValue)))
      .map { Set($0.compactMap(ConsumptionInformation.Delivery.init)) }
    policy.saidConsumedAtLeast = try number(
      entry, "said_consumed_at_least", 0...ConsumptionInformation.wholePercentage)
    if entry["delivery"] != nil {
      policy.delivery = try choice(
        entry, "delivery", or: ConsumptionInformation.Delivery?.none)
    }
    if entry["sample"] != nil { policy.sample = try flag(entry, "sample") }
    policy.waitSeconds =
      try number(entry, "wait_seconds", 0...RefundPolicy.longestWaitSeconds) ?? 0
    guard policy.hasFacts else {
      throw invalid(
        "says neither what to send nor where it is known",
        "add \"delivery\" and \"sample\", or match where the backend said it: \"said_delivery\"")
    }
    return policy
  }

  /// Some of the words that a member may have; nil if it is left out.
  private func words(
    _ entry: JSONElement, _ name: String, _ known: Set<String>
  ) throws(LedgerError) -> Set<String>? {
    guard let words = try texts(entry, name) else { return nil }
    guard !words.isEmpty, known.isSuperset(of: words) else {
      throw invalid(
        "\(name) is empty or has an unknown word",
        "write some of \(known.sorted().joined(separator: ", ")), or omit it")
    }
    return Set(words)
  }
}
