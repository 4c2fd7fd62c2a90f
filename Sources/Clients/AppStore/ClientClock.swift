package import Platform

/// Time and chance as a client uses them; tests set their own.
public struct ClientClock: Sendable {
  /// Milliseconds since 1970.
  let now: @Sendable () -> Int64
  /// Milliseconds of a clock that never goes back.
  let elapsed: @Sendable () -> Int64
  /// Waits for a number of milliseconds, or until the cancellation is requested.
  let wait: @Sendable (Int64, Cancellation) -> Void
  /// A number from 0 to 1, by which the waits of several programs differ.
  let jitter: @Sendable () -> Double

  package init(
    now: @escaping @Sendable () -> Int64, elapsed: @escaping @Sendable () -> Int64,
    wait: @escaping @Sendable (Int64, Cancellation) -> Void,
    jitter: @escaping @Sendable () -> Double
  ) {
    (self.now, self.elapsed, self.wait, self.jitter) = (now, elapsed, wait, jitter)
  }

  public static let system = ClientClock(
    now: { Clock.now() }, elapsed: { Clock.monotonicNanoseconds() / 1_000_000 },
    wait: { $1.wait(milliseconds: $0) }, jitter: { Double.random(in: 0...1) })
}
