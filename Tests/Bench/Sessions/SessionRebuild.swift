import Platform

/// What a rebuild costs, and what it costs those who are served meanwhile.
extension Session {
  /// The best of so many: what else the machine does makes every one slower, none faster.
  private static let rebuilds = 3

  /// On the files that the stopped daemon left.
  mutating func measureRebuild(events: Int) throws(BenchError) {
    Bench.say("rebuild, \(Self.rebuilds) times")
    var runs: [RebuildRun] = []
    for _ in 0..<Self.rebuilds {
      let run = try RebuildRun.measure(in: folder)
      guard run.events == Int64(events) else {
        throw .unmeasurable("rebuild does not count \(events) events")
      }
      runs.append(run)
    }
    let bare = try (0..<Self.rebuilds).map { (_) throws(BenchError) in
      try RebuildRun.bareSeconds(folder)
    }
    note(runs, bareSeconds: bare.min() ?? .nan)
  }

  /// The targets: 150,000 events a second, under 300 MB however many there are.
  private mutating func note(_ runs: [RebuildRun], bareSeconds: Double) {
    guard let fastest = runs.min(by: { $0.seconds < $1.seconds }),
      let leanest = runs.map(\.processorSeconds).min(), let peak = runs.map(\.peakBytes).max()
    else { return }
    let events = Double(fastest.events)
    report.add(
      "rebuild", "rebuild, \(ProcessLimits.processors) threads", events / fastest.seconds,
      "events/s", target: (.atLeast(150_000), .value))
    report.add(
      "rebuild_processor_time", "processor time of the rebuild per event",
      leanest / events * 1e6, "µs",
      ratio: (leanest / bareSeconds, "× reading and decompressing"))
    report.add(
      "rebuild_bare", "reading and decompressing alone", bareSeconds / events * 1e6,
      "µs")
    report.add(
      "rebuild_peak", "resident memory of the rebuild, at most", Double(peak) / 1e6, "MB",
      target: (.atMost(300), .value))
  }

  /// Sends the notifications in turns, with rebuilds beside them and without, so that what else the
  /// machine does weighs on both.
  mutating func measureBeside(
    _ range: Range<Int>, _ port: UInt16
  ) throws(BenchError) {
    Bench.say("sending \(range.count), half of them with rebuilds beside them")
    var (quiet, beside) = (LoadReport(), LoadReport())
    var rebuilds = 0
    for turn in 0..<Self.turns {
      let first = range.lowerBound + range.count * turn / Self.turns
      let end = range.lowerBound + range.count * (turn + 1) / Self.turns
      let part = first..<end
      if turn % 2 == 0 {
        quiet.add(try load(part, port, "accepted"))
      } else {
        let (report, count) = try RebuildsBeside.run(in: folder) { () throws(BenchError) in
          try load(part, port, "accepted")
        }
        beside.add(report)
        rebuilds += count
      }
    }
    note(beside, quiet: quiet)
    report.conditions.add(
      "rebuilds beside the load", "\(rebuilds), in \(Self.turns / 2) of \(Self.turns) turns")
    // What they left is none of the bytes that an event needs.
    _ = try folder.subledger(["rebuild", "--prune"])
  }

  private static let turns = 8

  /// The target: a rebuild at most doubles the slowest hundredth.
  private mutating func note(_ beside: LoadReport, quiet: LoadReport) {
    let slowest = beside.milliseconds(at: 0.99)
    report.add(
      "latency_slowest_rebuild", "time to the answer, slowest hundredth, beside a rebuild",
      slowest, "ms", ratio: (slowest / quiet.milliseconds(at: 0.99), "× without"),
      target: (.atMost(2), .ratio))
    report.add(
      "accepted_rebuild", "accepted notifications beside a rebuild", beside.rate, "/s",
      ratio: (beside.rate / quiet.rate, "× without"))
  }
}
