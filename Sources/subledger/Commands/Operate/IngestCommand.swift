import Audit
import Ledger
import Platform
import Store
import StrictJSON

/// `ingest`: proves and journals lines in batches, in this process or in the daemon.
enum IngestCommand {
  private struct Counts {
    /// Lines that were submitted: blank ones are not counted.
    var lines = 0
    var accepted = 0
    var duplicates = 0
    /// Lines with a UUID that the journal has with other content; they are in quarantine.
    var conflicts = 0
    /// Genuine receipts that list no purchase: there is nothing to journal.
    var withoutPurchases = 0
    var refused = 0
    /// The number in the file of the first line that was refused, or of the one at which it
    /// stopped, and its code.
    var namedRefused: (line: Int, code: String)?
  }

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let path = try arguments.operand("a file, or - for standard input")
    let configuration = try arguments.configuration()
    let folder = arguments.folder(configuration)
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let reader: LineReader
    do throws(LedgerError) {
      // A line of an export has its seq and hash besides the body.
      reader = try LineReader(
        path: path, maximum: BatchReceive.maximumLine(configuration.bodyLimit),
        cancellation: cancellation, unpacker: ZstdFile.unpacker)
    } catch {
      throw .unavailable(error.detail)
    }
    let ledger = try LocalLedger(folder, configuration)
    defer { ledger.stop() }
    let options = LocalLedger.BatchOptions(
      skipsBad: arguments.has("--skip-bad"), keepsChain: arguments.has("--keep-chain"))
    if options.keepsChain { try requireEmpty(ledger) }
    let counts = try read(reader, ledger, options, cancellation)
    let isStopped = cancellation.isRequested
    ledger.waitForProjection(cancellation) {
      Terminal.error(
        "subledger ingest: building the projection; ^C leaves that to the next start")
    }
    report(counts, arguments, isStopped: isStopped)
    if isStopped { return .interrupted }
    return counts.refused == 0 ? .good : .findings
  }

  /// A chain is continued from its beginning.
  private static func requireEmpty(_ ledger: LocalLedger) throws(LedgerError) {
    guard let seq = ledger.ownSeq else {
      throw .usage("--keep-chain needs an empty folder on which no daemon runs")
    }
    guard seq == 0 else {
      throw .usage(
        "--keep-chain needs an empty folder; this one has \(CountText.of(seq, "events"))")
    }
  }

  // MARK: Batches

  /// Reads and submits batches until the end, a bad line, or ^C.
  private static func read(
    _ reader: LineReader, _ ledger: LocalLedger, _ options: LocalLedger.BatchOptions,
    _ cancellation: Cancellation
  ) throws(LedgerError) -> Counts {
    var counts = Counts()
    var number = 0
    let progress = ProgressReporter("ingest", counting: "lines")
    while !cancellation.isRequested {
      let lines = try batch(reader, &number)
      guard !lines.isEmpty else { break }
      let outcomes = try ledger.journal(batch: lines.map(\.bytes), options)
      let shouldContinue = try count(outcomes, of: lines.map(\.number), into: &counts, options)
      progress.show(Int64(counts.lines), share: reader.share)
      guard shouldContinue else { break }
    }
    return counts
  }

  /// The bytes of lines after which a batch ends, so that its memory is bounded.
  private static let batchBytes = 32 << 20

  /// The next lines with something in them, each with its number in the file.
  ///
  /// - Parameter number: of the line that was read last.
  private static func batch(
    _ reader: LineReader, _ number: inout Int
  ) throws(LedgerError) -> [(number: Int, bytes: [UInt8])] {
    var lines: [(number: Int, bytes: [UInt8])] = []
    var bytes = 0
    do throws(LedgerError) {
      while lines.count < BatchReceive.maximumLines, bytes < batchBytes,
        let line = try reader.next()
      {
        number += 1
        guard !line.allSatisfy(isBlank) else { continue }
        lines.append((number, line))
        bytes += line.count
      }
    } catch {
      throw .unavailable(error.detail)
    }
    return lines
  }

  /// Space, tab, and the carriage return of a blank line that ends in CR LF.
  private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }

  /// - Returns: whether to go on: false after a refused line, unless these are skipped, or a line
  ///   of the owner's, which ends no file but one whose chain is kept.
  /// - Throws: `LedgerError.unavailable` for a line that was not journaled for a reason that is no
  ///   refusal. The lines after it are not read, so it must not pass for the end of the file.
  private static func count(
    _ outcomes: [Outcome], of numbers: [Int], into counts: inout Counts,
    _ options: LocalLedger.BatchOptions
  ) throws(LedgerError) -> Bool {
    for (outcome, number) in zip(outcomes, numbers) {
      counts.lines += 1
      switch outcome {
      case .accepted: counts.accepted += 1
      case .duplicate, .held: counts.duplicates += 1
      case .conflict: counts.conflicts += 1
      case .noPurchases: counts.withoutPurchases += 1
      case .skipped: throw notJournaled(number, "not journaled (\(outcome.name))", counts)
      case .refused(.unavailable(let code)): throw notJournaled(number, code, counts)
      case .quarantined, .quarantineFull, .refused:
        counts.refused += 1
        let code = outcome.refusal?.code ?? outcome.name
        let isSkipped = options.skipsBad || code == BatchReceive.ownersLine && !options.keepsChain
        if !isSkipped || counts.namedRefused == nil { counts.namedRefused = (number, code) }
        if !isSkipped { return false }
      }
    }
    return true
  }

  private static func notJournaled(
    _ line: Int, _ reason: String, _ counts: Counts
  ) -> LedgerError {
    .unavailable(
      "line \(line): \(reason); \(CountText.of(counts.accepted, "events")) journaled, "
        + "run this again")
  }

  private static func report(_ counts: Counts, _ arguments: Arguments, isStopped: Bool) {
    if let refused = counts.namedRefused {
      Terminal.error("subledger ingest: line \(refused.line) was refused: \(refused.code)")
      if refused.code == Findings.untrusted { Terminal.error(Findings.untrustedHint) }
      if ["json", "envelope"].contains(refused.code) {
        Terminal.error("a line is one JSON object; see its forms in: subledger ingest --help")
      }
      if refused.code == BatchReceive.ownersLine {
        Terminal.error(
          "nobody signed what you say of products, accounts and grants: a file cannot say it. "
            + "Mappings come from the configuration, or with a whole export and --keep-chain; "
            + "claims and grants with a backup")
      }
    }
    if isStopped { Terminal.error("subledger ingest: stopped; run it again to continue") }
    if arguments.has("--json") {
      Terminal.print(
        .object([
          ("lines", .integer(Int64(counts.lines))), ("accepted", .integer(Int64(counts.accepted))),
          ("duplicates", .integer(Int64(counts.duplicates))),
          ("refused", .integer(Int64(counts.refused))),
          ("conflicts", .integer(Int64(counts.conflicts))),
          ("without_purchases", .integer(Int64(counts.withoutPurchases))),
        ]))
    } else {
      Terminal.print(
        CountText.of(counts.lines, "lines") + ": \(counts.accepted) accepted, "
          + CountText.of(counts.duplicates, "duplicates") + ", "
          + CountText.of(counts.conflicts, "conflicts") + ", \(counts.refused) refused")
      if counts.withoutPurchases > 0 {
        Terminal.print(
          CountText.of(counts.withoutPurchases, "receipts")
            + " without purchases: there is nothing to journal of them")
      }
      if counts.conflicts > 0 {
        Terminal.print(
          "a conflict has the UUID of an event and other content; it is in quarantine: "
            + "subledger quarantine list --reason conflict")
      }
    }
  }
}
