public import AppStore
import Platform

/// The configured entitlements: those of all apps, and those of one app. For that app its own win
/// over others of the same name. Of an app whose mapping was journaled, that one counts alone.
public struct EntitlementCatalog: Sendable, Equatable {
  /// What products give, by the name of the entitlement.
  public typealias Mapping = [String: NamedEntitlement]

  private var shared: Mapping = [:]
  /// By bundle id.
  private var own: [String: Mapping] = [:]
  /// The mappings that were journaled, by bundle id.
  private var inForce: [String: Mapping] = [:]
  /// The longest leeway of all, milliseconds. One that another replaced counts too.
  public private(set) var longestLeeway: Int64 = 0

  public init() {}

  /// Whether no entitlement is configured.
  public var isEmpty: Bool { shared.isEmpty && own.isEmpty }

  /// Adds an entitlement.
  ///
  /// - Parameter bundleId: the app that it is for; nil for all apps.
  public mutating func add(_ name: String, _ entitlement: NamedEntitlement, for bundleId: String?) {
    longestLeeway = max(longestLeeway, entitlement.accessLeeway)
    if let bundleId {
      own[bundleId, default: [:]][name] = entitlement
    } else {
      shared[name] = entitlement
    }
  }

  /// Sets what counts for an app instead of what is configured.
  public mutating func setInForce(_ mapping: Mapping, for bundleId: String) {
    for entitlement in mapping.values {
      longestLeeway = max(longestLeeway, entitlement.accessLeeway)
    }
    inForce[bundleId] = mapping
  }

  /// What counts for an app.
  public func mapping(of bundleId: String) -> Mapping {
    if let mapping = inForce[bundleId] { return mapping }
    return own[bundleId].map { shared.merging($0) { _, own in own } } ?? shared
  }

  /// What a name means in an app; nil if nothing.
  public func entitlement(_ name: String, in bundleId: String) -> NamedEntitlement? {
    if let mapping = inForce[bundleId] { return mapping[name] }
    return own[bundleId]?[name] ?? shared[name]
  }

  /// The names that mean something in at least one of these apps, sorted; of no app, those of all.
  public func names(in bundleIds: some Collection<String>) -> [String] {
    if bundleIds.isEmpty { return Self.sorted(shared.keys) }
    var names: Set<String> = []
    for bundleId in bundleIds { names.formUnion(mapping(of: bundleId).keys) }
    return Self.sorted(names)
  }

  private static func sorted(_ names: some Sequence<String>) -> [String] {
    names.sorted(by: ByteSearch.precedes)
  }
}
