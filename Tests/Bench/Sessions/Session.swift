import AppStoreSimulator
import Glibc
import Platform
import StrictJSON

/// One run without `--large` and `--siege`: what is measured, in its order.
///
/// The verifications alone are measured right before and right after the load, so that other load
/// on the machine affects both sides of the ratio.
struct Session {
  let folder: RunFolder
  let options: Options
  let input: Input
  var cost = VerificationCost()
  /// Processor seconds of the daemon for one notification.
  private var genuine = 0.0
  var report: Report

  /// Reads of rows over HTTP; they take some seconds.
  static let reads = 120_000
  /// The number of customers whose rows are checked after the load.
  private static let sample = 200

  /// Where each part of the load ends, as shares of the notifications with three signatures.
  private enum Share {
    static let warmUp = 0.05
    static let full = 0.45
    static let half = 0.70
    static let beside = 0.95
  }

  /// Signs the input.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be written, or is another fleet's.
  init(_ folder: RunFolder, _ options: Options) throws(BenchError) {
    self.folder = folder
    self.options = options
    report = Report(conditions: try .ofMachine(folder))
    let path = options.input ?? folder.path + "/input.ndjson"
    input = try Input.prepare(path, customers: options.customers)
    try folder.configure(
      Input.authority(of: path), connectionLimit: options.connectionLimit)
    report.conditions.add(
      "notifications",
      "\(input.count) of \(input.customers) customers over \(Input.days) days, distinct;"
        + " \(input.threeSigned) have three signatures and \(Decimal.text(input.bodyBytes))"
        + " bytes each, and are what is measured")
    report.conditions.add("connections", "\(options.connections), kept alive")
  }

  /// Measures everything.
  ///
  /// - Throws: `BenchError.unmeasurable` if any answer, row or count is wrong, because measurements
  ///   of a daemon that does not work have no meaning.
  mutating func measure() throws(BenchError) -> Report {
    try measureCost()
    let newRate = try measureDaemon()
    report.conditions.add(
      "three P-256 verifications",
      cost.rates.map { Decimal.text(3e6 / $0) + " µs" }.joined(separator: " before, ") + " after")
    try measureAgain(newRate)
    try measureRebuild(events: input.count)
    try measureVerify(events: Double(input.count))
    return report
  }

  private mutating func measureCost() throws(BenchError) {
    Bench.log("openssl speed, one core")
    try cost.measure(in: folder)
  }

  // MARK: While the daemon runs

  /// - Returns: the number of new notifications accepted a second.
  private mutating func measureDaemon() throws(BenchError) -> Double {
    let daemon = try Daemon.start(folder)
    let warmUp = input.measured(0, Share.warmUp)
    Bench.log("warming up with \(warmUp.count)")
    try load(warmUp, daemon.port, "accepted")
    let full = input.measured(Share.warmUp, Share.full)
    Bench.log("sending \(full.count)")
    let before = try daemon.usage.processorSeconds()
    let accepted = try load(full, daemon.port, "accepted")
    let used = try daemon.usage.processorSeconds() - before
    try measureCost()
    add(accepted: accepted, processorSeconds: used)
    try measureHalf(accepted.rate / 2, daemon.port)
    try measureBeside(input.measured(Share.half, Share.beside), daemon.port)
    let rest = input.measured(Share.beside, 1).lowerBound..<input.count
    try load(rest, daemon.port, "accepted")
    try check(daemon.port)
    let peak = try daemon.usage.peakBytes()
    report.add(
      "resident_peak", "resident memory under full load, at most", Double(peak) / 1e6, "MB",
      target: (.atMost(120), .value))
    try daemon.stop()
    return accepted.rate
  }

