import Entitlements
public import Platform
import SignedData

/// How a running daemon applies a changed configuration: what changes at once, and what needs a
/// restart.
public struct Reload: Sendable {
  /// The configuration to use from now on.
  public let configuration: Configuration
  /// The changes that apply at once, as text: `app com.example.app added`.
  public let changes: [String]
  /// The keys whose change applies only after a restart.
  public let needsRestart: [String]

  /// - Parameters:
  ///   - running: the configuration in use.
  ///   - read: what the file, the variables and the flags say now.
  /// - Throws: `LedgerError` if `read` cannot be used; keep `running` then.
  public init(from running: Configuration, to read: Configuration) throws(LedgerError) {
    var next = running
    next.apps = read.apps
    next.readTokens = read.readTokens
    next.trustRoots = read.trustRoots
    next.extraRoots = read.extraRoots
    next.nonRenewingDurations = read.nonRenewingDurations
    next.entitlements = read.entitlements
    next.entitlementLossLimits = read.entitlementLossLimits
    next.sinks = read.sinks
    next.mirrors = read.mirrors
    next.refundPolicies = read.refundPolicies
    next.logLevel = read.logLevel
    // Throws if a trust root cannot be used.
    _ = try Receiver(next)
    configuration = next
    changes = Self.changes(running, next)
    needsRestart = ConfigurationKey.table.filter { $0.isSame?(running, read) == false }.map(\.name)
  }

  private static func changes(_ old: Configuration, _ new: Configuration) -> [String] {
    var changes = compare("app", old.apps, new.apps)
    changes += compare("token", named(old.readTokens), named(new.readTokens))
    changes += compare("sink", named(old.sinks), named(new.sinks))
    changes += compare(
      "mirror", Dictionary(grouping: old.mirrors, by: \.name),
      Dictionary(grouping: new.mirrors, by: \.name))
    changes += roots("added", in: new, notIn: old) + roots("removed", in: old, notIn: new)
    if old.nonRenewingDurations != new.nonRenewingDurations {
      changes.append("nonRenewingDurations changed")
    }
    if old.entitlements.withoutDurations != new.entitlements.withoutDurations {
      changes.append("entitlements changed")
    }
    if old.entitlementLossLimits != new.entitlementLossLimits {
      changes.append("entitlementLossLimit changed")
    }
    if old.refundPolicies != new.refundPolicies { changes.append("refunds changed") }
    if old.logLevel != new.logLevel { changes.append("logLevel \(new.logLevel.rawValue)") }
    return changes
  }

  /// Several tokens may have the same name.
  private static func named(
    _ tokens: [Configuration.ReadToken]
  ) -> [String: [Configuration.ReadToken]] {
    Dictionary(grouping: tokens, by: \.name)
  }

  private static func named(_ sinks: [Configuration.Sink]) -> [String: [Configuration.Sink]] {
    Dictionary(grouping: sinks, by: \.name)
  }

  private static func compare<Value: Equatable>(
    _ noun: String, _ old: [String: Value], _ new: [String: Value]
  ) -> [String] {
    Set(old.keys).union(new.keys).sorted().compactMap { name in
      switch (old[name], new[name]) {
      case (nil, _): "\(noun) \(name) added"
      case (_, nil): "\(noun) \(name) removed"
      case (let one, let other): one == other ? nil : "\(noun) \(name) changed"
      }
    }
  }

  private static func roots(
    _ verb: String, in one: Configuration, notIn other: Configuration
  ) -> [String] {
    let known = Set(other.trustRoots.certificates)
    return one.trustRoots.certificates.filter { !known.contains($0) }.map { der in
      "root \(Hexadecimal.encode(Array(SHA256.hash(der).prefix(8)))) \(verb)"
    }
  }
}
