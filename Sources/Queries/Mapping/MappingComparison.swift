public import AppStore
public import Entitlements
import Ledger
public import Platform
import Store
public import StrictJSON

/// Who would lose and who would gain which entitlement if another mapping of products counted.
///
/// A customer is a `CustomerKey`.
public struct MappingComparison: Sendable {
  /// An entitlement of an app in one environment, with the product that gives it; nil where it was
  /// granted.
  public struct Group: Hashable, Sendable {
    public let app: StreamKey
    public let name: String
    public let productId: String?
  }

  /// One customer's entitlement that one of the two mappings gives and the other does not.
  public struct Difference: Sendable {
    public let customer: CustomerKey
    public let group: Group
    public let isLoss: Bool
    let expiresAt: Int64?
  }

  /// Customers who have an entitlement by the mapping in force; `productId` is nil.
  public private(set) var having: [Group: Int] = [:]
  public private(set) var lost: [Group: Int] = [:]
  public private(set) var gained: [Group: Int] = [:]

  public var losing: Int { lost.values.reduce(0, +) }
  public var gaining: Int { gained.values.reduce(0, +) }

  /// Fewer customers than these may always lose an entitlement.
  public static let minimumLoss = 20

  /// An entitlement that more customers would lose than is allowed; `group.productId` is nil.
  public typealias Loss = (group: Group, lost: Int, having: Int, limit: Int64)

  /// The entitlements that more customers would lose than is allowed.
  ///
  /// - Parameters:
  ///   - limits: per cent of those who have it, by environment; one without has no limit.
  ///   - minimum: how many must lose it.
  public func losses(
    over limits: [Environment: Int64], from minimum: Int = minimumLoss
  ) -> [Loss] {
    var losses: [Group: Int] = [:]
    for (group, count) in lost {
      losses[Group(app: group.app, name: group.name, productId: nil), default: 0] += count
    }
    return losses.compactMap { group, count in
      guard let limit = limits[group.app.environment] else { return nil }
      let having = having[group] ?? 0
      let isOver = count >= minimum && Int64(count) * 100 > Int64(having) * limit
      return isOver ? (group, count, having, limit) : nil
    }.sorted { ($0.group.app, $0.group.name) < ($1.group.app, $1.group.name) }
  }

  /// How many customers lose and gain names of an app.
  ///
  /// - Parameter names: those that count; nil: all.
  func counts(of app: StreamKey, _ names: Set<String>?) -> (lost: Int, gained: Int) {
    func sum(_ groups: [Group: Int]) -> Int {
      groups.reduce(0) {
        $0 + ($1.key.app == app && names?.contains($1.key.name) ?? true ? $1.value : 0)
      }
    }
    return (sum(lost), sum(gained))
  }

  /// Stands for the name of a product that gives none: no name has a space.
  static func name(ofUnnamed product: String) -> String { "product \(product)" }

  fileprivate mutating func count(
    _ name: String, of app: StreamKey, _ productId: String?, from before: Bool, to after: Bool
  ) -> (group: Group, isLoss: Bool)? {
    if before { having[Group(app: app, name: name, productId: nil), default: 0] += 1 }
    guard before != after else { return nil }
    let group = Group(app: app, name: name, productId: productId)
    if before { lost[group, default: 0] += 1 } else { gained[group, default: 0] += 1 }
    return (group, before)
  }
}

extension LedgerReader {
  /// Compares what counts now with other mappings, of all customers of their apps.
  ///
  /// - Parameters:
  ///   - mappings: the others, by app; keys have no original transaction id.
  ///   - configured: what counts for an app of which no mapping was ever journaled.
  ///   - shouldContinue: asked after each row; false stops.
  ///   - each: receives every difference, of one app after the other.
  /// - Returns: nil if it was stopped.
  /// - Throws: `LedgerError.notReady` while no projection can be read; what SQLite reports, and
  ///   what `each` throws.
  public func compare(
    _ mappings: [StreamKey: EntitlementCatalog.Mapping], configured: EntitlementCatalog,
    at now: Int64, while shouldContinue: () -> Bool = { true },
    _ each: (MappingComparison.Difference) throws(LedgerError) -> Void = { _ in }
  ) throws(LedgerError) -> MappingComparison? {
    var comparison = MappingComparison()
    var durations = durations
    // What is configured in a file may not be what rows are evaluated by.
    for (app, evaluated) in try evaluatedDurations() ?? [:] {
      durations.setUnsaid(Durations(milliseconds: evaluated), of: app)
    }
    for (app, mapping) in mappings.sorted(by: { $0.key < $1.key }) {
      var before = configured
      try setInForce(&before, app.environment, nil)
      var after = before
      after.setInForce(mapping, for: app.bundleId)
      var later = durations
      later.say(mapping, of: app, at: now)
      let unnamed = Self.unnamed(in: later[app], durations[app], [before, after], app)
      let names = Set(before.names(in: [app.bundleId]) + after.names(in: [app.bundleId])).sorted()
      let isWhole = try forEachStanding(of: app, after, now, while: shouldContinue) {
        (customer, standing) throws(LedgerError) in
        let (standingThen, standingNow) = (standing.with(durations), standing.with(later))
        for name in names {
          try limit?.check()
          let (then, now) = (
            standingThen.answer(name, before).access, standingNow.answer(name, after).access
          )
          let found = comparison.count(
            name, of: app, (then ?? now)?.productId, from: then != nil, to: now != nil)
          guard let found else { continue }
          try each(
            MappingComparison.Difference(
              customer: customer, group: found.group, isLoss: found.isLoss,
              expiresAt: (then ?? now)?.expiresAt))
        }
        for stream in unnamed.isEmpty ? [] : standing.streams {
          guard let then = stream.lasting(at: now, durations: durations[app]),
            unnamed.contains(then.product),
            let after = stream.lasting(at: now, durations: later[app]),
            let found = comparison.count(
              MappingComparison.name(ofUnnamed: then.product), of: app, then.product,
              from: then.access, to: after.access)
          else { continue }
          try each(
            MappingComparison.Difference(
              customer: customer, group: found.group, isLoss: found.isLoss, expiresAt: nil))
        }
      }
      guard isWhole else { return nil }
    }
    return comparison
  }

