/// The stages of a backup that take long, so that a caller can show how far it is.
public enum BackupStage: Sendable {
  /// Counted in bytes.
  case copying
  /// Counted in events.
  case checking
}

/// Called now and then with the stage, how much of it is done, and how much there is; false stops.
public typealias BackupProgress = @Sendable (BackupStage, Int64, Int64) -> Bool
