import Platform

/// Prints the progress of a rebuild, and stops it on ^C.
struct RebuildObserver {
  let progress: ProgressReporter
  /// Of the process: one command judges and then builds, and a signal is taken once.
  private static let interruption = Interruption.started()

  init(_ progress: ProgressReporter = ProgressReporter("rebuild")) {
    self.progress = progress
    _ = Self.interruption
  }

  static let stopped = LedgerError.stopped(
    "stopped; the live projection is unchanged, and the next rebuild continues from here")

  func shouldContinue(_ done: Int64, _ total: Int64) -> Bool {
    progress.show(done, of: total)
    return !isStopped
  }

  var isStopped: Bool { Self.interruption.isRequested }
}
