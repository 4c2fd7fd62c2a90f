import Ledger
import Platform
import Store
import StrictJSON

/// Journals statements of the owner and forgets accounts: through the daemon if one runs, else in
/// this process.
final class StatementWriter {
  private enum Way {
    case daemon(ControlClient)
    case standalone(Ledger)
  }

  private let way: Way

  /// - Throws: what the store throws if the folder cannot be opened.
  init(_ folder: DataFolder, _ configuration: Configuration) throws(LedgerError) {
    if let daemon = ControlClient(folder) {
      way = .daemon(daemon)
    } else {
      way = .standalone(try StandaloneLedger.start(folder, configuration))
    }
  }

  func stop() {
    if case .standalone(let ledger) = way { ledger.stop() }
  }

  /// Journals a grant, or the end of one.
  ///
  /// - Returns: whether it is new.
  /// - Throws: `LedgerError.findings` if there is no such grant.
  func say(_ statement: NewStatement) throws(LedgerError) -> Bool {
    let outcome: Outcome?
    switch way {
    case .daemon(let daemon):
      let answer = try daemon.post("/control/statement", statement.json.bytes)
      switch answer.body["outcome"]?.string {
      case "accepted": outcome = .accepted(seq: 0)
      case "duplicate": outcome = .duplicate(seq: 0)
      default: outcome = answer.status == 404 ? .refused(.notFound("no_such_grant")) : nil
      }
    case .standalone(let ledger):
      let done = BoundedQueue<Outcome>(capacity: 1)
      ledger.submit(Receiver.Received(statement)) { _ = done.enqueue($0) }
      outcome = done.dequeue()
    }
    switch outcome {
    case .accepted: return true
    case .duplicate: return false
    case .refused(.notFound): throw .findings("this customer has no grant of this id")
    default: throw Self.notDone
    }
  }

  /// Forgets an account.
  ///
  /// - Returns: whether it was known.
  func erase(_ account: String) throws(LedgerError) -> Bool {
    switch way {
    case .daemon(let daemon):
      let answer = try daemon.post("/control/erase", Array(account.utf8))
      switch answer.status {
      case 200: return true
      case 404: return false
      default: throw Self.notDone
      }
    case .standalone(let ledger):
      let done = BoundedQueue<Ledger.Erased>(capacity: 1)
      ledger.erase(account: account) { _ = done.enqueue($0) }
      guard case .done(let wasKnown)? = done.dequeue() else { throw Self.notDone }
      return wasKnown
    }
  }

  private static let notDone = LedgerError.unavailable(
    "the journal could not be written, or a reader uses it; try again")
}
