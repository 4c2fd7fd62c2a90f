import Glibc
import Platform
import Simulator
import StrictJSON

/// One run: what is measured, in its order.
///
/// The verifications alone are measured right before and right after the load, so that what else
/// the machine does at that time weighs on both sides of the ratio.
struct Session {
  let folder: RunFolder
  private let options: Options
  private let input: Input
  private var cost = VerificationCost()
  var report: Report

  /// The share of the notifications that goes before the measured ones.
  private static let warmUpShare = 0.1
  /// The share that goes at the end, half of it with rebuilds beside it.
  private static let besideShare = 0.4
  /// Rows read over HTTP; some seconds' worth.
  private static let reads = 60_000
  /// How many customers' rows are looked at after the load.
  private static let sample = 200

  /// Signs the input.
  init(_ folder: RunFolder, _ options: Options) throws(BenchError) {
    self.folder = folder
    self.options = options
    report = Report(conditions: try .ofMachine(folder))
    // Those of one load may still be closing when those of the next come.
    let authority = try folder.prepare(places: options.connections * 2 + 16)
    Bench.say("signing about \(options.events) notifications")
    input = try Input.make(about: options.events, authority)
    report.conditions.add(
      "notifications",
      "\(input.requests.count) of \(input.customers) customers over \(Input.days) days,"
        + " \(Decimal.text(input.bodyBytes)) bytes each, three signatures")
    report.conditions.add("connections", "\(options.connections)")
  }

  /// Measures everything.
  ///
  /// - Throws: `unmeasurable` where any answer, row or count is not what it must be: figures of
  ///   something that does not work would mean nothing.
  mutating func measure() throws(BenchError) -> Report {
    try measureCost()
    try measureDaemon()
    report.conditions.add(
      "three P-256 verifications",
      cost.rates.map { Decimal.text(3e6 / $0) + " µs" }.joined(separator: " before, ") + " after")
    try measureRest()
    return report
  }

  private mutating func measureCost() throws(BenchError) {
    Bench.say("openssl speed, one core")
    try cost.measure(in: folder)
  }

  mutating func add(
    _ name: String, _ what: String, _ value: Double, _ unit: String,
    ratio: (value: Double, of: String)? = nil,
    target: (Measurement.Target, Measurement.Subject)? = nil
  ) {
    report.measurements.append(
      Measurement(name, what, value, unit, ratio: ratio, target: target))
  }

  // MARK: While the daemon runs

  private mutating func measureDaemon() throws(BenchError) {
    let daemon = try Daemon.start(folder)
    let idle = try daemon.usage.residentBytes()
    let warmUp = Int(Double(input.requests.count) * Self.warmUpShare)
    Bench.say("warming up with \(warmUp)")
    try load(input.requests[..<warmUp], daemon.port, "accepted")
    let beside = input.requests.count - Int(Double(input.requests.count) * Self.besideShare)
    Bench.say("sending \(beside - warmUp)")
    let before = try daemon.usage.processorSeconds()
    let accepted = try load(input.requests[warmUp..<beside], daemon.port, "accepted")
    let used = try daemon.usage.processorSeconds() - before
    try measureCost()
    note(accepted: accepted, processorSeconds: used)
    try measureBeside(input.requests[beside...], daemon.port)
    try check(daemon.port)
    let peak = try daemon.usage.peakBytes()
    try daemon.stop()
    try measureAgain()
    add("resident_idle", "resident memory, idle", Double(idle) / 1e6, "MB")
    add("resident_peak", "resident memory, at most", Double(peak) / 1e6, "MB")
  }

  /// What the files need before anything came twice; a start on them; duplicates and reads.
  private mutating func measureAgain() throws(BenchError) {
    let each = Double(Folder.size(folder.data)) / Double(input.requests.count)
    add(
      "disk", "bytes on disk per event", each, "B",
      ratio: (each / input.bodyBytes, "× its body on the wire"), target: (.atMost(900), .value))
    Bench.say("starting again, sending them again, then reading")
    let daemon = try Daemon.start(folder)
    add("start", "start to ready", daemon.secondsToReady * 1e3, "ms")
    let duplicates = try load(input.requests[...], daemon.port, "duplicate")
    add("duplicates", "duplicates", duplicates.rate, "/s")
    try measureReads(daemon.port)
    try daemon.stop()
  }

