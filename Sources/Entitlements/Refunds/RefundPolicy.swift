public import AppStore

/// What the owner wants to be told about some requests for refunds. Of a list, the first that
/// matches decides. A condition that is nil holds for all.
public struct RefundPolicy: Sendable, Equatable {
  public var name: String
  public var preference: RefundPreference

  /// Product ids; one that ends with `*` stands for all that begin with the rest of it.
  public var products: [String]?
  /// In Apple's words, as `ProductType` has them.
  public var types: Set<String>?
  /// In Apple's words, as consumptionRequestReason has them.
  public var reasons: Set<String>?
  public var environments: Set<Environment>?
  /// From the purchase to the request.
  public var boughtWithinHours: Int64?
  /// Earlier refunds of the customer.
  public var refundsBeforeAtMost: Int64?
  public var saidDelivery: Set<ConsumptionInformation.Delivery>?
  /// What the backend said was used, in thousandths of a percent.
  public var saidConsumedAtLeast: Int64?

  /// What is sent where the backend has not said it.
  public var delivery: ConsumptionInformation.Delivery?
  public var sample: Bool?
  /// How long it waits for the backend's word.
  public var waitSeconds: Int64 = 0
  /// Eleven hours: Apple waits for twelve.
  public static let longestWaitSeconds: Int64 = 39_600

  public init(_ name: String, _ preference: RefundPreference) {
    (self.name, self.preference) = (name, preference)
  }

  /// Whether what it sends is known: it says so itself, or matches only where the backend did.
  public var hasFacts: Bool {
    preference == .silent || delivery != nil && sample != nil || saidDelivery != nil
      || saidConsumedAtLeast != nil
  }

  func matches(_ request: RefundRequest, _ facts: RefundFacts) -> Bool {
    let (purchase, word) = (facts.transaction, request.word)
    let age = request.openedAt.subtracting(orBoundBy: purchase.purchaseDate)
    let conditions: [Bool?] = [
      products.map { NamedEntitlement(products: $0).isGiven(by: purchase.productId ?? "") },
      types.map { $0.contains(purchase.type ?? "") },
      reasons.map { $0.contains(request.reason ?? "") },
      environments.map { $0.contains(facts.environment) },
      boughtWithinHours.map { age <= $0 * RefundRequest.hour },
      refundsBeforeAtMost.map { facts.refundsBefore <= $0 },
      saidDelivery.map { said in word?.delivery.map(said.contains) ?? false },
      saidConsumedAtLeast.map { word?.consumptionPercentage ?? -1 >= $0 },
    ]
    return !conditions.contains(false) && (preference == .silent || information(word) != nil)
  }

  /// What is sent, without preference and percentage: what the backend said is never contradicted.
  func information(_ word: RefundWord?) -> ConsumptionInformation? {
    guard let delivery = word?.delivery ?? delivery,
      let sample = word?.sampleContentProvided ?? sample
    else { return nil }
    return ConsumptionInformation(delivery, sampleContentProvided: sample)
  }
}
