import JournalStore
import Observability
import Platform
import StrictJSON

/// The long part of getting rows ready when a daemon starts, on a thread beside the writer's. What
/// goes wrong here is met again, and reported, by whoever opens the rows.
public enum ProjectionStartUp {
  /// Folds most of what the live rows lack, so that little is left for the writer.
  public static func catchUp(_ path: String, _ ledger: Ledger) {
    do throws(StoreError) {
      let journal = try JournalReader.open(ledger.folder)
      let projection = try Projection.open(path)
      try ProjectionFolder(projection).catchUp(journal) { _, _ in !ledger.jobs.isClosed }
      try projection.close()
    } catch {}
  }

  /// Builds this fold's rows and has the writer make them live.
  ///
  /// - Parameters:
  ///   - isHurried: nobody can read until they are there. Otherwise it is done when nothing else
  ///     wants the processor.
  ///   - then: called when they are live, or cannot be for now.
  static func build(_ ledger: Ledger, isHurried: Bool, then: @escaping @Sendable () -> Void) {
    if !isHurried { ProcessLimits.yield(.toAll) }
    var plan = Rebuild.Plan()
    plan.isFromScratch = false
    while !ledger.jobs.isClosed {
      do throws(StoreError) {
        let report = try Rebuild.build(ledger.folder, plan) { _, _ in !ledger.jobs.isClosed }
        if report == nil || isAdopted(ledger) { break }
        wait(seconds: 0.5, for: ledger)
      } catch {
        // Somebody else builds; or the disk is full, which passes.
        if error != .locked {
          Log.write(.error, "rows_not_built", [("error", .string(error.description))])
          then()
        }
        wait(seconds: error == .locked ? 0.5 : 10, for: ledger)
      }
    }
    then()
  }

  /// Whether nothing is left to do: what was built is live, or somebody wants other rows. Otherwise
  /// somebody else builds in its place, or the disk is full.
  private static func isAdopted(_ ledger: Ledger) -> Bool {
    let answer = BoundedQueue<Ledger.ProjectionOutcome>(capacity: 1)
    ledger.adopt(keeping: Rebuild.retainedByDefault, unlessHeld: true) { _ = answer.put($0) }
    guard case .done = answer.take() else { return false }
    return true
  }

  private static func wait(seconds: Double, for ledger: Ledger) {
    var rest = seconds
    while rest > 0, !ledger.jobs.isClosed {
      WakeupEvent().wait(milliseconds: 250)
      rest -= 0.25
    }
  }
}