  /// Whether anything was bought in an app; also if that cannot be read now.
  func hasRows(of app: StreamKey) throws(LedgerError) -> Bool {
    guard let opened = readable() else { return true }
    let found = rows { () throws(LedgerError) in
      try opened.reader.originalTransactionIds(of: app, after: "", limit: 1)
    }
    return found?.isEmpty != true
  }

  /// The products that last otherwise than before and give no name, so that only their rows have an
  /// end.
  private static func unnamed(
    in later: Durations, _ before: Durations, _ catalogs: [EntitlementCatalog], _ app: StreamKey
  ) -> Set<String> {
    Set(later.products.keys).filter { product in
      later.products[product] != before.products[product]
        && catalogs.allSatisfy {
          $0.mapping(of: app.bundleId).names.names(givenBy: product).isEmpty
        }
    }
  }

  /// Calls `body` with what every customer of an app has, each once.
  ///
  /// - Parameter catalog: whose leeways count.
  /// - Returns: false if it was stopped.
  private func forEachStanding(
    of app: StreamKey, _ catalog: EntitlementCatalog, _ now: Int64,
    while shouldContinue: () -> Bool,
    _ body: (CustomerKey, Standing) throws(LedgerError) -> Void
  ) throws(LedgerError) -> Bool {
    let question = Question(now: now)
    var last = ""
    while true {
      let ids = try projection().originalTransactionIds(
        of: app, after: last, limit: Self.batchSize)
      guard let end = ids.last else { break }
      last = end
      for key in ids.map(app.stream) {
        guard shouldContinue() else { return false }
        for customer in try owners(of: key, at: now) {
          let found = try standing(customer, of: app, catalog, question)
          // A customer with several purchases is met at each of them.
          if found.first == key { try body(customer, found) }
        }
      }
    }
    for customer in try journal.grantedCustomers(app.environment, app.bundleId) {
      guard shouldContinue() else { return false }
      let found = try standing(CustomerKey(customer), of: app, catalog, question)
      if found.first == nil { try body(CustomerKey(customer), found) }
    }
    return true
  }

  private static let batchSize = 500
}

extension MappingComparison.Difference {
  /// Names of the columns of `csv`.
  public static let columns =
    "environment,bundle_id,customer_by,customer,name,change,product_id,"
    + "expires_at"

  /// One line (RFC 4180) without its line end. Times are milliseconds since 1970.
  public var csv: String {
    CSV.line([
      group.app.environment.rawValue, group.app.bundleId, by, id, group.name, change,
      group.productId, expiresAt.map(String.init),
    ])
  }

  public var json: JSONValue {
    .object([
      ("object", .string("difference")),
      ("environment", .string(group.app.environment.rawValue)),
      ("bundle_id", .string(group.app.bundleId)), ("customer_by", .string(by)),
      ("customer", .string(id)), ("name", .string(group.name)), ("change", .string(change)),
      ("product_id", .optional(group.productId)), ("expires_at", .optional(expiresAt)),
    ])
  }

  private var by: String { customer.kind.rawValue }
  private var id: String { customer.id }
  private var change: String { isLoss ? "lost" : "gained" }
}

extension MappingComparison {
  /// The counts: those who lose and gain, and by app, name and product.
  public var json: JSONValue {
    .object([
      ("object", .string("mapping_comparison")), ("losing", .integer(Int64(losing))),
      ("gaining", .integer(Int64(gaining))),
      ("lost", .array(Self.sorted(lost).map(Self.json))),
      ("gained", .array(Self.sorted(gained).map(Self.json))),
    ])
  }

  /// Groups by app and name, those with most customers first.
  public static func sorted(_ groups: [Group: Int]) -> [(key: Group, value: Int)] {
    groups.sorted {
      ($0.key.app, $0.key.name, -$0.value, $0.key.productId ?? "")
        < ($1.key.app, $1.key.name, -$1.value, $1.key.productId ?? "")
    }
  }

  private static func json(_ group: Group, _ count: Int) -> JSONValue {
    .object([
      ("environment", .string(group.app.environment.rawValue)),
      ("bundle_id", .string(group.app.bundleId)), ("name", .string(group.name)),
      ("product_id", .optional(group.productId)), ("customers", .integer(Int64(count))),
    ])
  }
}
