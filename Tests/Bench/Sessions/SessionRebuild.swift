import Platform

/// Measures what a rebuild costs, and how it affects answers at the same time.
extension Session {
  /// The best of these runs counts, because other load on the machine only makes a run slower.
  private static let rebuilds = 3

  /// Measures on the files of the stopped daemon.
  ///
  /// - Throws: `BenchError.unmeasurable` if a rebuild fails or does not count `events` events.
  mutating func measureRebuild(events: Int) throws(BenchError) {
    Bench.log("rebuild, \(Self.rebuilds) times")
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
    add(runs, bareSeconds: bare.min() ?? .nan)
  }

  /// The targets: at least 80,000 events a second, and at most 300 MB for any number of events.
  private mutating func add(_ runs: [RebuildRun], bareSeconds: Double) {
    guard let fastest = runs.min(by: { $0.seconds < $1.seconds }),
      let leanest = runs.map(\.processorSeconds).min(), let peak = runs.map(\.peakBytes).max()
    else { return }
    let events = Double(fastest.events)
    report.add(
      "rebuild", "rebuild, \(ProcessLimits.processors) threads", events / fastest.seconds,
      "events/s", target: (.atLeast(80_000), .value))
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

  /// Sends the notifications alternately without and with rebuilds beside them, so that other load
  /// on the machine affects both.
  ///
  /// - Throws: `BenchError.unmeasurable` if a rebuild fails or a notification is not accepted.
  mutating func measureBeside(
    _ range: Range<Int>, _ port: UInt16
  ) throws(BenchError) {
    Bench.log("sending \(range.count), half of them with rebuilds beside them")
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
    add(beside, quiet: quiet)
    report.conditions.add(
      "rebuilds beside the load", "\(rebuilds), in \(Self.turns / 2) of \(Self.turns) turns")
    try RebuildRun.removeOthers(in: folder)
  }

  private static let turns = 8

  /// The target: a rebuild at most doubles the 99th percentile.
  private mutating func add(_ beside: LoadReport, quiet: LoadReport) {
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
