import Clients
import Ledger
import Platform
import SharedJournal
import Store
import StrictJSON

/// `shared-journal try`: whether a database keeps what a shared journal needs. It makes a schema of
/// its own and removes it.
enum SharedJournalTrial {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let owner = try SharedJournalCommand.owner(arguments)
    let connection = try SharedJournalCommand.connect(owner)
    let trial = try TrialSchema(on: connection, now: Clock.now(), by: SharedJournalCommand.soon)
    var tried = owner
    tried.schema = trial.schema
    let settings = tried.settings
    let suite = SharedJournalConformance(
      open: { PostgresJournal(settings) }, openDuties: { PostgresDutyTable(settings) })
    var failures = 0
    _ = suite.run { result in
      if result.failure != nil { failures += 1 }
      show(result, asJSON: arguments.has("--json"))
    }
    do throws(LedgerError) {
      try trial.remove(by: SharedJournalCommand.soon)
    } catch {
      throw .unavailable("the schema \(trial.schema) is left, remove it by hand: \(error)")
    }
    if !arguments.has("--json") {
      Terminal.print("\n" + CountText.of(failures, "findings"), failures == 0 ? .green : .red)
    }
    return failures == 0 ? .good : .findings
  }

  private static func show(_ result: SharedJournalConformance.Result, asJSON: Bool) {
    guard asJSON else {
      let mark = result.failure == nil ? "  " : "✗ "
      return Terminal.print(mark + result.name + (result.failure.map { ": \($0)" } ?? ""))
    }
    Terminal.print(
      .object([
        ("object", .string("check")), ("name", .string(result.name)),
        ("failure", result.failure.map { .string($0) } ?? .null),
      ]))
  }
}
