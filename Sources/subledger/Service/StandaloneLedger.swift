import Ledger
import Platform
import Store

/// The ledger of a data folder that no daemon has locked, run by one command.
enum StandaloneLedger {
  /// Locks the folder and opens its journal for writing. Call `stop` on the ledger at the end.
  ///
  /// - Throws: `CommandError.store`, with `LedgerError.locked` if another process holds the folder;
  ///   `.unavailable` if the journal is shared, to which the daemon appends.
  static func start(
    _ folder: DataFolder, _ configuration: Configuration
  ) throws(CommandError) -> Ledger {
    guard configuration.sharedJournal == nil else {
      throw .unavailable(
        "the journal is shared and no daemon runs on this folder: start `subledger serve`, which "
          + "appends to it, then run this again")
    }
    return try mapError(
      CommandError.store,
      try Ledger.start(
        folder, now: Clock.now(), durations: configuration.nonRenewingDurations,
        onFailure: { _ in }))
  }

  /// What proves notifications, with the roots and apps of the configuration.
  ///
  /// - Throws: `CommandError.configuration` if the configuration cannot be used.
  static func receiver(_ configuration: Configuration) throws(CommandError) -> Receiver {
    try mapError(CommandError.configuration, try Receiver(configuration))
  }
}
