import Platform

/// What the owner calls an entitlement, such as `pro`: the products that give it to a customer.
public struct NamedEntitlement: Sendable, Equatable {
  /// Product ids. One that ends with `*` stands for every id that begins with the rest of it.
  public var products: [String]
  /// For how long access goes on after the end of a paid period that was to renew, while no word
  /// from Apple has come; milliseconds, 0 for none.
  public var accessLeeway: Int64

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

extension [String: NamedEntitlement] {
  /// The names that a product gives, sorted.
  public func names(givenBy productId: String) -> [String] {
    filter { $0.value.isGiven(by: productId) }.keys.sorted(by: ByteSearch.precedes)
  }
}
