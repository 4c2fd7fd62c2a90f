import Ledger
import Platform
import Store
import StrictJSON
import Synchronization

/// Refusals that a mistake in the owner's configuration can cause. Apple may not repeat what was
/// answered 4xx, so each is counted and, at most once a minute for each reason, a warning that says
/// how to bring back what was refused.
///
/// Others can cause them too: whoever finds the address can post with a wrong secret, and any
/// developer can have Apple post here.
final class OwnerFaults: Sendable {
  /// What each reason asks of the owner.
  private static let advice = [
    "v1_secret":
      "if Apple sent it: put the shared secret of App Store Connect into v1SharedSecretFile",
    "chain_root": "if Apple sent it: the program knows no root of it; add that to trustRoots",
    "chain_path": "if Apple sent it: trustRoots lack its root, or have another of that name",
    "other_app": "if the app is yours: add it to apps",
    "other_app_apple_id": "if the app is yours: correct its appAppleId in apps",
    "other_environment": "if it is wanted: add the environment to the app's environments",
  ]
  /// Of these the notification is in quarantine.
  private static let quarantined: Set = ["other_app", "other_app_apple_id", "other_environment"]

  static let reasons = advice.keys.sorted()

  private let counts = CounterFamily<String>(maximum: advice.count, other: "other_app")
  private let log = BoundedLog<String>(
    LineLimit(linesPerMinute: 1), .warning, sumEvent: "owner_faults_left_out",
    members: { [("reason", .string($0))] })
  /// When each reason came first, milliseconds since 1970.
  private let firstAt = Mutex<[String: Int64]>([:])

  /// Counts and logs a refusal, if a mistake of the owner's can be its cause.
  ///
  /// - Parameters:
  ///   - received: nil of a notification that is not proven.
  ///   - now: milliseconds since 1970.
  func record(_ refusal: Refusal, _ received: Receiver.Received?, at now: Int64) {
    let reason = refusal.code
    guard let advice = Self.advice[reason] else { return }
    counts.add(reason)
    let since = firstAt.withLock { firstAt in
      let first = firstAt[reason] ?? now
      firstAt[reason] = first
      return first
    }
    log.write(
      reason, "owner_fault",
      [("reason", .string(reason))] + Self.about(received)
        + [("next", .string(Self.next(reason, advice, since)))])
  }

  private static func about(_ received: Receiver.Received?) -> [(String, JSONValue)] {
    (received?.logFields ?? []).filter { ["environment", "bundle_id"].contains($0.0) }
  }

  private static func next(_ reason: String, _ advice: String, _ since: Int64) -> String {
    let admit =
      quarantined.contains(reason) ? "subledger quarantine admit --reason \(reason); " : ""
    return "\(advice); reload; then \(admit)subledger recover --since \(Timestamp.text(since))"
  }

  /// Refusals since the start, by reason, those without any too.
  var samples: [(reason: String, count: Int64)] {
    let found = Dictionary(uniqueKeysWithValues: counts.samples.map { ($0.key, $0.count) })
    return Self.reasons.map { (reason: $0, count: found[$0] ?? 0) }
  }

  /// Says how many lines were left out in the minutes that have ended. Called about once a second.
  func writeSums() { log.writeSums() }

  /// Says how many lines were left out, at the end.
  func finish() { log.finish() }
}
