import AppStore
import AppStoreSimulator
import Entitlements
import Glibc
import Platform
import Store
import StrictJSON

/// One run with `--large`: measures what grows, or must not grow, with the journal.
///
/// Two journals are made. What is compared is measured on both in turns, so that other load on the
/// machine affects both.
struct LargeSession {
  /// Events of the journal that the large one is compared with.
  static let few = 100_000

  let options: Options
  let small: MadeLedger
  let large: MadeLedger
  let known: KnownCustomers
  /// Signed with the authority that both daemons trust.
  private let file: BodyFile
  var report: Report

  /// Customers whose rows are read over HTTP, evenly distributed over the journal.
  private static let readers = 20_000

  /// Makes the journals, and signs the notifications that are sent.
  ///
  /// - Throws: `BenchError.unmeasurable` if there is not enough disk, or a file cannot be written.
  init(_ folder: RunFolder, _ options: Options) throws(BenchError) {
    self.options = options
    report = Report(conditions: try .ofMachine(folder))
    small = try MadeLedger(Self.few, in: folder, options)
    large = try MadeLedger(options.events, in: folder, options)
    known = KnownCustomers()
    // Journals of an earlier run have the signing header of its authority, which is used again.
    let authority = try Input.authority(in: folder.path + "/authority")
    let header = try MadeBody.header(of: authority)
    var missing: [MadeLedger] = []
    for ledger in [small, large] where try !ledger.isMade() { missing.append(ledger) }
    try MadeLedger.requireFreeSpace(for: missing, in: folder)
    for ledger in missing { try ledger.make(known.past, header: header) }
    let path = folder.path + "/coming-\(getpid()).ndjson"
    try Signing.write(known.payloads(), heading: .null, authority, to: path)
    file = try BodyFile.open(path)
    // The file is deleted when its last descriptor is closed.
    unlink(path)
    try describe()
  }

  private mutating func describe() throws(BenchError) {
    report.conditions.add(
      "journals",
      "\(Decimal.text(Double(small.events))) and \(Decimal.text(Double(large.events))) events of"
        + " fleets over \(Input.days) days, made with random signatures, plus what earlier runs"
        + " sent: \(try small.head() - Int64(small.events))")
    report.conditions.add(
      "sent to both",
      "\(known.coming.count) genuine notifications of \(known.ids.count) customers that are in both"
    )
    report.conditions.add("connections", "\(options.connections), kept alive")
  }

  /// Measures everything.
  ///
  /// - Throws: `BenchError.unmeasurable` if any answer, row or count is wrong.
  mutating func measure() throws(BenchError) -> Report {
    try measureRebuild()
    try measureChain()
    let bytes = Double(Folder.size(large.folder.data))
    report.add(
      "disk", "bytes on disk per event, all files", bytes / Double(try large.head()), "B")
    report.conditions.add(
      "on disk",
      "\(Decimal.text(bytes / 1e9)) GB for the large journal; an event: "
        + Folder.shares(large.folder.data, of: Int(try large.head())))
    try measureStart()
    try measureServing()
    try measureCommands()
    return report
  }

  // MARK: Without a daemon

  /// Also makes the new projections live, so that both ledgers have one from here on.
  private mutating func measureRebuild() throws(BenchError) {
    for ledger in [small, large] {
      Bench.log("rebuild of \(ledger.events)")
      let run = try RebuildRun.measure(in: ledger.folder)
      guard run.events == (try ledger.head()) else {
        throw .unmeasurable("rebuild does not count \(try ledger.head()) events")
      }
      _ = try ledger.folder.subledger(["rebuild", "--apply"])
      try RebuildRun.removeOthers(in: ledger.folder)
      guard ledger.events == large.events else { continue }
      report.add(
        "rebuild", "rebuild, \(ProcessLimits.processors) threads",
        Double(run.events) / run.seconds, "events/s", target: (.atLeast(80_000), .value))
      report.add(
        "rebuild_peak", "resident memory of the rebuild, at most", Double(run.peakBytes) / 1e6,
        "MB", target: (.atMost(300), .value))
    }
  }

