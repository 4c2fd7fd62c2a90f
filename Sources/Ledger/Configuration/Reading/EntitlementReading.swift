import AppStore
import Entitlements
import Platform
import StrictJSON

/// Reads the key `entitlements`, which may stand at the top and at an app.
extension ConfigurationReader {
  private static let maximumNameLength = 64
  /// Longer than any outage that is not noticed, and far shorter than a billing period.
  private static let maximumLeeway: Int64 = 7 * 86_400_000

  /// Adds the entitlements of an object to a catalog.
  ///
  /// - Parameter bundleId: the app at which they stand; nil at the top.
  func entitlements(
    _ parent: JSONElement, for bundleId: String?, into catalog: inout EntitlementCatalog
  ) throws(LedgerError) {
    guard let object = parent["entitlements"] else { return }
    guard object.kind == .object else {
      throw invalid(
        "entitlements is not an object", "write { \"pro\": [\"pro.monthly\", \"pro.yearly\"] }")
    }
    for (name, member) in object.members where !name.hasPrefix("//") {
      guard Self.isName(name) else {
        throw invalid(
          "entitlements has a name that cannot be used",
          "write 1 to \(Self.maximumNameLength) of the characters A-Z, a-z, 0-9, _, - and dots")
      }
      catalog.add(name, try entitlement(name, member), for: bundleId)
    }
  }

  func lossLimit(_ root: JSONElement, into limit: inout Int64?) throws(LedgerError) {
    guard let member = root["entitlementLossLimit"] else { return }
    let value = member.integer
    guard member.kind == .null || value.map({ (0...100).contains($0) }) ?? false else {
      throw invalid(
        "entitlementLossLimit is no whole number from 0 to 100 and not null",
        "write the per cent of customers who may lose an entitlement: 5, or null for no limit")
    }
    limit = value
  }

  private func entitlement(
    _ name: String, _ member: JSONElement
  ) throws(LedgerError) -> NamedEntitlement {
    let path = "entitlements.\(name)"
    if member.kind == .array { return NamedEntitlement(products: try products(member, path)) }
    guard member.kind == .object else {
      throw invalid(
        "\(path) is not an object and no list",
        "write [\"pro.monthly\"], or { \"products\": [ … ] }")
    }
    try requireKnownKeys(member, .entitlement, prefix: path + ".")
    guard let list = member["products"], list.kind == .array else {
      throw invalid("\(path).products is missing or not a list", "write [\"pro.monthly\"]")
    }
    var leeway: Int64 = 0
    if let text = try text(member, "accessLeeway") {
      guard let length = Self.hours(text) ?? Self.milliseconds(text), length <= Self.maximumLeeway
      else {
        throw invalid(
          "\(path).accessLeeway is no duration of at most seven days",
          "write hours or days: \"PT6H\", \"P1D\"")
      }
      leeway = length
    }
    return NamedEntitlement(products: try products(list, path), accessLeeway: leeway)
  }

  private func products(
    _ list: JSONElement, _ path: String
  ) throws(LedgerError) -> [String] {
    let products = list.elements.map { $0.string ?? "" }
    guard !products.isEmpty, products.allSatisfy(Self.isProduct) else {
      throw invalid(
        "\(path) is empty, or a product in it cannot be used",
        "write product ids; * is allowed as the last character, after at least one other")
    }
    return products
  }

  private static func isName(_ name: String) -> Bool {
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

  private static func isProduct(_ text: String) -> Bool {
    let stem = text.utf8.last == UInt8(ascii: "*") ? text.utf8.dropLast() : text.utf8[...]
    return !stem.isEmpty && stem.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "*") }
  }
}
