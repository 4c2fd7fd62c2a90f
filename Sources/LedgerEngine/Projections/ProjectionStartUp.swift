import JournalStore
import Observability
import Platform
import StrictJSON

/// Prepares the projection when a daemon starts, on a thread beside the writer's. An error that is
/// not logged here occurs again, and is reported, when the writer opens the projection.
public enum ProjectionStartUp {
  /// Folds most of what the live projection lacks, so that little is left for the writer.
  public static func catchUp(_ path: String, _ ledger: Ledger) {
    do throws(StoreError) {
      let journal = try JournalReader.open(ledger.folder)
      let projection = try Projection.open(path)
      try ProjectionFolder(projection).catchUp(journal) { _, _ in !ledger.jobs.isClosed }
      try projection.close()
    } catch {}
  }

  /// Builds this fold's projection and asks the writer to make it live.
  ///
  /// - Parameters:
  ///   - isUrgent: reads get 503 until it is live. Otherwise it is built at the lowest priority.
  ///   - completion: called when it is live, or cannot become live for now.
  static func build(
    _ ledger: Ledger, isUrgent: Bool, completion: @escaping @Sendable () -> Void
  ) {
    if !isUrgent { Niceness.background.apply() }
    var plan = Rebuild.Plan()
    plan.isFromScratch = false
    while !ledger.jobs.isClosed {
      do throws(StoreError) {
        let report = try Rebuild.build(ledger.folder, plan) { _, _ in !ledger.jobs.isClosed }
        if report == nil || isSettled(ledger) { break }
        wait(seconds: 0.5, for: ledger)
      } catch {
        // Another process builds, or the error passes, like a full disk.
        if error != .locked {
          Log.write(.error, "rows_not_built", [("error", .string(error.description))])
          completion()
        }
        wait(seconds: error == .locked ? 0.5 : 10, for: ledger)
      }
    }
    completion()
  }

  /// Asks the writer to make the built projection live. Returns whether nothing is left to do: it
  /// is live, or an operator returned to another one. False means that another process builds in
  /// its place, or that the disk is full.
  private static func isSettled(_ ledger: Ledger) -> Bool {
    let answer = BoundedQueue<Ledger.ProjectionOutcome>(capacity: 1)
    ledger.makeLive(retaining: Rebuild.retainedByDefault, unlessRolledBack: true) {
      _ = answer.enqueue($0)
    }
    guard case .done = answer.dequeue() else { return false }
    return true
  }

  private static func wait(seconds: Double, for ledger: Ledger) {
    var remaining = seconds
    while remaining > 0, !ledger.jobs.isClosed {
      WakeupEvent().wait(milliseconds: 250)
      remaining -= 0.25
    }
  }
}
