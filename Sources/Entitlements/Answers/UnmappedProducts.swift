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

  /// Spellings that one call compares at most: each takes tens of microseconds. What a mapping
  /// misses by mistake are a few products.
  static let maximumComparisons = 2_000

  /// How many products `unmapped` finds.
  public func unmappedCount(
    _ sold: some Sequence<SoldProduct>, inForce: [StreamKey: Mapping] = [:]
  ) -> Int {
    let unmapped = soldApps(sold, inForce).flatMap { app in
      app.unmapped.values.map { UnmappedKey(bundleId: $0.bundleId, productId: $0.productId) }
    }
    return Set(unmapped).count
  }

  /// The products that give no entitlement by name, consumables left out, each once for an app, in
  /// the order of bundle id and product id.
  ///
  /// What is spelt nearly as a product that nobody bought is probably meant by it. Else one of a
  /// subscription group whose other products all give one entitlement probably gives the same.
  /// Spellings are compared until `maximumComparisons` were.
  ///
  /// - Parameter inForce: the mappings that count for an app and environment instead of what is
  ///   configured; keys have no original transaction id.
  public func unmapped(
    _ sold: some Sequence<SoldProduct>, inForce: [StreamKey: Mapping] = [:]
  ) -> [Unmapped] {
    var comparisons = Self.maximumComparisons
    var known: Set<UnmappedKey> = []
    return soldApps(sold, inForce).flatMap { $0.described(&comparisons) }
      .filter {
        let product = $0.product
        return known.insert(
          UnmappedKey(bundleId: product.bundleId, productId: product.productId)
        ).inserted
      }
      .sorted {
        ($0.product.bundleId, $0.product.productId) < ($1.product.bundleId, $1.product.productId)
      }
  }

  private struct UnmappedKey: Hashable {
    let bundleId, productId: String
  }

  private func soldApps(
    _ sold: some Sequence<SoldProduct>, _ inForce: [StreamKey: Mapping]
  ) -> [SoldApp] {
    Dictionary(grouping: sold.filter { $0.type != ProductType.consumable }) {
      StreamKey(environment: $0.environment, bundleId: $0.bundleId, originalTransactionId: "")
    }
    .sorted { $0.key < $1.key }
    .map { SoldApp($1, inForce[$0] ?? mapping(of: $0.bundleId)) }
  }
}

/// The products of one app and environment that were sold. What each gives is looked up once.
private struct SoldApp {
  private let mapping: EntitlementCatalog.Mapping
  private let bought: Set<String>
  /// The first names that the products of a subscription group give.
  private var ofGroup: [String: Set<String>] = [:]
  /// By product id.
  private(set) var unmapped: [String: SoldProduct] = [:]

  init(_ sold: [SoldProduct], _ mapping: EntitlementCatalog.Mapping) {
    (self.mapping, bought) = (mapping, Set(sold.map(\.productId)))
    let names = GivenNames(mapping)
    for product in sold {
      guard let name = names.first(of: product.productId) else {
        unmapped[product.productId] = product
        continue
      }
      if let group = product.subscriptionGroupId { ofGroup[group, default: []].insert(name) }
    }
  }

  func described(_ comparisons: inout Int) -> [EntitlementCatalog.Unmapped] {
    let unknown = mapping.names.sorted { $0.key < $1.key }.map { name, entitlement in
      (name, products: entitlement.products.filter { $0.last != "*" && !bought.contains($0) })
    }.filter { !$0.products.isEmpty }
    return unmapped.sorted { $0.key < $1.key }.map { id, product in
      var misspelt: (name: String, product: String)?
      for (name, products) in unknown where misspelt == nil && products.count <= comparisons {
        comparisons -= products.count
        misspelt = Spelling.nearest(to: id, among: products).map { (name, $0) }
      }
      let names = product.subscriptionGroupId.flatMap { ofGroup[$0] } ?? []
      let likely = names.count == 1 ? names.first : nil
      return .init(
        product: product, suggestion: misspelt?.name ?? likely, misspelt: misspelt?.product)
    }
  }
}

/// The first name, by its bytes, that each product gives by a mapping.
private struct GivenNames {
  private var names: [ExactText: String] = [:]
  private var patterns: [(start: Substring.UTF8View, name: String)] = []

  init(_ mapping: EntitlementCatalog.Mapping) {
    for (name, entitlement) in mapping.names.sorted(by: { ByteSearch.precedes($0.key, $1.key) }) {
      for product in entitlement.products {
        if product.utf8.last == UInt8(ascii: "*") {
          patterns.append((product.dropLast().utf8, name))
        } else if names[ExactText(product)] == nil {
          names[ExactText(product)] = name
        }
      }
    }
  }

  func first(of productId: String) -> String? {
    let pattern = patterns.first { productId.utf8.starts(with: $0.start) }
    return [names[ExactText(productId)], pattern?.name].compactMap(\.self)
      .min(by: ByteSearch.precedes)
  }
}
