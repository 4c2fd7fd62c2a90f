import Ledger

/// Decides which events are anchored, from what was anchored last.
struct AnchorSchedule {
  let settings: Configuration.Anchors
  /// The seq that was anchored last, and when in milliseconds since 1970 UTC; nil before the first.
  private(set) var last: (seq: Int64, at: Int64)?

  /// The most anchors that are due at once, as for a journal that was imported: their lines are
  /// 1.6 MB.
  static let maximumAtOnce = 4096

  init(_ settings: Configuration.Anchors, last: (seq: Int64, at: Int64)? = nil) {
    self.settings = settings
    self.last = last
  }

  /// The seqs to anchor now, ascending: one after every `events` events, also where the head moved
  /// by more at once; and the head, if there was no anchor or enough time has passed.
  ///
  /// - Parameters:
  ///   - head: the seq of the newest event.
  ///   - now: our clock, in milliseconds since 1970 UTC. If it was set back, a moved head is due.
  ///   - isLast: whether the service ends, so that there will be no later head.
  func due(_ head: Int64, at now: Int64, isLast: Bool = false) -> [Int64] {
    var reached = last?.seq ?? 0
    var seqs: [Int64] = []
    while head - reached >= settings.events, seqs.count < Self.maximumAtOnce {
      reached += settings.events
      seqs.append(reached)
    }
    guard head > reached, seqs.count < Self.maximumAtOnce else { return seqs }
    let isHeadDue =
      last.map { isLast || now < $0.at || (now - $0.at) / 60_000 >= settings.minutes } ?? true
    return isHeadDue ? seqs + [head] : seqs
  }

  mutating func record(_ seq: Int64, at time: Int64) { last = (seq, time) }
}
