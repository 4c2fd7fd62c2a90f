/// Notices that the wall clock was set: nothing that follows from the time alone is told then, as a
/// wrong clock would end everybody's access.
///
/// The reference is CLOCK_BOOTTIME (clock_gettime(2)), which nobody can set and which counts while
/// the machine sleeps. What a clock is corrected by little by little is followed.
struct ClockWatch: Sendable, Equatable {
  /// Wall clock minus boot time when they were last right, milliseconds; nil before the first look.
  private(set) var offset: Int64?
  private(set) var isStepped = false

  /// Milliseconds by which the clock may differ from one look to the next.
  static let tolerance: Int64 = 300_000

  /// - Parameter offset: as it was stored during the same boot; nil if it was not.
  init(offset: Int64? = nil) { self.offset = offset }

  /// Compares the clocks. Milliseconds since 1970, and since the boot.
  mutating func look(wall: Int64, sinceBoot: Int64) {
    let current = wall - sinceBoot
    isStepped = abs(current - (offset ?? current)) > Self.tolerance
    if !isStepped { offset = current }
  }

  /// Takes the wall clock for right, as an operator says that it is.
  mutating func accept(wall: Int64, sinceBoot: Int64) {
    (offset, isStepped) = (wall - sinceBoot, false)
  }
}
