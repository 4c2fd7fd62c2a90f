import API
import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Recovery
import Store
import StrictJSON

/// The ledger of a data folder, for a command that changes it: the daemon that runs on the folder
/// answers over its control socket; where none runs, the same handlers answer in this process.
final class LocalLedger {
  private let folder: DataFolder
  /// Nil while a daemon has the folder.
  private let own: (service: LedgerService, handler: LedgerHandler)?

  /// Opens the journal for writing unless a daemon has it. Call `stop` at the end.
  ///
  /// - Throws: what the store throws, `LedgerError.locked` if another process holds the folder,
  ///   `.unavailable` if the journal is shared and no daemon runs, which appends to it,
  ///   `.configuration` if a file that the configuration names cannot be used.
  init(_ folder: DataFolder, _ configuration: Configuration) throws(LedgerError) {
    self.folder = folder
    guard ControlClient(folder) == nil else {
      own = nil
      return
    }
    guard configuration.sharedJournal == nil else {
      throw .unavailable(
        "the journal is shared and no daemon runs on this folder: start `subledger serve`, which "
          + "appends to it, then run this again")
    }
    // What became of a request is in its answer.
    Log.setLevel(.warning)
    let ledger = try Ledger.start(
      folder, now: Clock.now(), durations: configuration.durations,
      onFailure: { _ in })
    let service = LedgerService(ledger, configuration, version: Subledger.version)
    do throws(LedgerError) {
      try service.startReading()
      own = (service, try LedgerHandler(service))
    } catch {
      service.stop()
      ledger.stop()
      throw error
    }
  }

  /// Finishes what was begun and closes the files, where this process has them.
  func stop() {
    own?.service.stop()
    own?.service.ledger.stop()
  }

  /// The journal's last seq, where this process has it.
  var ownSeq: Int64? { own?.service.ledger.seq }

  /// Waits until a first projection is built, where this process builds it, so that the next
  /// command finds rows.
  ///
  /// - Parameter notice: called if that takes time.
  func waitForProjection(_ cancellation: Cancellation, _ notice: () -> Void = {}) {
    guard let ledger = own?.service.ledger else { return }
    if !ledger.hasProjection, !cancellation.isRequested { notice() }
    ledger.waitForProjection { cancellation.isRequested }
  }

  /// POSTs to a route for commands.
  ///
  /// - Throws: `LedgerError.unavailable` if the daemon has ended; as `ControlClient.post`.
  func post(
    _ path: String, _ body: [UInt8] = []
  ) throws(LedgerError) -> (status: Int, body: JSONElement) {
    if let own {
      let answer = own.handler.answer("POST", path, body)
      guard let document = try? JSONDocument(parsing: answer.body) else {
        throw .unavailable("the answer cannot be read")
      }
      return (answer.status, document.root)
    }
    // A new connection each time: the daemon may close an idle one.
    guard let daemon = ControlClient(folder) else {
      throw .unavailable("the daemon has ended; run this again")
    }
    return try daemon.post(path, body)
  }
}

extension LocalLedger {
  /// Journals a statement of the owner.
  ///
  /// - Returns: whether it is new.
  /// - Throws: `LedgerError.findings` if there is no such grant, `.unavailable` if it could not be
  ///   journaled.
  func say(_ statement: NewStatement) throws(LedgerError) -> Bool {
    let answer = try post("/control/statement", statement.json.bytes)
    guard answer.status != 404 else { throw .findings("this customer has no grant of this id") }
    guard answer.status == 200, let outcome = answer.body["outcome"]?.string else {
      throw .unavailable("the journal could not be written; try again")
    }
    return outcome == "accepted"
  }

  /// Tells a daemon that runs what a command found of an app, for its overview. Nothing else
  /// depends on it, so a daemon that does not take it is no error.
  func note(
    _ last: RecoveryStatus.Last, of app: RecoveryStatus.App
  ) {
    guard own == nil, case .object(let found) = last.json else { return }
    let names: [(String, JSONValue)] = [
      ("environment", .string(app.environment.rawValue)), ("bundle_id", .string(app.bundleId)),
    ]
    _ = try? post("/control/recovered", JSONValue.object(names + found).bytes)
  }
}

// MARK: Lines of NDJSON

extension LocalLedger: RecoverySink {
  /// How a batch of lines is taken.
  struct BatchOptions {
    /// A refused line does not end the batch.
    var skipsBad = false
    /// Each line must continue the journal's hash chain.
    var keepsChain = false
  }

  /// Journals one batch.
  ///
  /// - Parameter lines: at most `BatchReceive.maximumLines`.
  /// - Returns: what became of each line.
  /// - Throws: `LedgerError.unavailable` unless that is known of each.
  func journal(
    batch lines: [[UInt8]], _ options: BatchOptions
  ) throws(LedgerError) -> [Outcome] {
    let words =
      (options.skipsBad ? ["skip_bad"] : []) + (options.keepsChain ? ["keep_chain"] : [])
    let path = (["/control/ingest"] + (words.isEmpty ? [] : [words.joined(separator: "&")]))
      .joined(separator: "?")
    let answer = try post(path, Array(lines.joined(separator: [0x0A])))
    if answer.status == 503 {
      let code = answer.body["code"]?.string ?? "overload"
      return lines.map { _ in .unavailable(code) }
    }
    guard answer.status == 200, let list = answer.body["outcomes"],
      let outcomes = BatchReceive.outcomes(list), outcomes.count == lines.count
    else {
      throw .unavailable(
        "what became of the lines is not known; if a daemon runs, restart it, then run this again")
    }
    return outcomes
  }

  /// Journals any number of lines, in batches. Those that are refused are skipped.
  ///
  /// - Throws: `LedgerError.unavailable` if nothing can be journaled.
  func journal(_ lines: [[UInt8]]) throws(LedgerError) -> [Outcome] {
    var outcomes: [Outcome] = []
    for start in stride(from: 0, to: lines.count, by: BatchReceive.maximumLines) {
      let end = min(lines.count, start + BatchReceive.maximumLines)
      outcomes += try journal(batch: Array(lines[start..<end]), BatchOptions(skipsBad: true))
    }
    for case .refused(.unavailable(let code)) in outcomes {
      throw .unavailable("nothing can be journaled (\(code)); run this again")
    }
    return outcomes
  }

  /// - Throws: `LedgerError.unavailable` if the daemon does not answer.
  func submit(_ payloads: [String]) throws(LedgerError) -> [Outcome] {
    try journal(batch: payloads.map(RecoveryLine.make), BatchOptions(skipsBad: true))
  }
}
