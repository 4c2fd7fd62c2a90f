public import AppStore
public import Ledger
import Store

/// The counts of the console's first page: notifications by hour, rows by status, quarantine, and
/// the last event of each app.
public enum Overview {
  /// The hours that an overview is about, and the apps that it may show.
  public struct Question: Sendable {
    /// The number of hours, 1 to 168; the current hour is the last of them.
    var hours: Int64
    /// The current time, milliseconds since 1970.
    var now: Int64
    /// Nil: both environments.
    var environment: Environment?
    /// Nil: all apps.
    var bundleId: String?
    /// The token of the request: counts outside its scope are not shown.
    var token: Configuration.ReadToken

    public init(
      hours: Int64, now: Int64, environment: Environment? = nil, bundleId: String? = nil,
      token: Configuration.ReadToken
    ) {
      self.hours = hours
      self.now = now
      self.environment = environment
      self.bundleId = bundleId
      self.token = token
    }

    /// The beginning of the first hour, milliseconds since 1970.
    var since: Int64 { (now / JournalReader.hour - hours + 1) * JournalReader.hour }

    /// Whether counts of this app are asked for and may be shown. Counts whose app is unknown are
    /// only shown to a token without lists.
    public func covers(_ environment: Environment?, _ bundleId: String?) -> Bool {
      if let wanted = self.environment, wanted != environment { return false }
      if let wanted = self.bundleId, wanted != bundleId { return false }
      if token.bundleIds == nil && token.environments == nil { return true }
      return token.covers(environment: environment, bundleId: bundleId)
    }
  }
}