  /// Sends notifications.
  ///
  /// - Throws: `BenchError.unmeasurable` if one has another outcome than `outcome`.
  @discardableResult
  func load(
    _ range: Range<Int>, _ port: UInt16, _ outcome: String, pacer: Pacer? = nil
  ) throws(BenchError) -> LoadReport {
    let report = try LoadGenerator.run(
      input.posts(range), connections: options.connections, port: port,
      marker: #""outcome":"\#(outcome)""#, pacer: pacer)
    try report.requireAllGood(outcome)
    return report
  }

  private mutating func add(accepted: LoadReport, processorSeconds: Double) {
    let three = cost.threeSeconds
    let each = processorSeconds / Double(max(1, accepted.good))
    genuine = each
    report.add(
      "processor_time", "processor time of the daemon per notification", each * 1e6, "µs",
      ratio: (each / three, "× three verifications"), target: (.atMost(1.35), .ratio))
    report.add("verifications", "three P-256 verifications alone", three * 1e6, "µs")
    report.add(
      "accepted", "accepted notifications, \(options.connections) connections", accepted.rate,
      "/s", ratio: (accepted.rate * three, "× one core's proofs"),
      target: (.atLeast(1.2), .ratio))
    report.add(
      "latency_median_full", "time to the answer at full load, median",
      accepted.milliseconds(at: 0.5), "ms")
    report.add(
      "latency_slowest_full", "time to the answer at full load, slowest hundredth",
      accepted.milliseconds(at: 0.99), "ms")
  }

  /// Sends at half of the rate that the daemon can answer, as an open loop.
  private mutating func measureHalf(_ rate: Double, _ port: UInt16) throws(BenchError) {
    let range = input.measured(Share.full, Share.half)
    Bench.log("sending \(range.count), \(Decimal.text(rate)) a second")
    let paced = try load(
      range, port, "accepted", pacer: Pacer(count: range.count, perSecond: rate))
    report.conditions.add(
      "half load", "\(Decimal.text(rate)) a second at random times; latency from when each was due")
    report.add(
      "latency_median", "time to the answer at half load, median",
      paced.milliseconds(at: 0.5), "ms", target: (.atMost(5), .value))
    report.add(
      "latency_slowest", "time to the answer at half load, slowest hundredth",
      paced.milliseconds(at: 0.99), "ms", target: (.atMost(25), .value))
  }

  /// Reads a sample of the rows: each must have folded exactly the events sent for its customer.
  private func check(_ port: UInt16) throws(BenchError) {
    let streams = input.streams.sorted { $0.key < $1.key }
    for index in stride(from: 0, to: streams.count, by: max(1, streams.count / Self.sample)) {
      try RowCheck.require(events: streams[index].value, of: streams[index].key, port)
    }
  }

  // MARK: After a restart: disk before duplicates, start, duplicates, reads

  private mutating func measureAgain(_ newRate: Double) throws(BenchError) {
    let each = Double(Folder.size(folder.data)) / Double(input.count)
    report.add(
      "disk", "bytes on disk per event, all files", each, "B",
      ratio: (each / input.bodyBytes, "× its body on the wire"), target: (.atMost(800), .value))
    report.conditions.add("on disk, an event", Folder.shares(folder.data, of: input.count))
    Bench.log("restarting, sending duplicates, then reading")
    let daemon = try Daemon.start(folder)
    report.add(
      "start", "start to ready, \(input.count) events journaled", daemon.secondsToReady * 1e3,
      "ms", target: (.atMost(300), .value))
    sleep(1)
    report.add(
      "resident_idle", "resident memory, idle", Double(try daemon.usage.residentBytes()) / 1e6,
      "MB", target: (.atMost(40), .value))
    let duplicates = try load(input.measured(0, Share.half), daemon.port, "duplicate")
    report.add(
      "duplicates", "duplicates", duplicates.rate, "/s",
      ratio: (duplicates.rate / newRate, "× new ones"), target: (.atLeast(1), .ratio))
    try report.addReads(input.streams.keys.sorted(), daemon.port, options)
    try RefusalCost(try Input.authority(in: Input.authority(of: input.file.path)))
      .measure(daemon.usage, daemon.port, genuine: genuine, &report)
    try daemon.stop()
  }

  // MARK: After the daemon was stopped

  /// `verify` uses all cores, and is compared with their rate of signatures alone. If it has a
  /// finding the run fails, because the load must not violate a promise.
  private mutating func measureVerify(events: Double) throws(BenchError) {
    Bench.log("openssl speed, all cores")
    let rate = try VerificationCost.rate(in: folder, cores: ProcessLimits.processors)
    Bench.log("verify")
    let whole = try folder.subledger(["verify", "--json"])
    try requireAll(whole.output, "verify")
    let signatures = Double(input.threeSigned * 3 + (input.count - input.threeSigned) * 2)
    report.add(
      "verify", "verify", events / whole.seconds, "events/s",
      ratio: (whole.seconds / (signatures / rate), "× its signatures alone"),
      target: (.atMost(1.3), .ratio))
    let chain = try folder.subledger(["verify", "--chain", "--json"])
    try requireAll(chain.output, "verify --chain")
    report.add(
      "verify_chain", "verify --chain", events / chain.seconds, "events/s",
      target: (.atLeast(80_000), .value))
  }

  /// Requires that the command has counted every accepted event once.
  private func requireAll(_ output: String, _ command: String) throws(BenchError) {
    let root = try? JSONDocument(parsing: Array(output.utf8)).root
    guard root?["events"]?.integer == Int64(input.count) else {
      throw .unmeasurable("\(command) does not count \(input.count) events")
    }
  }
}
