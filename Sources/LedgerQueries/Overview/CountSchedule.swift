/// When a count that takes time is due again: at least `pause` after it ended, and so rarely that
/// it takes at most a fiftieth of a processor.
///
/// All times are nanoseconds of the monotonic clock.
struct CountSchedule {
  /// The shortest time between two counts.
  let pause: Int64
  /// The processing time of the current count so far.
  private var cost: Int64 = 0
  private var due = Int64.min

  init(pause: Int64) { self.pause = pause }

  func isDue(at now: Int64) -> Bool { now >= due }

  /// Begins a count.
  mutating func begin() { cost = 0 }

  /// Adds the time that a part of the count took.
  mutating func add(_ nanoseconds: Int64) { cost += nanoseconds }

  /// Ends the count.
  mutating func finish(at now: Int64) { due = now + max(pause, 50 * cost) }
}
