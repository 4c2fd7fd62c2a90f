import Ledger
import Platform
import Store

/// The ledger of a data folder that no daemon has locked, run by one command.
enum StandaloneLedger {
  /// Locks the folder and opens its journal for writing. Call `stop` on the ledger at the end.
  ///
  /// - Throws: what the store throws with `LedgerError.locked` if another process holds the folder;
  ///   `.unavailable` if the journal is shared, to which the daemon appends.
  static func start(
    _ folder: DataFolder, _ configuration: Configuration
  ) throws(LedgerError) -> Ledger {
    guard configuration.sharedJournal == nil else {
      throw .unavailable(
        "the journal is shared and no daemon runs on this folder: start `subledger serve`, which "
          + "appends to it, then run this again")
    }
    return try Ledger.start(
      folder, now: Clock.now(), durations: configuration.nonRenewingDurations,
      onFailure: { _ in })
  }

  /// What proves notifications, with the roots and apps of the configuration.
  ///
  /// - Throws: `LedgerError.configuration` if the configuration cannot be used.
  static func receiver(_ configuration: Configuration) throws(LedgerError) -> Receiver {
    try Receiver(configuration)
  }
}
