import AppStore
import Platform
import Testing

@testable import Entitlements

/// Products that were sold and give no entitlement by name.
@Suite struct UnmappedProductTests {
  private func product(
    _ id: String, of bundleId: String = "com.one", type: String? = "Auto-Renewable Subscription",
    group: String? = nil, environment: Environment = .production
  ) -> SoldProduct {
    SoldProduct(
      environment: environment, bundleId: bundleId, productId: id, type: type,
      subscriptionGroupId: group)
  }

  private func unmapped(_ sold: [SoldProduct]) -> [String] {
    var catalog = EntitlementCatalog()
    catalog.add("pro", NamedEntitlement(products: ["pro.monthly"]), for: nil)
    catalog.add("ads", NamedEntitlement(products: ["lifetime"]), for: "com.one")
    return catalog.unmapped(sold).map {
      "\($0.product.bundleId) \($0.product.productId) → \($0.suggestion ?? "–")"
    }
  }

  @Test func `what others of its group give is suggested, where that is one entitlement`() {
    let mapped = [product("pro.monthly", group: "1"), product("lifetime", type: "Non-Consumable")]
    #expect(unmapped(mapped) == [])
    #expect(unmapped(mapped + [product("gold", group: "1")]) == ["com.one gold → pro"])
    #expect(unmapped(mapped + [product("pro.yearly", group: "2")]) == ["com.one pro.yearly → –"])
    let two = [product("pro.monthly", group: "1"), product("lifetime", group: "1")]
    #expect(unmapped(two + [product("gold", group: "1")]) == ["com.one gold → –"])
    #expect(unmapped(mapped + [product("gold", group: "2")]) == ["com.one gold → –"])
    #expect(unmapped(mapped + [product("gold")]) == ["com.one gold → –"])
    #expect(unmapped(mapped + [product("pro.coins", type: "Consumable")]) == [])
  }

  @Test func `each app has its own products, and both environments name one once`() {
    let sold = [
      product("gold", environment: .sandbox), product("gold"), product("lifetime", of: "com.two"),
      product("pro.monthly", of: "com.two"),
    ]
    #expect(unmapped(sold) == ["com.one gold → –", "com.two lifetime → –"])
  }

  /// A mapping of this many products, each of which gives the same entitlement.
  private func catalog(_ count: Int, id: (Int) -> String) -> EntitlementCatalog {
    var catalog = EntitlementCatalog()
    catalog.add("pro", NamedEntitlement(products: (0..<count).map(id)), for: nil)
    return catalog
  }

  @Test func `thousands of products that are mapped to nothing are counted in a moment`() {
    let catalog = catalog(1_000) { "mapped.\($0)" }
    let mapped = (0..<1_000).map { product("mapped.\($0)", group: "\($0 % 100)") }
    let others = (0..<4_000).map { product("other.\($0)", group: "\($0 % 200)") }
    let start = Clock.monotonicNanoseconds()
    #expect(catalog.unmappedCount(mapped + others) == 4_000)
    let found = catalog.unmapped(mapped + others)
    #expect(found.count == 4_000 && found.count { $0.suggestion != nil } == 2_000)
    // Every pair of them would take minutes.
    #expect(Clock.monotonicNanoseconds() - start < 10_000_000_000)
    #expect(catalog.unmappedCount(mapped) == 0)
  }

  @Test func `the count is that of the list, in every app and environment`() {
    var catalog = catalog(2) { "pro.\($0)*" }
    catalog.add("own", NamedEntitlement(products: ["gold"]), for: "com.two")
    let ids = ["pro.1.monthly", "pro.2.monthly", "gold", "silver"]
    let sold = ids.flatMap { id in
      ["com.one", "com.two"].flatMap { app in
        [Environment.sandbox, .production].map { product(id, of: app, environment: $0) }
      }
    }
    let found = catalog.unmapped(sold).map { "\($0.product.bundleId) \($0.product.productId)" }
    #expect(
      found == [
        "com.one gold", "com.one pro.2.monthly", "com.one silver", "com.two pro.2.monthly",
        "com.two silver",
      ])
    #expect(catalog.unmappedCount(sold) == found.count)
  }

  @Test func `what is in force counts, in its environment, in place of what is configured`() {
    let configured = catalog(1) { _ in "gold" }
    let sold = [Environment.production, .sandbox].flatMap { environment in
      ["gold", "silver"].map { product($0, environment: environment) }
    }
    func found(_ inForce: [Environment: String]) -> [String] {
      let mappings = inForce.map { environment, product in
        (
          StreamKey(
            environment: environment, bundleId: "com.one", originalTransactionId: ""),
          ProductMapping(["pro": NamedEntitlement(products: [product])])
        )
      }
      let inForce = Dictionary(mappings) { $1 }
      let found = configured.unmapped(sold, inForce: inForce).map(\.product.productId)
      #expect(configured.unmappedCount(sold, inForce: inForce) == found.count)
      return found
    }
    #expect(found([:]) == ["silver"])
    #expect(found([.production: "silver", .sandbox: "silver"]) == ["gold"])
    #expect(found([.sandbox: "silver"]) == ["gold", "silver"])
    #expect(found([.sandbox: "*"]) == ["silver"])
  }

  @Test func `spellings are compared for the first products, and groups for all`() {
    let catalog = catalog(1_000) { "product.\($0).monthly" }
    let bought = product("product.0.monthly", group: "1")
    let wrong = (0..<500).map { product("prodct.\($0 + 1).monthly", group: "1") }
    let found = catalog.unmapped([bought] + wrong)
    #expect(found.count == 500 && found.allSatisfy { $0.suggestion != nil })
    let misspelt = found.count { $0.misspelt != nil }
    #expect((1..<500).contains(misspelt), "\(misspelt)")
  }
}
