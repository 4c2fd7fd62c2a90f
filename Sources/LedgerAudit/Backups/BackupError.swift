public import JournalStore
import Platform

/// Why a backup could not be made, checked or restored. The data folder and the backup are as they
/// were.
public enum BackupError: Error, Sendable {
  case store(StoreError)
  /// Something is where a new folder was to be, or nothing where a folder was needed. The text
  /// carries the next step.
  case refused(String)
  case stopped
  /// What was found wrong: the first ones, and how many.
  case broken([Verify.Finding], count: Int)

  static func store<Value: ~Copyable>(
    _ step: () throws(StoreError) -> Value
  ) throws(BackupError) -> Value {
    do throws(StoreError) { return try step() } catch { throw .store(error) }
  }

  /// Runs a step that touches files other than a journal's.
  static func files<Value: ~Copyable>(
    _ step: () throws(PlatformError) -> Value
  ) throws(BackupError) -> Value {
    do throws(PlatformError) { return try step() } catch { throw .store(StoreError(error)) }
  }
}

/// What takes long about a backup: for whoever shows how far it has come.
public enum BackupStage: Sendable {
  /// In MiB.
  case copying
  /// In events.
  case checking
}

/// Told how far a stage has come, and of how much; false stops.
public typealias BackupProgress = @Sendable (BackupStage, Int64, Int64) -> Bool
