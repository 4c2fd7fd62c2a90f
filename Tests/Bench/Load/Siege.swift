import Glibc
import Platform

/// Checks the daemon's bounds: two thousand slow clients, then ten times the load that it can
/// answer.
struct Siege {
  private let folder: RunFolder
  private let input: Input
  private var report: Report

  /// The daemon's default limit of connections.
  private static let connectionLimit = 4096
  private static let slow = 2_000
  /// How long a normal client sends requests beside the slow ones, and how many a second.
  private static let normalSeconds = 45.0
  private static let normalRate = 100.0
  /// The overload.
  private static let floodSeconds = 10.0
  private static let floodConnections = 3_000
  /// Requests with which the rate that the daemon can answer is measured.
  private static let capacityRequests = 4_000

  /// Signs the input.
  ///
  /// - Throws: `BenchError.unmeasurable` if that or the configuration cannot be written.
  init(_ folder: RunFolder, _ options: Options) throws(BenchError) {
    self.folder = folder
    report = Report(conditions: try .ofMachine(folder))
    Descriptors.allow(Self.connectionLimit + 1024)
    let path = options.input ?? folder.path + "/input.ndjson"
    input = try Input.prepare(path, customers: options.customers)
    try folder.configure(Input.authority(of: path), connectionLimit: Self.connectionLimit)
  }

  /// Runs both parts, each with a daemon of its own on the same data.
  ///
  /// - Throws: `BenchError.unmeasurable` if a part cannot be run or `verify` has a finding.
  mutating func run() throws(BenchError) -> Report {
    try runSlowClients()
    try runOverload()
    let verified = try folder.subledger(["verify", "--json"])
    report.conditions.add("verify", verified.output.isEmpty ? "" : "no finding")
    return report
  }

  // MARK: Slow clients

  private mutating func runSlowClients() throws(BenchError) {
    Bench.log("\(Self.slow) slow clients and a normal one for \(Self.normalSeconds) s")
    let daemon = try Daemon.start(folder)
    // Makes every thread open its files, so that they are not counted as left open by slow clients.
    _ = try LoadGenerator.run(
      Reads(["0"], count: 64), connections: 16, port: daemon.port, marker: "")
    _ = try Flood.run(
      input.posts(input.count - 100..<input.count), rate: Self.normalRate, seconds: 1,
      connections: 8, port: daemon.port)
    usleep(500_000)
    let before = daemon.usage.descriptors()
    let port = daemon.port
    let requests = input.posts(0..<input.count)
    let (normal, crowd) = try SlowCrowd.run(Self.slow, port: port) { () throws(BenchError) in
      try Flood.run(
        requests, rate: Self.normalRate, seconds: Self.normalSeconds, connections: 8, port: port)
    }
    for (manner, counts) in crowd.manners {
      Bench.log(
        "\(manner): \(counts.closed) closed, at most \(Decimal.text(counts.worst)) s late,"
          + " \(counts.neverClosed) never")
    }
    Bench.log("answers: \(normal.accepted.good) of \(normal.offered), others \(normal.others)")
    let after = settled(daemon.usage, before)
    report.add("slow_opened", "slow clients, in total", Double(crowd.opened), "clients")
    report.add(
      "slow_latency", "normal client: slowest hundredth",
      normal.accepted.milliseconds(at: 0.99), "ms", target: (.atMost(250), .value))
    report.add(
      "slow_refused", "normal client: requests without a 200",
      Double(normal.offered - normal.accepted.good), "requests", target: (.atMost(0), .value))
    report.add(
      "slow_overdue", "slow client closed after its deadline, at most", crowd.worst, "s",
      target: (.atMost(2), .value))
    report.add(
      "slow_forgotten", "slow clients never closed", Double(crowd.neverClosed), "clients",
      target: (.atMost(0), .value))
    report.add(
      "slow_descriptors", "descriptors left open", Double(after - before), "descriptors",
      target: (.atMost(0), .value))
    report.add(
      "slow_peak", "resident memory, at most", Double(try daemon.usage.peakBytes()) / 1e6, "MB")
    try daemon.stop()
  }

  /// The number of descriptors when it is back at `before`, or after ten seconds.
  private func settled(_ usage: ProcessUsage, _ before: Int) -> Int {
    for _ in 0..<100 where usage.descriptors() > before { usleep(100_000) }
    return usage.descriptors()
  }

  // MARK: Overload

  /// The daemon runs on one processor and the load on another, also while the daemon's capacity is
  /// measured.
  private mutating func runOverload() throws(BenchError) {
    let last = ProcessLimits.processors - 1
    let daemon = try Daemon.start(folder, onlyOn: last)
    try bindLoad(to: "0")
    let capacity = try capacity(daemon.port)
    report.add("flood_bearable", "capacity on one processor", capacity.rate, "/s")
    Bench.log("ten times that for \(Self.floodSeconds) s")
    let flood = try Flood.run(
      input.posts(0..<input.count), rate: capacity.rate * 10, seconds: Self.floodSeconds,
      connections: Self.floodConnections, port: daemon.port)
    add(flood)
    let after = try self.capacity(daemon.port)
    report.add(
      "flood_after", "capacity right after the overload", after.rate, "/s",
      target: (.atLeast(capacity.rate * 0.8), .value))
    report.add(
      "flood_peak", "resident memory, at most", Double(try daemon.usage.peakBytes()) / 1e6, "MB")
    try daemon.stop()
    try bindLoad(to: "0-\(last)")
  }

  /// Binds this process, which makes the load, to some processors.
  private func bindLoad(to processors: String) throws(BenchError) {
    _ = try folder.run(["taskset", "-pc", processors, "\(getpid())"])
  }

  /// The rate at which the daemon answers as fast as it can.
  private func capacity(_ port: UInt16) throws(BenchError) -> LoadReport {
    let load = try LoadGenerator.run(
      input.posts(0..<min(Self.capacityRequests, input.count)), connections: 64, port: port,
      marker: #""outcome":""#)
    try load.requireAllGood("the load without excess")
    return load
  }

  private mutating func add(_ flood: Flood.Report) {
    let (accepted, refused) = (flood.accepted, flood.refused)
    report.add("flood_offered", "offered", Double(flood.offered) / flood.seconds, "/s")
    report.add("flood_accepted", "accepted", Double(accepted.good) / flood.seconds, "/s")
    report.add(
      "flood_slowest", "accepted: slowest answer", accepted.milliseconds(at: 1), "ms",
      target: (.atMost(1_000), .value))
    report.add("flood_median", "accepted: median", accepted.milliseconds(at: 0.5), "ms")
    report.add("flood_refused", "refused with 503", Double(refused.good) / flood.seconds, "/s")
    report.add(
      "flood_refused_median", "refused with 503: median", refused.milliseconds(at: 0.5), "ms")
    report.add(
      "flood_refused_slowest", "refused with 503: slowest hundredth",
      refused.milliseconds(at: 0.99), "ms", target: (.atMost(500), .value))
    let others = flood.others.values.reduce(0, +)
    report.add(
      "flood_others", "neither accepted nor refused", Double(others), "answers",
      target: (.atMost(0), .value))
  }
}
