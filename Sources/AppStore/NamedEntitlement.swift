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

  // MARK: What may be configured, and said

  /// The longest name, in bytes.
  public static let maximumNameLength = 64
  /// The longest leeway, in milliseconds: longer than any outage that is not noticed, and far
  /// shorter than a billing period.
  public static let maximumLeeway: Int64 = 7 * 86_400_000

  /// Whether a text may name an entitlement.
  public static func isName(_ name: String) -> Bool {
    (1...maximumNameLength).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "_-.".utf8.contains(byte)
        }
      }
  }

  /// Whether there is a product, and each is one: `*` alone would be every product.
  public var hasProducts: Bool { !products.isEmpty && products.allSatisfy(Self.isProduct) }

  /// Whether the leeway is none, or at most the longest one.
  public var hasLeeway: Bool { (0...Self.maximumLeeway).contains(accessLeeway) }

  private static func isProduct(_ text: String) -> Bool {
    let stem = text.utf8.last == UInt8(ascii: "*") ? text.utf8.dropLast() : text.utf8[...]
    return !stem.isEmpty && stem.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "*") }
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
