import Configuration
import JournalStore
import LedgerEngine
import Platform

/// The ledger of a data folder that no daemon has locked, run by one command.
enum StandaloneLedger {
  /// Locks the folder and opens its journal for writing. Call `stop` on the ledger at the end.
  ///
  /// - Throws: `CommandError.store`, with `StoreError.locked` if another process holds the folder.
  static func start(
    _ folder: DataFolder, _ configuration: Configuration
  ) throws(CommandError) -> Ledger {
    try mapError(
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
