import Platform

/// What the daemon counts.
///
/// Labels are closed sets: reasons, statuses, documented types, configured apps. Counting a
/// notification takes a short lock and formats no text.
final class Metrics: Sendable {
  let notifications = NotificationCounts()
  /// Refused notifications, by the code of the refusal.
  let refusals = CounterFamily<String>(maximum: 300, other: "other")
  /// Requests refused while they were read, and refused reads, by status.
  let httpRefusals = CounterFamily<Int>(maximum: 100, other: 0)
  /// Journaled events of a type that the fold has no rule for.
  let unknownTypes = Counter()
  /// Journaled events signed ahead of this machine's clock.
  let signedAhead = Counter()
  /// Connections that are open now.
  let connections = Counter()
  /// Connections that clients ended inside a request.
  let cutConnections = Counter()
  /// Signatures whose certificate chain was in a prover's cache, and those whose was not.
  let chainHits = Counter()
  let chainMisses = Counter()
  /// Reloads of the configuration: `taken` or `refused`.
  let reloads = CounterFamily<String>(maximum: 2, other: "refused")
  /// Seconds from the whole request to its response.
  let answer = Histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
  /// Seconds from Apple's signing to our receiving, for new events.
  let delay = Histogram([1, 5, 15, 60, 300, 3600, 21_600, 86_400, 259_200])
  /// Milliseconds since 1970.
  let startedAt = Clock.now()

  /// Records the delay, in milliseconds, of an event that was journaled just now.
  func observe(delay milliseconds: Int64) { delay.observe(Double(max(0, milliseconds)) / 1000) }
}
