import Glibc
import Platform

/// What the daemon must bear, and whether it did: slow clients by the thousand, then ten times the
/// load that it can answer.
struct Siege {
  private let folder: RunFolder
  private let input: Input
  private var report: Report

  /// As many places as by default.
  private static let places = 4096
  private static let slow = 2_000
  /// Seconds beside the slow ones, and requests a second of one who behaves well.
  private static let politeSeconds = 45.0
  private static let politeRate = 100.0
  /// Seconds of too much.
  private static let floodSeconds = 10.0
  private static let floodConnections = 3_000
  /// What is measured in between, to know what it can bear.
  private static let bearable = 4_000

  /// Signs the input.
  init(_ folder: RunFolder, _ options: Options) throws(BenchError) {
    self.folder = folder
    report = Report(conditions: try .ofMachine(folder))
    Descriptors.allow(Self.places + 1024)
    let path = options.input ?? folder.path + "/input.ndjson"
    input = try Input.prepare(path, customers: options.customers)
    try folder.configure(Input.authority(of: path), places: Self.places)
  }

  /// Both parts, each with a daemon of its own on the same data.
  mutating func hold() throws(BenchError) -> Report {
    try holdSlow()
    try holdFlood()
    let verified = try folder.subledger(["verify", "--json"])
    report.conditions.add("verify", verified.output.isEmpty ? "" : "no finding")
    return report
  }

  // MARK: Slow clients

  private mutating func holdSlow() throws(BenchError) {
    Bench.say("\(Self.slow) slow clients, and one who behaves well, for \(Self.politeSeconds) s")
    let daemon = try Daemon.start(folder)
    // Every thread opens its files first: they are not the crowd's.
    _ = try LoadGenerator.run(
      Reads(["0"], count: 64), connections: 16, port: daemon.port, marker: "")
    usleep(500_000)
    let before = daemon.usage.descriptors()
    let port = daemon.port
    let requests = input.posts(0..<input.count)
    let (polite, crowd) = try SlowCrowd.run(Self.slow, port: port) { () throws(BenchError) in
      try Flood.run(
        requests, rate: Self.politeRate, seconds: Self.politeSeconds, connections: 8, port: port)
    }
    for (manner, counts) in crowd.manners {
      Bench.say(
        "\(manner): \(counts.closed) closed, at most \(Decimal.text(counts.worst)) s late,"
          + " \(counts.forgotten) never")
    }
    Bench.say("answers: \(polite.accepted.good) of \(polite.offered), others \(polite.others)")
    let after = settled(daemon.usage, before)
    report.add("slow_opened", "slow clients, one after the other", Double(crowd.opened), "clients")
    report.add(
      "slow_latency", "the one who behaves well: slowest hundredth",
      polite.accepted.milliseconds(at: 0.99), "ms", target: (.atMost(250), .value))
    report.add(
      "slow_refused", "his requests without a 200", Double(polite.offered - polite.accepted.good),
      "requests", target: (.atMost(0), .value))
    report.add(
      "slow_overdue", "a slow one closed after its deadline, at most", crowd.worst, "s",
      target: (.atMost(2), .value))
    report.add(
      "slow_forgotten", "slow ones never closed", Double(crowd.forgotten), "clients",
      target: (.atMost(0), .value))
    report.add(
      "slow_descriptors", "left behind", Double(after - before), "descriptors",
      target: (.atMost(0), .value))
    report.add(
      "slow_peak", "resident memory, at most", Double(try daemon.usage.peakBytes()) / 1e6, "MB")
    try daemon.stop()
  }

  /// Descriptors once they no longer fall, or after ten seconds.
  private func settled(_ usage: ProcessUsage, _ before: Int) -> Int {
    for _ in 0..<100 where usage.descriptors() > before { usleep(100_000) }
    return usage.descriptors()
  }

  // MARK: Too much

  /// The daemon has one processor, and the load another; what it bears is measured like that.
  private mutating func holdFlood() throws(BenchError) {
    let last = ProcessLimits.processors - 1
    let daemon = try Daemon.start(folder, onlyOn: last)
    try stay(on: "0")
    let bears = try bearable(daemon.port)
    report.add("flood_bearable", "what it bears on one processor", bears.rate, "/s")
    Bench.say("ten times that for \(Self.floodSeconds) s")
    let flood = try Flood.run(
      input.posts(0..<input.count), rate: bears.rate * 10, seconds: Self.floodSeconds,
      connections: Self.floodConnections, port: daemon.port)
    note(flood)
    let again = try bearable(daemon.port)
    report.add(
      "flood_after", "what it bears right after", again.rate, "/s",
      target: (.atLeast(bears.rate * 0.8), .value))
    report.add(
      "flood_peak", "resident memory, at most", Double(try daemon.usage.peakBytes()) / 1e6, "MB")
    try daemon.stop()
    try stay(on: "0-\(last)")
  }

  /// From here on the load comes from these processors alone.
  private func stay(on processors: String) throws(BenchError) {
    _ = try folder.run(["taskset", "-pc", processors, "\(getpid())"])
  }

  private func bearable(_ port: UInt16) throws(BenchError) -> LoadReport {
    let load = try LoadGenerator.run(
      input.posts(0..<min(Self.bearable, input.count)), connections: 64, port: port,
      marker: #""outcome":""#)
    try load.requireAllGood("a load it can bear")
    return load
  }

  private mutating func note(_ flood: Flood.Report) {
    let (accepted, refused) = (flood.accepted, flood.refused)
    report.add("flood_offered", "offered", Double(flood.offered) / flood.seconds, "/s")
    report.add("flood_accepted", "accepted", Double(accepted.good) / flood.seconds, "/s")
    report.add(
      "flood_slowest", "accepted: slowest answer", accepted.milliseconds(at: 1), "ms",
      target: (.atMost(1_000), .value))
    report.add("flood_median", "accepted: median", accepted.milliseconds(at: 0.5), "ms")
    report.add("flood_refused", "told to come again", Double(refused.good) / flood.seconds, "/s")
    report.add(
      "flood_refused_median", "told to come again: median", refused.milliseconds(at: 0.5), "ms")
    report.add(
      "flood_refused_slowest", "told to come again: slowest hundredth",
      refused.milliseconds(at: 0.99), "ms", target: (.atMost(500), .value))
    let others = flood.others.values.reduce(0, +)
    report.add(
      "flood_others", "neither of the two", Double(others), "answers", target: (.atMost(0), .value))
  }
}
