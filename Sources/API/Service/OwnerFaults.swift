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
  private static let entries = Dictionary(
    uniqueKeysWithValues: RefusalEntry.ownerFaults.map { ($0.code, $0) })

  static let reasons = entries.keys.sorted()

  private let counts = CounterFamily<String>(maximum: entries.count, other: "other_app")
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
    guard let entry = Self.entries[reason] else { return }
    counts.add(reason)
    let since = firstAt.withLock { firstAt in
      let first = firstAt[reason] ?? now
      firstAt[reason] = first
      return first
    }
    log.write(
      reason, "owner_fault",
      [("reason", .string(reason))] + Self.about(received)
        + [("next", .string(Self.next(entry, since)))])
  }

  private static func about(_ received: Receiver.Received?) -> [(String, JSONValue)] {
    (received?.logFields ?? []).filter { ["environment", "bundle_id"].contains($0.0) }
  }

  private static func next(_ entry: RefusalEntry, _ since: Int64) -> String {
    // What is genuine is in quarantine.
    let admit =
      entry.status == 422 ? "subledger quarantine admit --reason \(entry.code); " : ""
    return "\(entry.next) Reload; then \(admit)subledger recover --since \(Timestamp.text(since))"
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
