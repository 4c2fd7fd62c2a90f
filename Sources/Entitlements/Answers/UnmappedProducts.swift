public import AppStore
import Platform

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
    /// A product that the mapping gives that entitlement to, that nobody bought, and that is
    /// spelt nearly as this one; nil if there is none.
    public let misspelt: String?
  }

  /// The products that give no entitlement by name, consumables left out, each once for an app, in
  /// the order of bundle id and product id.
  ///
  /// What is spelt nearly as a product that nobody bought is probably meant by it. Else one of the
  /// same subscription group as a product that gives an entitlement probably gives the
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
      let misspelt = misspelt(product, sold)
      found[[product.bundleId, product.productId]] = Unmapped(
        product: product, suggestion: misspelt?.name ?? likely.flatMap(names).min(),
        misspelt: misspelt?.product)
    }
    return found.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }

  /// The product of the mapping that is probably meant to be another one, with its entitlement.
  private func misspelt(
    _ product: SoldProduct, _ sold: [SoldProduct]
  ) -> (name: String, product: String)? {
    let bought = Set(sold.lazy.filter { $0.bundleId == product.bundleId }.map(\.productId))
    for (name, entitlement) in mapping(of: product.bundleId).sorted(by: { $0.key < $1.key }) {
      let unknown = entitlement.products.filter { $0.last != "*" && !bought.contains($0) }
      if let nearest = Spelling.nearest(to: product.productId, among: unknown) {
        return (name, nearest)
      }
    }
    return nil
  }

  private func names(of product: SoldProduct) -> [String] {
    mapping(of: product.bundleId).names(givenBy: product.productId)
  }
}

extension SoldProduct {
  fileprivate var stem: Substring { productId.prefix { $0 != "." } }
}
