import AppStore
import Entitlements
import Store

extension ProjectionDiff {
  /// How many rows of two projections differ, and how.
  public struct Summary: Sendable {
    public var equal = 0
    public var changed = 0
    /// Of the changed rows, by `RowDifference.When`.
    public var changedNow = 0
    public var changedPast = 0
    public var changedLater = 0
    public var added = 0
    public var gone = 0
    /// Customers who lose access, by reason and product.
    public var lost: [Group: Int] = [:]
    /// Customers who gain access, by reason and product.
    public var gained: [Group: Int] = [:]

    /// The same counts for each app, because a token may be restricted to some of them.
    var byApp: [App: Summary] = [:]
    /// The seq through which both projections are compared.
    var through: Int64 = 0
    /// The fold that made the live projection.
    public internal(set) var liveFold: (version: Int, fingerprint: String) = (0, "")
    var builtFold = Fold.current

    /// A change of status (`RowDifference.reason`) of one product.
    public struct Group: Hashable, Sendable {
      public let reason: String
      public let productId: String?
    }

    /// An app in one environment.
    public struct App: Hashable, Sendable {
      let environment: Environment
      let bundleId: String
    }

    public var differing: Int { changed + added + gone }
    public var losing: Int { lost.values.reduce(0, +) }
    public var gaining: Int { gained.values.reduce(0, +) }

    /// Applies a change to these counts and to those of the key's app.
    mutating func update(_ key: StreamKey, _ change: (inout Summary) -> Void) {
      change(&self)
      change(
        &byApp[App(environment: key.environment, bundleId: key.bundleId), default: Summary()])
    }

    /// Counts one difference.
    mutating func count(_ difference: RowDifference) {
      switch (difference.kind, difference.when) {
      case (.added, _): added += 1
      case (.gone, _): gone += 1
      case (.changed, .now): changedNow += 1
      case (.changed, .past): changedPast += 1
      case (.changed, .later): changedLater += 1
      }
      if difference.kind == .changed { changed += 1 }
      let group = Group(reason: difference.reason, productId: difference.productId)
      switch difference.access {
      case .lost: lost[group, default: 0] += 1
      case .gained: gained[group, default: 0] += 1
      case .same: break
      }
    }
  }
}
