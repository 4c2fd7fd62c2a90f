import AppStore
import Entitlements
import Testing

/// Which products give an entitlement by name, and which entitlements an app has.
@Suite struct NamedEntitlementTests {
  @Test func `a product gives an entitlement by its whole id or by the beginning before a star`() {
    let entitlement = NamedEntitlement(products: ["pro.monthly", "caf\u{E9}", "all.*"])
    for product in ["pro.monthly", "caf\u{E9}", "all.", "all.monthly"] {
      #expect(entitlement.isGiven(by: product), "\(product)")
    }
    for product in ["pro.monthly.2", "pro", "PRO.MONTHLY", "cafe\u{301}", "all", "", "al", "*"] {
      #expect(!entitlement.isGiven(by: product), "\(product)")
    }
  }

  @Test func `an app's entitlement wins over that of all apps with the same name`() {
    var catalog = EntitlementCatalog()
    #expect(catalog.isEmpty && catalog.longestLeeway == 0)
    catalog.add("pro", NamedEntitlement(products: ["a"], accessLeeway: 1), for: nil)
    catalog.add("pro", NamedEntitlement(products: ["b"], accessLeeway: 2), for: "com.one")
    catalog.add("extra", NamedEntitlement(products: ["c"]), for: "com.two")
    #expect(catalog.entitlement("pro", in: "com.one")?.products == ["b"])
    #expect(catalog.entitlement("pro", in: "com.two")?.products == ["a"])
    #expect(catalog.entitlement("extra", in: "com.one") == nil)
    #expect(catalog.names(in: []) == ["pro"] && catalog.names(in: ["com.one"]) == ["pro"])
    #expect(catalog.names(in: ["com.one", "com.two"]) == ["extra", "pro"])
    #expect(catalog.longestLeeway == 2 && !catalog.isEmpty)
  }
}
