import Audit
import Platform

/// Prints the progress of a backup, a check or a restore, and stops it on ^C.
struct BackupObserver: Sendable {
  private let copying: ProgressReporter
  private let checking: ProgressReporter
  private let interruption: Interruption

  init(_ task: String, _ interruption: Interruption = .started()) {
    self.interruption = interruption
    copying = ProgressReporter("\(task), files")
    checking = ProgressReporter("\(task), events")
  }

  func shouldContinue(_ stage: BackupStage, _ done: Int64, _ total: Int64) -> Bool {
    switch stage {
    case .copying:
      copying.show(done) { _, _ in
        "\(ReadableUnits.size(bytes: done)) of \(ReadableUnits.size(bytes: total))"
      }
    case .checking: checking.show(done, of: total)
    }
    return !interruption.isRequested
  }

  func finish(_ events: Int64) { checking.finish(events) }
}
