import AppStore
import Audit
import Clients
import Ledger
import Platform

/// Proves the keys of `appStore` for `doctor`: one harmless call for each app and environment.
///
/// The call is Get Transaction Info of an id that no transaction has. Apple judges the token before
/// the id, so its error about the id proves the token. No other call is as cheap: it has no body,
/// its answer is one line without a customer's data, and its limit is the highest (50 a second; for
/// test notifications 1, in the Sandbox one in ten seconds).
struct AppStoreKeyCheck {
  private enum Outcome {
    case accepted
    /// 401. Milliseconds that our clock is ahead of Apple's; nil if the answer has no date.
    case refused(skew: Int64?)
    case wrong(AppStoreError)
    /// Nothing is known, which is no finding: the network may be away.
    case unknown(String)
  }

  private static let topic = "app store"
  private static let unknownId = "0"
  /// Milliseconds for all calls together, and for one request at most.
  private static let time: Int64 = 10_000
  private static let requestTime: Int64 = 4_000

  /// What is found; empty without `appStore`.
  ///
  /// - Parameter isOffline: whether nothing is to be asked.
  static func examine(_ configuration: Configuration, isOffline: Bool) -> [DoctorCheck] {
    let accounts = AppStoreAccounts.configured(configuration)
    guard !isOffline else {
      return accounts.isEmpty ? [] : [DoctorCheck(topic, "Apple was not asked (--offline)")]
    }
    let end = milliseconds() + time
    let outcomes = accounts.map { ask($0, until: end) }
    return zip(accounts, outcomes).map { account, outcome in
      let isAcceptedInSandbox = zip(accounts, outcomes).contains { other, outcome in
        guard case .accepted = outcome else { return false }
        return other.bundleId == account.bundleId && other.environment == .sandbox
      }
      return check(account, outcome, isAcceptedInSandbox: isAcceptedInSandbox)
    }
  }

  private static func milliseconds() -> Int64 { Clock.monotonicNanoseconds() / 1_000_000 }

  // MARK: Asking

  private static func ask(_ account: AppStoreAccount, until end: Int64) -> Outcome {
    // A refused token is sent a second time.
    let limit = min((end - milliseconds()) / 2, requestTime)
    guard limit > 100 else { return .unknown("no time was left") }
    var settings = ClientSettings()
    settings.totalMilliseconds = Int(limit)
    guard let client = try? AppStoreAccounts.client(account, .once, Cancellation(), settings)
    else { return .unknown("curl cannot be initialised") }
    do throws(AppStoreError) {
      _ = try client.transactionInfo(unknownId)
      return .accepted
    } catch {
      switch error.reason {
      case .unauthorized(let skew): return .refused(skew: skew)
      case .code(.transactionIdNotFound), .code(.invalidTransactionId): return .accepted
      case .transport(.tls), .answer: return .wrong(error)
      default: return error.isRetryable ? .unknown(error.what) : .wrong(error)
      }
    }
  }

  // MARK: Words

  private static func check(
    _ account: AppStoreAccount, _ outcome: Outcome, isAcceptedInSandbox: Bool
  ) -> DoctorCheck {
    let name = "\(account.bundleId) \(account.environment)"
    switch outcome {
    case .accepted: return DoctorCheck(topic, "\(name): Apple accepts the key")
    case .unknown(let reason):
      return DoctorCheck(topic, "\(name): not proven, Apple could not be asked: \(reason)")
    case .wrong(let error): return DoctorCheck(topic, "\(name): \(error.what)", next: error.next)
    case .refused(let skew):
      let isUnreleased = account.environment == .production && isAcceptedInSandbox
      let more = isUnreleased ? ", and accepts it in the Sandbox" : ""
      return DoctorCheck(
        topic, "\(name): Apple refuses the token (401)\(more)",
        next: "the four usual causes, the likeliest first: "
          + causes(skew, isUnreleased: isUnreleased).joined(separator: "; "))
    }
  }

  /// The causes of a 401 (…/appstoreserverapi/generating-json-web-tokens-for-api-requests).
  private static func causes(_ skew: Int64?, isUnreleased: Bool) -> [String] {
    let isSkewed = (skew ?? 0).magnitude > 30_000
    let clock =
      switch skew {
      case .none: "this clock is wrong: the answer had no date to compare it with"
      case .some(let skew) where isSkewed:
        "this clock is \(skew.magnitude / 1000) s \(skew > 0 ? "ahead of" : "behind") Apple's: set "
          + "it, and run a time service"
      case .some: "this clock is wrong: no, it agrees with Apple's"
      }
    let release =
      "the app was never released, and has no Production yet: take Production from its "
      + "environments until then"
    let key =
      "keyId, issuerId, keyFile and bundleId do not belong together, the key was revoked, or it is "
      + "an App Store Connect API key (AuthKey_….p8) and no In-App Purchase key "
      + "(SubscriptionKey_….p8)"
    let lifetime =
      "the token lives for more than 60 minutes: ours for 15, so only where the clock is wrong"
    let ranked = [(isUnreleased, release), (isSkewed, clock), (true, key)]
    return ranked.filter(\.0).map(\.1) + ranked.filter { !$0.0 }.map(\.1) + [lifetime]
  }
}
