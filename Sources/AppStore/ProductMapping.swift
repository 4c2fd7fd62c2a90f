import Platform
public import StrictJSON

/// How long a purchase of a non-renewing product lasts, as the owner says it.
public struct ProductDuration: Sendable, Equatable {
  public var milliseconds: Int64
  /// Whether a product that is bought again while it lasts goes on from the end of what is there,
  /// for the names that it gives; else each purchase lasts from its own date.
  public var addsUp: Bool

  public init(milliseconds: Int64, addsUp: Bool = false) {
    self.milliseconds = milliseconds
    self.addsUp = addsUp
  }

  /// The longest one, a hundred years of 365 days and some; the shortest is a day.
  public static let range: ClosedRange<Int64> = 86_400_000...(36_500 * 7 * 86_400_000)
}

/// What the owner says of the products of an app: which names they give, and how long those last
/// that Apple gives no end.
public struct ProductMapping: Sendable, Equatable {
  public var names: [String: NamedEntitlement]
  /// By product id. Nil: nothing was said of durations; what was said before stays.
  public var durations: [String: ProductDuration]?

  public init(
    _ names: [String: NamedEntitlement] = [:], durations: [String: ProductDuration]? = nil
  ) {
    self.names = names
    self.durations = durations
  }

  // MARK: The body

  /// The members of a statement that say it. Without durations they are those of a program that
  /// knew none.
  public var members: [(String, JSONValue)] {
    var members = [("entitlements", Self.json(names))]
    if let durations { members.append(("durations", Self.json(durations))) }
    return members
  }

  /// The same as what was replaced, for answers: `before`, and `durations_before`.
  public static func members(before mapping: ProductMapping?) -> [(String, JSONValue)] {
    guard let mapping else { return [("before", .null)] }
    return mapping.members.map { ($0.0 == "entitlements" ? "before" : "durations_before", $0.1) }
  }

  /// Reads such members; nil for another form, and for what could not be configured.
  public init?(_ root: JSONElement) {
    guard let names = root["entitlements"].flatMap(Self.names) else { return nil }
    self.init(names)
    guard let member = root["durations"] else { return }
    guard let durations = Self.durations(member) else { return nil }
    self.durations = durations
  }

  private static func json(_ names: [String: NamedEntitlement]) -> JSONValue {
    .object(
      names.sorted { ByteSearch.precedes($0.key, $1.key) }.map { name, entitlement in
        let products = entitlement.products.map(JSONValue.string)
        return (
          name,
          .object([
            ("access_leeway_ms", .integer(entitlement.accessLeeway)),
            ("products", .array(products)),
          ])
        )
      })
  }

  private static func names(_ object: JSONElement) -> [String: NamedEntitlement]? {
    guard object.kind == .object else { return nil }
    var names: [String: NamedEntitlement] = [:]
    for (name, member) in object.members {
      guard let leeway = member["access_leeway_ms"]?.integer,
        let products = member["products"]?.elements.map(\.string), !products.contains(nil)
      else { return nil }
      let entitlement = NamedEntitlement(
        products: products.compactMap { $0 }, accessLeeway: leeway)
      guard NamedEntitlement.isName(name), entitlement.hasProducts, entitlement.hasLeeway else {
        return nil
      }
      names[name] = entitlement
    }
    return names
  }

  private static func json(_ durations: [String: ProductDuration]) -> JSONValue {
    .object(
      durations.sorted { ByteSearch.precedes($0.key, $1.key) }.map { product, duration in
        let again = duration.addsUp ? [("again", JSONValue.string("adds"))] : []
        return (product, .object(again + [("lasts_ms", .integer(duration.milliseconds))]))
      })
  }

  private static func durations(_ object: JSONElement) -> [String: ProductDuration]? {
    guard object.kind == .object else { return nil }
    var durations: [String: ProductDuration] = [:]
    for (product, member) in object.members {
      guard let milliseconds = member["lasts_ms"]?.integer,
        ProductDuration.range.contains(milliseconds)
      else { return nil }
      let again = member["again"]?.string
      guard again == nil || again == "adds" else { return nil }
      durations[product] = ProductDuration(milliseconds: milliseconds, addsUp: again != nil)
    }
    return durations
  }
}
