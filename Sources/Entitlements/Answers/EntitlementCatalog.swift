public import AppStore
import Platform

/// The configured entitlements: those of all apps, and those of one app. For that app its own win
/// over others of the same name. Of an app whose mapping was journaled, that one counts alone.
public struct EntitlementCatalog: Sendable, Equatable {
  public typealias Mapping = ProductMapping

  private var shared = Mapping()
  /// By bundle id.
  private var own: [String: Mapping] = [:]
  /// The mappings that were journaled, by bundle id.
  private var inForce: [String: Mapping] = [:]
  /// The longest leeway of all, milliseconds. One that another replaced counts too.
  public private(set) var longestLeeway: Int64 = 0

  public init() {}

  /// Whether no entitlement is configured.
  public var isEmpty: Bool { shared.names.isEmpty && own.values.allSatisfy(\.names.isEmpty) }

  /// The same names, without durations.
  public var withoutDurations: EntitlementCatalog {
    var catalog = self
    catalog.shared.durations = nil
    catalog.own = own.mapValues { ProductMapping($0.names) }.filter { !$0.value.names.isEmpty }
    return catalog
  }

  /// Adds an entitlement.
  ///
  /// - Parameter bundleId: the app that it is for; nil for all apps.
  public mutating func add(_ name: String, _ entitlement: NamedEntitlement, for bundleId: String?) {
    longestLeeway = max(longestLeeway, entitlement.accessLeeway)
    if let bundleId {
      own[bundleId, default: Mapping()].names[name] = entitlement
    } else {
      shared.names[name] = entitlement
    }
  }

  /// Adds how long a non-renewing product lasts.
  ///
  /// - Parameter bundleId: the app that it is for; nil for all apps.
  public mutating func add(_ duration: ProductDuration, of product: String, for bundleId: String?) {
    if let bundleId {
      own[bundleId, default: Mapping()].durations = (own[bundleId]?.durations ?? [:])
        .merging([product: duration]) { $1 }
    } else {
      shared.durations = (shared.durations ?? [:]).merging([product: duration]) { $1 }
    }
  }

  /// Sets what counts for an app instead of what is configured.
  public mutating func setInForce(_ mapping: Mapping, for bundleId: String) {
    for entitlement in mapping.names.values {
      longestLeeway = max(longestLeeway, entitlement.accessLeeway)
    }
    inForce[bundleId] = mapping
  }

  /// What counts for an app.
  public func mapping(of bundleId: String) -> Mapping {
    if let mapping = inForce[bundleId] { return mapping }
    guard let own = own[bundleId] else { return shared }
    var mapping = shared
    mapping.names.merge(own.names) { $1 }
    if let durations = own.durations {
      mapping.durations = (shared.durations ?? [:]).merging(durations) { $1 }
    }
    return mapping
  }

  /// What a name means in an app; nil if nothing.
  public func entitlement(_ name: String, in bundleId: String) -> NamedEntitlement? {
    if let mapping = inForce[bundleId] { return mapping.names[name] }
    return own[bundleId]?.names[name] ?? shared.names[name]
  }

  /// The names that mean something in at least one of these apps, sorted; of no app, those of all.
  public func names(in bundleIds: some Collection<String>) -> [String] {
    if bundleIds.isEmpty { return Self.sorted(shared.names.keys) }
    var names: Set<String> = []
    for bundleId in bundleIds { names.formUnion(mapping(of: bundleId).names.keys) }
    return Self.sorted(names)
  }

  private static func sorted(_ names: some Sequence<String>) -> [String] {
    names.sorted(by: ByteSearch.precedes)
  }
}
