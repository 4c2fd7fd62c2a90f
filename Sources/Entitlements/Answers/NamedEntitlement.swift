import Platform

/// What the owner calls an entitlement, such as `pro`: the products that give it to a customer.
public struct NamedEntitlement: Sendable, Equatable {
  /// Product ids. One that ends with `*` stands for every id that begins with the rest of it.
  public var products: [String]
  /// For how long access goes on after the end of a paid period that was to renew, while no word
  /// from Apple has come; milliseconds, 0 for none.
  var accessLeeway: Int64

  public init(products: [String], accessLeeway: Int64 = 0) {
    self.products = products
    self.accessLeeway = accessLeeway
  }

  /// Whether a product gives the entitlement. Compares bytes.
  public func isGiven(by productId: String) -> Bool {
    products.contains { product in
      product.utf8.last == UInt8(ascii: "*")
        ? productId.utf8.starts(with: product.utf8.dropLast())
        : ByteSearch.areEqual(product, productId)
    }
  }
}

/// The configured entitlements: those of all apps, and those of one app. For that app its own win
/// over others of the same name.
public struct EntitlementCatalog: Sendable, Equatable {
  private var shared: [String: NamedEntitlement] = [:]
  /// Sorted.
  private var sharedNames: [String] = []
  /// By bundle id, then by name.
  private var own: [String: [String: NamedEntitlement]] = [:]
  /// The longest leeway of all, milliseconds. One that another replaced counts too.
  public private(set) var longestLeeway: Int64 = 0

  public init() {}

  /// Whether no entitlement is configured.
  public var isEmpty: Bool { shared.isEmpty && own.isEmpty }

  /// Adds an entitlement.
  ///
  /// - Parameter bundleId: the app that it is for; nil for all apps.
  public mutating func add(_ name: String, _ entitlement: NamedEntitlement, for bundleId: String?) {
    longestLeeway = max(longestLeeway, entitlement.accessLeeway)
    if let bundleId {
      own[bundleId, default: [:]][name] = entitlement
    } else {
      shared[name] = entitlement
      sharedNames = Self.sorted(shared.keys)
    }
  }

  /// What a name means in an app; nil if nothing.
  public func entitlement(_ name: String, in bundleId: String) -> NamedEntitlement? {
    own[bundleId]?[name] ?? shared[name]
  }

  /// The names that mean something in at least one of these apps, and those of all apps, sorted.
  public func names(in bundleIds: some Sequence<String>) -> [String] {
    guard !own.isEmpty else { return sharedNames }
    var names = Set(sharedNames)
    for bundleId in bundleIds { names.formUnion((own[bundleId] ?? [:]).keys) }
    return Self.sorted(names)
  }

  private static func sorted(_ names: some Sequence<String>) -> [String] {
    names.sorted(by: ByteSearch.precedes)
  }
}
