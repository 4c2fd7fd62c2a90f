import Ledger
import Platform
import Recovery
import Store
import StrictJSON

/// Hands what Apple's history has over to the daemon that runs on the folder.
struct DaemonSink: RecoverySink {
  private let folder: DataFolder

  init(_ folder: DataFolder) { self.folder = folder }

  /// - Throws: `LedgerError.unavailable` if the daemon does not answer.
  func submit(_ payloads: [String]) throws(LedgerError) -> [Outcome] {
    // A new connection each time: between two pages the daemon may close an idle one.
    guard let daemon = ControlClient(folder) else {
      throw .unavailable("the daemon has ended; run this again")
    }
    let body = Array(payloads.map(RecoveryLine.make).joined(separator: [0x0A]))
    let answer = try daemon.post("/control/ingest?skip_bad", body)
    if answer.status == 503 { return payloads.map { _ in .unavailable("overload") } }
    guard answer.status == 200, let list = answer.body["outcomes"],
      let outcomes = BatchReceive.outcomes(list)
    else { throw .unavailable("the daemon did not accept the notifications; try again") }
    return outcomes
  }
}
