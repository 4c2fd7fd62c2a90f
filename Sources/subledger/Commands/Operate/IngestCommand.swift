import Configuration
import JournalStore
import LedgerEngine
import Platform
import StrictJSON

/// `ingest`: lines in batches through the door, ours or the daemon's.
enum IngestCommand {
  private struct Counts {
    var lines = 0
    var accepted = 0
    var duplicates = 0
    var refused = 0
    /// The first line that was refused, and why.
    var first: (line: Int, code: String)?
  }

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    let path = try words.only("a file, or - for standard input")
    let configuration = try words.configuration()
    let folder = words.folder(configuration)
    let skipsBad = words.has("--skip-bad")
    let reader: LineReader
    do throws(PlatformError) {
      // An export's line has its place and hash beside the body.
      reader = try LineReader(path: path, maximum: configuration.bodyLimit + 256) { first in
        first.starts(with: ZstdFile.magic) ? ZstdFile.Reader().unpack : nil
      }
    } catch {
      throw .unavailable("\(error)")
    }
    let interruption = Interruption()
    interruption.watch()
    let counts: Counts
    let isStopped: Bool
    let chain = words.has("--keep-chain") ? ImportChainVerifier() : nil
    if let daemon = ControlClient(folder) {
      guard chain == nil else {
        throw .usage("--keep-chain is for an empty folder that no daemon runs on")
      }
      counts = try read(reader, skipsBad, interruption) { lines throws(CommandError) in
        try handOver(lines, skipsBad, to: daemon)
      }
      isStopped = interruption.isRequested
    } else {
      let ledger = try OwnLedger.start(folder)
      defer { ledger.stop() }
      guard chain == nil || ledger.seq == 0 else {
        throw .usage("--keep-chain needs an empty folder; this one has \(ledger.seq) events")
      }
      let receiver = try OwnLedger.receiver(configuration)
      counts = try read(reader, skipsBad, interruption) { lines throws(CommandError) in
        receive(lines, skipsBad, receiver, ledger, configuration, chain)
      }
      isStopped = interruption.isRequested
      waitForProjection(ledger, interruption)
    }
    report(counts, words, isStopped: isStopped)
    if isStopped { return .unavailable }
    return counts.refused == 0 ? .good : .findings
  }

  /// So that what is asked next finds rows, where there were none before.
  private static func waitForProjection(_ ledger: Ledger, _ interruption: Interruption) {
    if !ledger.hasProjection, !interruption.isRequested {
      Terminal.error(
        "subledger ingest: the rows are being built; ^C leaves that to the next start")
    }
    ledger.waitForProjection { interruption.isRequested }
  }

  // MARK: Batches

  /// Reads and submits batches until the end, a bad line, or ^C.
  private static func read(
    _ reader: LineReader, _ skipsBad: Bool, _ interruption: Interruption,
    _ submit: ([[UInt8]]) throws(CommandError) -> [BatchReceive.LineOutcome]
  ) throws(CommandError) -> Counts {
    var counts = Counts()
    let pace = ProgressReporter("ingest")
    while !interruption.isRequested {
      let lines = try batch(reader)
      guard !lines.isEmpty else { break }
      let outcomes = try submit(lines)
      guard outcomes.count == lines.count else {
        throw .unavailable("the daemon is of another version; restart it")
      }
      let shouldContinue = try count(outcomes, into: &counts, skipsBad)
      pace.show(Int64(counts.lines), of: nil)
      guard shouldContinue else { break }
    }
    return counts
  }

  private static func batch(_ reader: LineReader) throws(CommandError) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    do throws(PlatformError) {
      while lines.count < BatchReceive.maximumLines, let line = try reader.next() {
        lines.append(line)
      }
    } catch {
      throw .unavailable("\(error)")
    }
    return lines
  }

  private static func count(
    _ outcomes: [BatchReceive.LineOutcome], into counts: inout Counts, _ skipsBad: Bool
  ) throws(CommandError) -> Bool {
    for outcome in outcomes {
      counts.lines += 1
      switch outcome {
      case .accepted: counts.accepted += 1
      case .duplicate: counts.duplicates += 1
      case .refused(let code):
        counts.refused += 1
        counts.first = counts.first ?? (counts.lines, code)
        if !skipsBad { return false }
      case .unavailable(let code):
        throw .unavailable(
          "line \(counts.lines): \(code); \(counts.accepted) events are kept, run this again")
      case .skipped: return false
      }
    }
    return true
  }

  private static func receive(
    _ lines: [[UInt8]], _ skipsBad: Bool, _ receiver: Receiver, _ ledger: Ledger,
    _ configuration: Configuration, _ chain: ImportChainVerifier?
  ) -> [BatchReceive.LineOutcome] {
    let done = BoundedQueue<[BatchReceive.LineOutcome]>(capacity: 1)
    BatchReceive.receive(
      lines.map { $0[...] }, skipsBad: skipsBad, receiver: receiver, ledger: ledger,
      at: Clock.now(), limit: configuration.bodyLimit, keeping: chain
    ) { _ = done.put($0) }
    return done.takeAll()?.first ?? []
  }

  private static func handOver(
    _ lines: [[UInt8]], _ skipsBad: Bool, to daemon: ControlClient
  ) throws(CommandError) -> [BatchReceive.LineOutcome] {
    let body = Array(lines.joined(separator: [0x0A]))
    let answer = try daemon.post(skipsBad ? "/control/ingest?skip_bad" : "/control/ingest", body)
    guard answer.status == 200, let list = answer.body["outcomes"],
      let outcomes = BatchReceive.outcomes(list)
    else { throw .unavailable("the daemon did not take the lines; try again") }
    return outcomes
  }

  private static func report(_ counts: Counts, _ words: Arguments, isStopped: Bool) {
    if let first = counts.first {
      Terminal.error("subledger ingest: line \(first.line) was refused: \(first.code)")
    }
    if isStopped { Terminal.error("subledger ingest: stopped; run it again to go on") }
    if words.has("--json") {
      Terminal.print(
        JSONValue.object([
          ("lines", .integer(Int64(counts.lines))), ("accepted", .integer(Int64(counts.accepted))),
          ("duplicates", .integer(Int64(counts.duplicates))),
          ("refused", .integer(Int64(counts.refused))),
        ]).text)
    } else {
      Terminal.print(
        "\(counts.lines) lines: \(counts.accepted) accepted, \(counts.duplicates) duplicates, "
          + "\(counts.refused) refused")
    }
  }
}
