import Configuration

/// Decides when the head is anchored, from what was anchored last.
struct AnchorSchedule {
  let settings: Configuration.Anchors
  /// The seq that was anchored last, and when in milliseconds since 1970 UTC; nil before the first.
  private(set) var last: (seq: Int64, at: Int64)?

  init(_ settings: Configuration.Anchors, last: (seq: Int64, at: Int64)? = nil) {
    self.settings = settings
    self.last = last
  }

  /// Whether the head moved by enough events, or moved at all and enough time has passed.
  ///
  /// - Parameters:
  ///   - now: our clock, in milliseconds since 1970 UTC. If it was set back, a moved head is due.
  ///   - isLast: whether the service ends, so that there will be no later head.
  func isDue(_ seq: Int64, at now: Int64, isLast: Bool = false) -> Bool {
    guard let last else { return seq > 0 }
    guard seq > last.seq else { return false }
    let minutes = (now - last.at) / 60_000
    return isLast || seq - last.seq >= settings.events || minutes >= settings.minutes
      || now < last.at
  }

  mutating func record(_ seq: Int64, at time: Int64) { last = (seq, time) }
}
