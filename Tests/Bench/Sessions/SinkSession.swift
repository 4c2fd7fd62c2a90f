import AppStoreSimulator
import Glibc
import Platform
import StrictJSON

/// One run with `--sinks`: how fast messages leave, how soon after their events, and what that
/// costs notifications: with a sink that takes them, one that is down, and none, in turns.
struct SinkSession {
  private let folder: RunFolder
  private let options: Options
  private let input: Input
  private let backlog: MadeLedger
  private var report: Report
  private var sent = 0

  /// Notifications a second, at which latency is measured.
  private static let rate = 500.0
  /// Seconds of each measurement at that rate.
  private static let seconds = 4
  /// Turns with and without a sink, at most: as many as there are notifications for.
  private static let mostTurns = 15

  /// Signs the input, and makes the journal that a sink finds behind it after an outage.
  ///
  /// - Throws: `BenchError.unmeasurable` if there is not enough disk, or a file cannot be written.
  init(_ folder: RunFolder, _ options: Options) throws(BenchError) {
    (self.folder, self.options) = (folder, options)
    report = Report(conditions: try .ofMachine(folder))
    let path = options.input ?? folder.path + "/input.ndjson"
    input = try Input.prepare(path, customers: options.customers)
    backlog = try MadeLedger(options.events, in: folder, options)
    try MadeLedger.requireFreeSpace(for: [backlog], in: folder)
    let authority = try Input.authority(in: folder.path + "/authority")
    try backlog.make(KnownCustomers().past, header: try MadeBody.header(of: authority))
    report.conditions.add(
      "behind a sink that was down", "\(Decimal.text(Double(options.events))) events, made")
  }

  /// Measures everything.
  ///
  /// - Throws: `BenchError.unmeasurable` if any answer is wrong, or a customer's messages are not
  ///   in order.
  mutating func measure() throws(BenchError) -> Report {
    try measureBacklog()
    try measureBeside()
    return report
  }

  // MARK: After an outage

  private mutating func measureBacklog() throws(BenchError) {
    Bench.log("rebuild of \(options.events)")
    _ = try backlog.folder.subledger(["rebuild", "--apply"])
    let silent = try SinkReceiver()
    let port = silent.port
    silent.stop()
    let authority = folder.path + "/authority"
    try backlog.folder.configure(
      authority, connectionLimit: options.connectionLimit, sink: port, from: "start")
    let daemon = try Daemon.start(backlog.folder)
    sleep(5)
    let before = try daemon.usage.residentBytes()
    let idle = try daemon.usage.processorSeconds()
    sleep(10)
    report.add(
      "down_processor", "processor time beside a sink that is down",
      (try daemon.usage.processorSeconds() - idle) / 10 * 100, "% of a core")
    Bench.log("the receiver is there again")
    let receiver = try SinkReceiver(port: port)
    while receiver.take().messages == 0 { usleep(50_000) }
    try measureDelivery(receiver, daemon.usage, before)
    try daemon.stop()
    receiver.stop()
  }

  private mutating func measureDelivery(
    _ receiver: SinkReceiver, _ usage: ProcessUsage, _ before: Int64
  ) throws(BenchError) {
    // The ramp: one request at a time at first, twice as many each second.
    var ramp: [Int] = []
    for _ in 0..<8 {
      let count = receiver.take().messages
      sleep(1)
      ramp.append(receiver.take().messages - count)
    }
    report.conditions.add(
      "messages in the first seconds", ramp.map { "\($0)" }.joined(separator: ", "))
    let (start, first, used) = (
      Clock.monotonicNanoseconds(), receiver.take().messages, try usage.processorSeconds()
    )
    let end = start + Int64(options.seconds) * 1_000_000_000
    while receiver.take().messages < options.events, Clock.monotonicNanoseconds() < end {
      usleep(20_000)
    }
    let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    let counts = receiver.take()
    guard counts.outOfOrder == 0 else {
      throw .unmeasurable("\(counts.outOfOrder) messages came out of order")
    }
    let delivered = Double(counts.messages - first)
    report.add(
      "messages", "messages delivered, 64 at once", delivered / seconds, "/s",
      target: (.atLeast(5_000), .value))
    report.add(
      "message_processor", "processor time of the daemon for a message",
      (try usage.processorSeconds() - used) / max(1, delivered) * 1e6, "µs")
    report.add(
      "sink_memory", "resident memory beside, at most",
      Double(try usage.peakBytes() - before) / 1e6, "MB", target: (.atMost(64), .value))
    report.conditions.add(
      "delivered in order", "\(counts.messages) of \(options.events), until it was stopped")
  }

