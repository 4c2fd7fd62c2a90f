public import AppStore

/// A product of an app of which at least one row exists.
public struct SoldProduct: Sendable, Hashable {
  public let environment: Environment
  public let bundleId: String
  public let productId: String
  /// Apple's name of the type; V1 does not give it.
  public let type: String?
  let subscriptionGroupId: String?

  public init(
    environment: Environment, bundleId: String, productId: String, type: String?,
    subscriptionGroupId: String?
  ) {
    self.environment = environment
    self.bundleId = bundleId
    self.productId = productId
    self.type = type
    self.subscriptionGroupId = subscriptionGroupId
  }
}

extension EntitlementCatalog {
  /// A product that was sold and gives no entitlement by name.
  public struct Unmapped: Sendable, Equatable {
    public let product: SoldProduct
    /// The entitlement that it probably belongs to; nil if nothing speaks for one.
    public let suggestion: String?
  }

  /// The products that give no entitlement by name, consumables left out, each once for an app, in
  /// the order of bundle id and product id.
  ///
  /// One of the same subscription group as a product that gives an entitlement probably gives the
  /// same; else one whose id begins with the same word.
  public func unmapped(_ sold: some Sequence<SoldProduct>) -> [Unmapped] {
    let sold = sold.filter { $0.type != ProductType.consumable }
    var found: [[String]: Unmapped] = [:]
    for product in sold where names(of: product).isEmpty {
      let others = sold.filter { $0.bundleId == product.bundleId && !names(of: $0).isEmpty }
      let group = others.filter {
        product.subscriptionGroupId != nil
          && $0.subscriptionGroupId == product.subscriptionGroupId
      }
      let likely = group.isEmpty ? others.filter { $0.stem == product.stem } : group
      found[[product.bundleId, product.productId]] = Unmapped(
        product: product, suggestion: likely.flatMap(names).min())
    }
    return found.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }

  private func names(of product: SoldProduct) -> [String] {
    names(in: [product.bundleId]).filter { name in
      entitlement(name, in: product.bundleId)?.isGiven(by: product.productId) ?? false
    }
  }
}

extension SoldProduct {
  fileprivate var stem: Substring { productId.prefix { $0 != "." } }
}
