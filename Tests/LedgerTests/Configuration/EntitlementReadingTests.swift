import AppStore
import Entitlements
import Foundation
import Ledger
import Platform
import Testing

/// The key `entitlements`: what each form means, and every mistake is named.
@Suite struct EntitlementReadingTests {
  private func load(_ text: String) throws -> Configuration {
    let file = FileManager.default.temporaryDirectory.appending(path: "subledger-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(text.utf8).write(to: file)
    return try Configuration.load(file: file.path, variables: [:], listen: nil, data: nil)
  }

  @Test func `entitlements of all apps and of one are read`() throws {
    let catalog = try load(
      """
      { "entitlements": { "pro": ["pro.monthly", "pro.yearly"], "// why": "a comment",
          "remove_ads": { "products": ["lifetime", "pro.*"], "accessLeeway": "PT6H" } },
        "apps": [ { "bundleId": "com.one", "environments": ["Sandbox"], "entitlements": {
          "pro": { "products": ["one.pro"], "accessLeeway": "P1D" }, "one": ["one.*"] } } ] }
      """
    ).entitlements
    let hour: Int64 = 3_600_000
    #expect(catalog.names(in: ["com.one"]) == ["one", "pro", "remove_ads"])
    #expect(catalog.names(in: ["com.two"]) == ["pro", "remove_ads"])
    let pro = NamedEntitlement(products: ["pro.monthly", "pro.yearly"])
    #expect(catalog.entitlement("pro", in: "com.two") == pro)
    let own = NamedEntitlement(products: ["one.pro"], accessLeeway: 24 * hour)
    #expect(catalog.entitlement("pro", in: "com.one") == own)
    let ads = NamedEntitlement(products: ["lifetime", "pro.*"], accessLeeway: 6 * hour)
    #expect(catalog.entitlement("remove_ads", in: "com.one") == ads)
    #expect(try load("{}").entitlements.isEmpty)
  }

  @Test func `a limit of losses is Production's unless it names environments`() throws {
    for (text, limits) in [
      ("{}", [.production: 5]), ("{\"entitlementLossLimit\":7}", [.production: 7]),
      ("{\"entitlementLossLimit\":null}", [:]),
      (
        "{\"entitlementLossLimit\":{\"Sandbox\":0,\"Production\":100}}",
        [.sandbox: 0, .production: 100]
      ), ("{\"entitlementLossLimit\":{\"Sandbox\":1,\"Production\":null}}", [.sandbox: 1]),
    ] as [(String, [AppStore.Environment: Int64])] {
      #expect(try load(text).entitlementLossLimits == limits, "\(text)")
    }
    for wrong in ["-1", "101", "\"5\"", "[5]", "{\"Xcode\":5}", "{\"Sandbox\":1.5}"] {
      let refusal = try #require(throws: LedgerError.self) {
        try load("{\"entitlementLossLimit\":\(wrong)}")
      }
      #expect(refusal.message.contains("entitlementLossLimit"), "\(wrong) \(refusal)")
    }
  }

  @Test(arguments: [
    ("[]", "entitlements is not an object"), ("{\"\":[\"a\"]}", "a name that cannot be used"),
    ("{\"a b\":[\"a\"]}", "a name that cannot be used"),
    ("{\"\(String(repeating: "a", count: 65))\":[\"a\"]}", "a name that cannot be used"),
    ("{\"pro\":\"a\"}", "is not an object"), ("{\"pro\":[]}", "entitlements.pro is empty"),
    ("{\"pro\":[1]}", "a product in it"), ("{\"pro\":[\"*\"]}", "a product in it"),
    ("{\"pro\":[\"a*b\"]}", "a product in it"), ("{\"pro\":[\"\"]}", "a product in it"),
    ("{\"pro\":{}}", "entitlements.pro.products is missing"),
    ("{\"pro\":{\"product\":[\"a\"]}}", "unknown key \"entitlements.pro.product\""),
    ("{\"pro\":{\"products\":[\"a\"],\"accessLeeway\":\"P8D\"}}", "accessLeeway is no duration"),
    ("{\"pro\":{\"products\":[\"a\"],\"accessLeeway\":\"6h\"}}", "accessLeeway is no duration"),
    ("{\"pro\":{\"products\":[\"a\"],\"accessLeeway\":\"PT0H\"}}", "accessLeeway is no duration"),
  ])
  func `a mistake is named`(_ text: String, _ problem: String) throws {
    for (file, place) in [
      ("{\"entitlements\":\(text)}", ".json: "),
      (
        "{\"apps\":[{\"bundleId\":\"a\",\"environments\":[\"Sandbox\"],\"entitlements\":\(text)}]}",
        "apps[0]: "
      ),
    ] {
      let refusal = try #require(throws: LedgerError.self) { try load(file) }
      #expect(refusal.message.contains(problem) && refusal.message.contains(place), "\(refusal)")
      #expect(refusal.next?.isEmpty == false)
    }
  }
}