  // MARK: Beside notifications

  private enum Kind { case none, up, down }

  private struct Beside {
    var turns: [LoadReport] = []
    var processor = 0.0

    var good: Int { turns.reduce(0) { $0 + $1.good } }

    /// In milliseconds, of each turn.
    func latencies(at share: Double) -> [Double] { turns.map { $0.milliseconds(at: share) } }
  }

  private mutating func measureBeside() throws(BenchError) {
    let receiver = try SinkReceiver()
    let silent = try SinkReceiver()
    let closed = silent.port
    silent.stop()
    var found: [Kind: Beside] = [:]
    var latencies: [Int64] = []
    let count = Int(Self.rate) * Self.seconds
    let turns = min(Self.mostTurns, input.count / count)
    guard turns > 0 else {
      throw .unmeasurable("\(input.count) notifications are too few; give more --customers")
    }
    for turn in 0..<turns {
      // Each is the first as often as the others: the machine's speed changes within a turn.
      for place in 0..<3 {
        let kind = [Kind.none, .up, .down][(turn + place) % 3]
        Bench.log("\(kind), turn \(turn + 1) of \(turns)")
        let inner = try folder.inner("beside-\(turn)-\(kind)")
        let port: UInt16? = kind == .none ? nil : kind == .up ? receiver.port : closed
        try inner.configure(
          Input.authority(of: options.input ?? folder.path + "/input.ndjson"),
          connectionLimit: options.connectionLimit, sink: port, from: "now")
        let daemon = try Daemon.start(inner)
        sleep(1)
        _ = receiver.take(keepsLatencies: true)
        let used = try daemon.usage.processorSeconds()
        let load = try LoadGenerator.run(
          input.posts(sent..<sent + count), connections: options.connections, port: daemon.port,
          marker: #""outcome":"accepted""#, pacer: Pacer(count: count, perSecond: Self.rate))
        try load.requireAllGood("accepted")
        found[kind, default: Beside()].turns.append(load)
        found[kind, default: Beside()].processor += try daemon.usage.processorSeconds() - used
        usleep(500_000)
        if kind == .up { latencies += receiver.take().latencies }
        try daemon.stop()
      }
      sent += count
    }
    receiver.stop()
    latencies.sort()
    try add(found, latencies)
  }

  private mutating func add(
    _ found: [Kind: Beside], _ latencies: [Int64]
  ) throws(BenchError) {
    guard let without = found[Kind.none], let beside = found[.up], let down = found[.down],
      latencies.count >= beside.good
    else { throw .unmeasurable("\(latencies.count) messages came, too few") }
    let at = { (share: Double) in
      Double(latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))])
    }
    report.add(
      "delivery_median", "receipt to the receiver at 500/s, median", at(0.5), "ms",
      target: (.atMost(50), .value))
    report.add(
      "delivery_slowest", "receipt to the receiver at 500/s, slowest hundredth", at(0.99), "ms",
      target: (.atMost(1000), .value))
    for (kind, what, found) in [("up", "a sink", beside), ("down", "a sink that is down", down)] {
      for (share, name) in [(0.5, "median"), (0.99, "slowest hundredth")] {
        // Within each turn, because the machine's speed changes between them.
        let latencies = found.latencies(at: share)
        let ratios = zip(latencies, without.latencies(at: share)).map { $0 / $1 }
        report.add(
          "answer_\(kind)_\(name.prefix(6))", "time to the answer at 500/s beside \(what), \(name)",
          Self.median(latencies), "ms", ratio: (Self.median(ratios), "× without"),
          target: kind == "up" && share == 0.5 ? (.atMost(1.03), .ratio) : nil)
      }
      report.add(
        "processor_\(kind)", "processor time per notification beside \(what)",
        found.processor / Double(found.good) * 1e6, "µs",
        ratio: (found.processor / without.processor, "× without"))
    }
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
