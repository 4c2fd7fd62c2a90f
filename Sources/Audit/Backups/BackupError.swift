public import Platform
import Store

/// Why a backup could not be made, checked or restored. The data folder and the backup are
/// unchanged.
public enum BackupError: Error, Sendable {
  case store(LedgerError)
  /// A new folder's path is taken, or a folder is missing. The text carries the next step.
  case refused(String)
  /// The caller stopped it.
  case stopped
  /// The journal or the backup is damaged: the first findings, and how many there are.
  case broken([Finding], count: Int)
}
