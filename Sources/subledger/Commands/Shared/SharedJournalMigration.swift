import Ledger
import Platform
import SharedJournal
import SignedData
import StrictJSON

/// `shared-journal migrate`: makes the tables, as their owner.
enum SharedJournalMigration {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let schema = try SharedJournalCommand.schema(arguments)
    let roots = try arguments.configuration().trustRoots.fingerprints
    let migration = try SchemaMigration(schema: schema, trusting: roots)
    if arguments.has("--sql") {
      Terminal.print(migration.script)
      return .good
    }
    let owner = try SharedJournalCommand.owner(arguments)
    let connection = try SharedJournalCommand.connect(owner)
    let outcome = try migration.run(on: connection, now: Clock.now(), by: SharedJournalCommand.soon)
    let role = PostgresJournalSettings.daemonRole(of: schema)
    if arguments.has("--json") {
      Terminal.print(json(outcome, role))
      return .good
    }
    switch outcome {
    case .current: Terminal.print("The schema \(schema) is up to date.")
    case .migrated(let from, let to):
      Terminal.print("The schema \(schema) was migrated from \(from) to \(to).")
      Terminal.print(
        from == 0
          ? SharedJournalTrust.text(roots) + next(role)
          : "Next: `subledger shared-journal trust` sets the root certificates of all daemons.")
    }
    return .good
  }

  private static func json(_ outcome: SchemaMigration.Outcome, _ role: String) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("object", .string("migration")), ("role", .string(role)),
    ]
    if case .migrated(let from, let to) = outcome {
      members += [("from", .integer(Int64(from))), ("to", .integer(Int64(to)))]
    }
    return .object(members)
  }

  private static func next(_ role: String) -> String {
    """

    Next, make a login role for the daemons, which owns nothing:

      CREATE ROLE subledger LOGIN PASSWORD '…';
      GRANT \(role) TO subledger;

    and name it in "sharedJournal" of each daemon's configuration.
    """
  }
}