  /// Sends notifications and requires that outcome of every one.
  @discardableResult
  func load(
    _ requests: ArraySlice<[UInt8]>, _ port: UInt16, _ outcome: String
  ) throws(BenchError) -> LoadReport {
    let report = try LoadGenerator.run(
      requests, total: requests.count, connections: options.connections, port: port,
      marker: #""outcome":"\#(outcome)""#)
    try report.requireAllGood(outcome)
    return report
  }

  /// The targets: 2,000 a second, and 1.6 times the processor time of the three verifications.
  private mutating func note(accepted: LoadReport, processorSeconds: Double) {
    let three = cost.threeSeconds
    add(
      "accepted", "accepted notifications, \(options.connections) connections", accepted.rate,
      "/s", ratio: (accepted.rate * three, "× one core's proofs"),
      target: (.atLeast(2_000), .value))
    let each = processorSeconds / Double(max(1, accepted.good))
    add(
      "processor_time", "processor time of the daemon per notification", each * 1e6, "µs",
      ratio: (each / three, "× three verifications"), target: (.atMost(1.6), .ratio))
    add("verifications", "three P-256 verifications alone", three * 1e6, "µs")
    add("latency_median", "time to the answer, median", accepted.milliseconds(at: 0.5), "ms")
    add(
      "latency_slowest", "time to the answer, slowest hundredth",
      accepted.milliseconds(at: 0.99), "ms")
  }

  /// Opens the readers and fills the caches first.
  private mutating func measureReads(_ port: UInt16) throws(BenchError) {
    let requests = input.streams.keys.sorted().map { Input.read($0, token: RunFolder.token) }
    let warm = requests.prefix(1_000)
    for (requests, total) in [(warm, warm.count), (requests[...], Self.reads)] {
      let reads = try LoadGenerator.run(
        requests, total: total, connections: options.connections, port: port,
        marker: #""object":"entitlement""#)
      try reads.requireAllGood("reads")
      if total == Self.reads { add("reads", "reads of one row", reads.rate, "/s") }
    }
  }

  /// Reads a sample of the rows back: each must have folded just the events its customer was sent.
  private func check(_ port: UInt16) throws(BenchError) {
    let streams = input.streams.sorted { $0.key < $1.key }
    let step = max(1, streams.count / Self.sample)
    for place in stride(from: 0, to: streams.count, by: step) {
      let (id, count) = streams[place]
      let report = try LoadGenerator.run(
        [Input.read(id, token: RunFolder.token)], total: 1, connections: 1, port: port,
        marker: #""event_count":\#(count),"#)
      guard report.good == 1 else {
        throw .unmeasurable("the row of \(id) has not folded its \(count) accepted events")
      }
    }
  }

  // MARK: After it

  /// Rebuild and verify on the files that the stopped daemon left. A verify that has a finding
  /// fails the run: the load must not have broken a promise.
  private mutating func measureRest() throws(BenchError) {
    try measureRebuild(events: input.requests.count)
    try measureVerify(events: Double(input.requests.count))
  }

  /// On all cores, so held to what those do with signatures alone.
  private mutating func measureVerify(events: Double) throws(BenchError) {
    Bench.say("openssl speed, all cores")
    let rate = try VerificationCost.rate(in: folder, cores: ProcessLimits.processors)
    Bench.say("verify")
    let whole = try folder.subledger(["verify", "--json"])
    try requireAll(whole.output, "verify")
    add(
      "verify", "verify", events / whole.seconds, "events/s",
      ratio: (whole.seconds / (events * 3 / rate), "× its signatures alone"),
      target: (.atMost(1.3), .ratio))
    let chain = try folder.subledger(["verify", "--chain", "--json"])
    try requireAll(chain.output, "verify --chain")
    add(
      "verify_chain", "verify --chain", events / chain.seconds, "events/s",
      target: (.atLeast(80_000), .value))
  }

  /// The command must have seen every event that was accepted, once.
  private func requireAll(_ output: String, _ command: String) throws(BenchError) {
    let root = try? JSONDocument(parsing: Array(output.utf8)).root
    guard root?["events"]?.integer == Int64(input.requests.count) else {
      throw .unmeasurable("\(command) does not count \(input.requests.count) events")
    }
  }
}
