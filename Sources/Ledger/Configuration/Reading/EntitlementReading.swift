import AppStore
import Entitlements
import Platform
import StrictJSON

/// Reads the key `entitlements`, which may stand at the top and at an app.
extension ConfigurationReader {
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
      guard NamedEntitlement.isName(name) else {
        throw invalid(
          "entitlements has a name that cannot be used",
          "write 1 to \(NamedEntitlement.maximumNameLength) of the characters A-Z, a-z, 0-9, _, - "
            + "and dots")
      }
      catalog.add(name, try entitlement(name, member), for: bundleId)
    }
  }

  /// Reads the key `entitlementLossLimit`: a number is the limit of Production alone.
  func lossLimits(
    _ root: JSONElement, into limits: inout [Environment: Int64]
  ) throws(LedgerError) {
    guard let member = root["entitlementLossLimit"] else { return }
    let given =
      member.kind == .object
      ? member.members : [(name: Environment.production.rawValue, value: member)]
    limits = [:]
    for (name, member) in given where member.kind != .null && !name.hasPrefix("//") {
      guard let environment = Environment.named(name), let limit = member.integer,
        (0...100).contains(limit)
      else {
        throw invalid(
          "entitlementLossLimit is no whole number from 0 to 100, not null, and no object of such "
            + "by environment",
          "write the per cent of customers who may lose an entitlement in Production: 5, or null "
            + "for no limit; { \"Production\": 5, \"Sandbox\": 20 } limits both")
      }
      limits[environment] = limit
    }
  }

  private func entitlement(
    _ name: String, _ member: JSONElement
  ) throws(LedgerError) -> NamedEntitlement {
    let path = "entitlements.\(name)"
    if member.kind == .array { return try given(by: member, path) }
    guard member.kind == .object else {
      throw invalid(
        "\(path) is not an object and no list",
        "write [\"pro.monthly\"], or { \"products\": [ … ] }")
    }
    try requireKnownKeys(member, .entitlement, prefix: path + ".")
    guard let list = member["products"], list.kind == .array else {
      throw invalid("\(path).products is missing or not a list", "write [\"pro.monthly\"]")
    }
    var entitlement = try given(by: list, path)
    if let text = try text(member, "accessLeeway") {
      entitlement.accessLeeway = Self.hours(text) ?? Self.milliseconds(text) ?? -1
      guard entitlement.hasLeeway else {
        throw invalid(
          "\(path).accessLeeway is no duration of at most seven days",
          "write hours or days: \"PT6H\", \"P1D\"")
      }
    }
    return entitlement
  }

  private func given(
    by products: JSONElement, _ path: String
  ) throws(LedgerError) -> NamedEntitlement {
    let entitlement = NamedEntitlement(products: products.elements.map { $0.string ?? "" })
    guard entitlement.hasProducts else {
      throw invalid(
        "\(path) is empty, or a product in it cannot be used",
        "write product ids; * is allowed as the last character, after at least one other")
    }
    return entitlement
  }
}