  /// The signatures are random bytes, so only the chain can be verified.
  private mutating func measureChain() throws(BenchError) {
    Bench.log("verify --chain")
    let chain = try large.folder.subledger(["verify", "--chain", "--json"])
    let head = try large.head()
    let root = try? JSONDocument(parsing: Array(chain.output.utf8)).root
    guard root?["events"]?.integer == head else {
      throw .unmeasurable("verify --chain does not count \(head) events")
    }
    report.add(
      "verify_chain", "verify --chain", Double(head) / chain.seconds, "events/s",
      target: (.atLeast(80_000), .value))
  }

  private static let starts = 5

  private mutating func measureStart() throws(BenchError) {
    Bench.log("starting \(Self.starts) times")
    var seconds: [Double] = []
    for _ in 0..<Self.starts {
      let daemon = try Daemon.start(large.folder)
      seconds.append(daemon.secondsToReady)
      try daemon.stop()
    }
    seconds.sort()
    report.add(
      "start", "start to ready, median of \(Self.starts)", seconds[Self.starts / 2] * 1e3, "ms",
      target: (.atMost(300), .value))
  }

  // MARK: With both daemons running

  private mutating func measureServing() throws(BenchError) {
    Bench.log("reading through the files")
    for ledger in [small, large] { Folder.readThrough(ledger.folder.data) }
    report.conditions.add(
      "memory",
      "the files were read once before anything was sent, so that the cost of reading pages from"
        + " the disk is not measured")
    let few = try Daemon.start(small.folder)
    let many = try Daemon.start(large.folder)
    sleep(1)
    report.add(
      "resident_idle", "resident memory, idle", Double(try many.usage.residentBytes()) / 1e6,
      "MB", target: (.atMost(40), .value))
    let heads = (try small.head(), try large.head())
    try measureGrowth(few, many)
    let sent = Int64(known.coming.count)
    guard try small.head() == heads.0 + sent, try large.head() == heads.1 + sent else {
      throw .unmeasurable("the journals did not grow by the \(sent) notifications that were sent")
    }
    try checkRows(small, few.port)
    try checkRows(large, many.port)
    Bench.log("reading")
    try report.addReads(try large.customers(Self.readers), many.port, options)
    try measureLists(many.port)
    report.add(
      "resident_peak", "resident memory under full load, at most",
      Double(try many.usage.peakBytes()) / 1e6, "MB", target: (.atMost(120), .value))
    try few.stop()
    try many.stop()
  }

  private static let lists = 200

