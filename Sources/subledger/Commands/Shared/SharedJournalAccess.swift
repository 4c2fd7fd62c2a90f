import Ledger
import Platform
import SharedJournal
import SignedData
import Store
import StrictJSON

/// The configured shared journal as the modules below want it.
extension Configuration.SharedJournal {
  /// How a ledger uses it.
  ///
  /// - Parameter roots: prove what others append.
  func access(trusting roots: TrustRoots) -> SharedAccess {
    let settings = settings
    return SharedAccess(
      trustRoots: roots,
      holdMilliseconds: holdSeconds * 1_000, pollMilliseconds: pollMilliseconds,
      readsAreFresh: reads == .fresh, openDuties: { PostgresDutyTable(settings) },
      open: { PostgresJournal(settings) })
  }

  /// How PostgreSQL is reached. The password is read at each dial.
  var settings: PostgresJournalSettings {
    PostgresJournalSettings(
      address: address, schema: schema,
      password: { () throws(LedgerError) in try self.password() },
      requiresReplication: requiresReplication,
      onUnblocked: { count in
        Log.write(
          .warning, "shared_journal_unblocked",
          [
            ("sessions", .integer(Int64(count))),
            (
              "hint",
              .string("another daemon held the head for more than 10 s: it stopped, or was cut off")
            ),
          ])
      })
  }
}
