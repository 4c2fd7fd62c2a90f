import AppStore
import Entitlements
import Testing

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

  @Test func `a product of the same group is suggested, then one of the same first word`() {
    let mapped = [product("pro.monthly", group: "1"), product("lifetime", type: "Non-Consumable")]
    #expect(unmapped(mapped) == [])
    #expect(unmapped(mapped + [product("gold", group: "1")]) == ["com.one gold → pro"])
    #expect(unmapped(mapped + [product("pro.yearly", group: "2")]) == ["com.one pro.yearly → pro"])
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
}