  /// Lists and counts by status, while the large ledger's daemon runs.
  private mutating func measureLists(_ port: UInt16) throws(BenchError) {
    Bench.log("listing by status")
    for status in ["grace_period", "active"] {
      let path = "/v1/entitlements?status=\(status)&limit=100"
      let load = try LoadGenerator.run(
        Reads(paths: [path], count: Self.lists), connections: 1, port: port,
        marker: #""object":"list""#)
      try load.requireAllGood("lists")
      report.add(
        "list_\(status)", "list of 100 by status \(status), median", load.milliseconds(at: 0.5),
        "ms", target: (.atMost(5), .value))
    }
    let folder = DataFolder(path: large.folder.data)
    var times: [Double] = []
    var rows: Int64 = 0
    do throws(LedgerError) {
      let reader = try ProjectionReader.open(folder, path: folder.liveProjection)
      rows = try reader.count()
      for _ in 0..<11 {
        let start = Clock.monotonicNanoseconds()
        try reader.beginSnapshot()
        _ = try reader.counts(at: Clock.now(), durations: AppDurations())
        reader.endSnapshot()
        times.append(Double(Clock.monotonicNanoseconds() - start) / 1e6)
      }
    } catch {
      throw .unmeasurable("the rows could not be counted: \(error)")
    }
    report.conditions.add("rows", "\(rows) in the large ledger's projection")
    report.add(
      "counts", "counts of all rows by app and status, median", times.sorted()[times.count / 2],
      "ms", target: (.atMost(150), .value))
  }

  private static let turns = 8

  /// Sends the same notifications to both daemons, in parts, each part to one and then to the
  /// other. The first part fills caches and is not measured.
  private mutating func measureGrowth(
    _ few: borrowing Daemon, _ many: borrowing Daemon
  ) throws(BenchError) {
    Bench.log("sending \(known.coming.count) to each")
    var used = (few: 0.0, many: 0.0)
    var count = 0
    for turn in 0...Self.turns {
      let first = known.coming.count * turn / (Self.turns + 1)
      let end = known.coming.count * (turn + 1) / (Self.turns + 1)
      // Each daemon is first equally often.
      let isFewFirst = turn % 2 == 0
      var times = (few: 0.0, many: 0.0)
      if isFewFirst { times.few = try send(first..<end, few) }
      times.many = try send(first..<end, many)
      if !isFewFirst { times.few = try send(first..<end, few) }
      guard turn > 0 else { continue }
      used.few += times.few
      used.many += times.many
      count += end - first
    }
    let each = (few: used.few / Double(count) * 1e6, many: used.many / Double(count) * 1e6)
    report.add(
      "growth", "processor time of the daemon per notification", each.many, "µs",
      ratio: (each.many / each.few, "× with \(Decimal.text(Double(Self.few))) events"),
      target: (.atMost(1.15), .ratio))
  }

  /// Sends some notifications.
  ///
  /// - Returns: the processor time that the daemon used, in seconds.
  private func send(_ range: Range<Int>, _ daemon: borrowing Daemon) throws(BenchError) -> Double {
    let before = try daemon.usage.processorSeconds()
    // The first line is a heading.
    let posts = Posts(file: file, lines: range.lowerBound + 1..<range.upperBound + 1)
    let load = try LoadGenerator.run(
      posts, connections: options.connections, port: daemon.port,
      marker: #""outcome":"accepted""#)
    try load.requireAllGood("accepted")
    return try daemon.usage.processorSeconds() - before
  }

  /// Reads rows over HTTP: each must have folded all events that the journal has of the customer.
  private func checkRows(_ ledger: MadeLedger, _ port: UInt16) throws(BenchError) {
    let app = SimulatedApp()
    let ids = known.ids
    for index in stride(from: 0, to: ids.count, by: max(1, ids.count / 50)) {
      let key = StreamKey(
        environment: Environment(rawValue: app.environment), bundleId: app.bundleId,
        originalTransactionId: ids[index])
      let count = try ledger.read { (reader) throws(LedgerError) in
        try reader.events(of: key).count
      }
      try RowCheck.require(events: count, of: ids[index], port)
    }
  }

  // MARK: One customer

  private static let samples = 30

  private mutating func measureCommands() throws(BenchError) {
    let ids = known.ids
    let sample = (0..<Self.samples).map { ids[ids.count * $0 / Self.samples] }
    for command in ["history", "explain"] {
      Bench.log("\(command), \(sample.count) times")
      var times: (few: [Double], many: [Double]) = ([], [])
      for id in sample {
        times.few.append(try small.folder.subledger([command, id]).seconds * 1e3)
        times.many.append(try large.folder.subledger([command, id]).seconds * 1e3)
      }
      let few = times.few.sorted()[sample.count / 2]
      let many = times.many.sorted()[sample.count / 2]
      report.add(
        command, "\(command) of one customer, median, with the start of the program", many, "ms",
        target: (.atMost(20), .value))
      report.add(
        command + "_growth", "\(command), with \(Decimal.text(Double(Self.few))) events", few, "ms",
        ratio: (many / few, "× as long with all"), target: (.atMost(2), .ratio))
    }
  }
}
